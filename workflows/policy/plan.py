"""What to do next, as a value, with the rule that decided it.

`next` tries the rules from the top; the first that has something to say decides. Evidence that settles
the notice closes it; then expiry comes before everything that would still act. A rule reads the notice's
progress, its terms and the clock, and nothing else, so that every decision on record can be computed
again.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from workflows.policy.outlook import Outlook
from workflows.policy.progress import Attempt, Progress
from workflows.policy.steps import Close, Horizon, LookUp, Rule, Send, Step, Wait
from workflows.policy.terms import Policy
from workflows.policy.words import AttemptState, OnFailure, OnUnresolved, Outcome

__all__ = ["Close", "Horizon", "LookUp", "Rule", "Send", "Step", "Wait", "due_at", "fallback_at", "next"]


def next(progress: Progress, policy: Policy, now: datetime) -> Step:  # noqa: A001 - the design's word
    """Decide what to do at `now` (UTC); total: every progress has a next step."""
    seen = Outlook(progress, policy, now)
    for rule in _RULES:
        step = rule(seen)
        if step is not None:
            return step
    return seen.horizon


def fallback_at(progress: Progress, policy: Policy, now: datetime) -> datetime | None:
    """Return when silence at the front leads on to another channel (UTC); None where it never does."""
    seen = Outlook(progress, policy, now)
    return seen.deadline if seen.escalates else None


def due_at(step: Send | LookUp, progress: Progress, policy: Policy, now: datetime) -> datetime | None:
    """Return when a step that was decided at `now` was due by plan (UTC): what is later than that is late.

    None where no instant of the plan brought it about.
    """
    seen = Outlook(progress, policy, now)
    match step.rule:
        case Rule.POLL | Rule.DEADLINE_READ:
            return seen.next_read
        case Rule.UNRESOLVED:
            return seen.deadline
        case _:
            return None


def _settle(seen: Outlook) -> Step | None:
    settled = seen.settled
    if settled is None:
        return None
    delivered = settled.state is AttemptState.CONFIRMED
    outcome = Outcome.DELIVERED if delivered else Outcome.ACCEPTED
    return _closing_read(seen) or Close(Rule.SETTLED, outcome, settled.channel)


def _expire(seen: Outlook) -> Step | None:
    if seen.now < seen.progress.expires_at:
        return None
    return Close(Rule.EXPIRED, _lapsed(seen))


def _withdraw(seen: Outlook) -> Step | None:
    return Close(Rule.WITHDRAWN, Outcome.WITHDRAWN) if seen.progress.withdrawn else None


def _begin(seen: Outlook) -> Step | None:
    """Nothing is out yet."""
    if seen.front is not None:
        return None
    first, spare = seen.progress.attempts[0], seen.spare
    if spare is None:
        return Close(Rule.NO_CHANNEL, Outcome.EXHAUSTED)
    if spare == first:
        return _dispatch(seen, spare, Rule.NOT_SENT if first.not_sent else Rule.FIRST)
    step = _fall_back(seen, Rule.NOT_SENT if first.not_sent else Rule.NEXT)
    if not first.is_spare:
        return step or Close(Rule.EXPIRED, Outcome.EXPIRED)
    return _meanwhile(step, _dispatch(seen, first, Rule.NOT_SENT))


def _meanwhile(fallback: Step | None, again: Step) -> Step:
    """Try the first channel again while a fallback is held, and once it would come too late."""
    match fallback, again:
        case None, _:
            return again
        case Wait(), Send() | Wait():
            return replace(again, until=min(fallback.until, again.until))
        case _:
            return fallback


def _failed(seen: Outlook) -> Step | None:
    """The front has failed for good."""
    if seen.front is None or seen.front.state is not AttemptState.FAILED:
        return None
    if seen.spare is not None:
        if seen.policy.on_failure is OnFailure.WAIT and seen.now < seen.deadline:
            return Wait(Rule.SILENCE, seen.deadline, Horizon.DEADLINE)
        return _fall_back(seen, Rule.FAILED) or Close(Rule.EXPIRED, _lapsed(seen))
    if not seen.progress.overtaken:
        return Close(Rule.FAILED, Outcome.EXHAUSTED)
    return _closing_read(seen)


def _read(seen: Outlook) -> Step | None:
    """A read of the front is due."""
    if seen.front is None or not seen.readable or seen.next_read is None or seen.next_read > seen.now:
        return None
    rule = Rule.DEADLINE_READ if seen.now >= seen.deadline else Rule.POLL
    return LookUp(rule, seen.front.channel, seen.cutoff)


def _resolve(seen: Outlook) -> Step | None:
    """The front is undecided at its fallback deadline."""
    if seen.front is None or not seen.front.is_open or seen.now < seen.deadline:
        return None
    if seen.policy.on_unresolved is OnUnresolved.EXPIRE:
        return Close(Rule.UNRESOLVED, Outcome.EXPIRED)
    return _fall_back(seen, Rule.UNRESOLVED)


def _conclude(seen: Outlook) -> Step | None:
    """Nothing is left to send, or too late to send it."""
    if seen.now >= seen.cutoff and (seen.spare is None or not seen.in_time):
        return Close(Rule.CUTOFF, _lapsed(seen))
    return _closing_read(seen) if seen.next_read is None else None


def _fall_back(seen: Outlook, rule: Rule) -> Step | None:
    """Use the spare channel if it would still be useful."""
    if seen.spare is None or not seen.in_time:
        return None
    return _dispatch(seen, seen.spare, rule)


def _dispatch(seen: Outlook, spare: Attempt, rule: Rule) -> Step:
    if spare.not_before is not None and seen.now < spare.not_before:
        held, what = (Rule.NOT_SENT, Horizon.RETRY) if spare.not_sent else (Rule.HELD, Horizon.CONTROL)
        return Wait(held, min(spare.not_before, seen.progress.expires_at), what)
    others = any(each.is_spare and each != spare for each in seen.progress.attempts)
    gives_way = others and seen.escalates and not spare.not_sent
    ends = seen.deadline if gives_way and seen.deadline > seen.now else seen.progress.expires_at
    return Send(rule, spare.channel, ends)


def _closing_read(seen: Outlook) -> Step | None:
    if not seen.readable or seen.progress.withdrawn:
        return None
    for each in seen.progress.overtaken:
        if each.readable and not each.closing_read and each != seen.settled:
            return LookUp(Rule.CLOSING_READ, each.channel, seen.cutoff)
    return None


def _lapsed(seen: Outlook) -> Outcome:
    """Name what time has ended: silence is never counted as failure."""
    if seen.spare is not None:
        return Outcome.EXPIRED
    if any(each.is_open for each in seen.progress.attempts):
        silent = seen.policy.on_unresolved is OnUnresolved.EXPIRE
        return Outcome.EXPIRED if silent else Outcome.UNKNOWN
    return Outcome.EXHAUSTED


_RULES: tuple[Callable[[Outlook], Step | None], ...] = (
    _settle,
    _expire,
    _withdraw,
    _begin,
    _failed,
    _read,
    _resolve,
    _conclude,
)
