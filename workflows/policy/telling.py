"""The story of a notice in plain words, for the UI and the terminal: opaque ids and classified words only."""

from datetime import UTC, datetime

from workflows.policy import schedule
from workflows.policy.keys import parts
from workflows.policy.plan import Close, LookUp, Rule, Send, Step, Wait
from workflows.policy.progress import Attempt, Progress
from workflows.policy.terms import Policy
from workflows.policy.words import AttemptState, Channel, Phase

NOUN = {Channel.EMAIL: "email", Channel.SMS: "text"}

_BECAUSE = {
    Rule.FIRST: "nothing was sent yet",
    Rule.NEXT: "the channel before it cannot be used",
    Rule.FAILED: "the channel before it failed for good",
    Rule.UNRESOLVED: "the fallback deadline passed without evidence",
    Rule.NOT_SENT: "the provider took nothing in time",
    Rule.SETTLED: "the evidence asked for is there",
    Rule.EXPIRED: "it is no longer useful",
    Rule.WITHDRAWN: "it is no longer needed",
    Rule.NO_CHANNEL: "no channel can be used",
    Rule.CUTOFF: "learning more could not change anything",
    Rule.POLL: "a planned poll is due",
    Rule.DEADLINE_READ: "the fallback deadline has come",
    Rule.CLOSING_READ: "read once before closing",
    Rule.HELD: "an operator's control holds it",
    Rule.SILENCE: "nothing is due yet",
}

_GAP = "\N{EM SPACE}"
"""The UI draws a table's columns without any space between them."""


def title(notice_key: str) -> str:
    """Return the notice's line in the UI."""
    named = parts(notice_key)
    return f"{named.kind} to {named.recipient_id}"


def clock(at: datetime) -> str:
    """Return a time of day in UTC, to the second."""
    return at.astimezone(UTC).strftime("%H:%M:%SZ")


def moment(at: datetime) -> str:
    """Return a day and time in UTC, to the second."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def because(rule: Rule) -> str:
    """Return why, in words."""
    return _BECAUSE[rule]


def question(step: Send) -> str:
    """Return the summary of an eligibility check."""
    return f"may the {NOUN[step.channel]} go out? {because(step.rule)}"


def dispatch(step: Send) -> str:
    """Return the summary of a send."""
    return f"send the {NOUN[step.channel]}, tried until {clock(step.until)}"


def look(step: LookUp, progress: Progress, policy: Policy) -> str:
    """Return the summary of a look-up, with its place in the plan."""
    attempt = progress.on(step.channel)
    match step.rule:
        case Rule.POLL:
            planned = len(schedule.offsets(policy.watch(step.channel), attempt.key))
            place = f"poll {attempt.reads + 1} of {planned}"
        case Rule.DEADLINE_READ:
            place = "deadline, asked once more"
        case _:
            place = "read once before closing"
    return f"{place}: what became of the {NOUN[step.channel]}?"


def pause(step: Wait) -> str:
    """Return the summary of a timer."""
    return f"until {step.what} at {clock(step.until)}"


def ending(step: Close) -> str:
    """Return the summary of a closing."""
    by = f" on {step.channel}" if step.channel else ""
    return f"{step.outcome}{by}: {because(step.rule)}"


def upcoming(step: Step, progress: Progress, policy: Policy) -> str:
    """Return what happens next, in one line."""
    match step:
        case Send():
            return question(step)
        case LookUp():
            return look(step, progress, policy)
        case Wait():
            return f"wait {pause(step)}"
        case Close():
            return f"close as {ending(step)}"


def now_or_next(phase: Phase, step: Step, progress: Progress, policy: Policy) -> str:
    """Return what is being done now, what happens next, or how it closed, in one line."""
    match phase, step:
        case Phase.CLAIMED, Send():
            return f"now: {dispatch(step)}"
        case Phase.CLOSED, Close():
            return ending(step)
        case _:
            return f"next: {upcoming(step, progress, policy)}"


def details(phase: Phase, step: Step, progress: Progress, policy: Policy) -> str:
    """Return the notice at a glance, as Markdown for the UI's current details."""
    rows = [("channel", "state", "evidence", "reads", "provider id"), *map(_row, progress.attempts)]
    head, *body = (f"| {' | '.join(f'{cell}{_GAP}' for cell in row)} |" for row in rows)
    return "\n".join(
        (
            f"**{phase}** · {now_or_next(phase, step, progress, policy)}",
            "",
            f"expires {moment(progress.expires_at)} · settles on {policy.settles_on}",
            "",
            head,
            f"|{'---|' * len(rows[0])}",
            *body,
        )
    )


def _row(attempt: Attempt) -> tuple[str, ...]:
    state = attempt.state.value
    if attempt.state is AttemptState.PLANNED:
        state = (
            f"not sent: {attempt.ruled_out or 'provider took nothing'}" if _is_out(attempt) else "not sent"
        )
    evidence = f"{attempt.status or '-'}{' (final)' if attempt.is_final else ''}"
    # Where nobody can be asked, the provider's acceptance is all there is.
    reads = str(attempt.reads) if attempt.readable else "cannot be asked"
    return attempt.channel, state, evidence, reads, _cell(attempt.provider_id)


def _cell(provider_id: str | None) -> str:
    """Return a provider's id as one cell; one with an @ might be somebody's address, and is in the ledger."""
    if provider_id is None or "@" in provider_id:
        return "-" if provider_id is None else "on record"
    return " ".join(provider_id.split()).replace("|", "&#124;")


def _is_out(attempt: Attempt) -> bool:
    return attempt.ruled_out is not None or attempt.not_sent
