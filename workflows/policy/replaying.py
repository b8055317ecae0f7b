"""An attempt computed again from its reports, in the order in which they were kept.

What the reports do not tell is believed: a dispatch that was given back was proven not to have been
accepted, and at the close the workflow's word counted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from workflows.policy import state
from workflows.policy.compared import UNREADABLE, Compared, Item
from workflows.policy.progress import Progress
from workflows.policy.recorded import Record, RecordedAttempt, RecordedReport
from workflows.policy.words import AttemptState, Status, Verdict

_GIVEN_BACK: Final = "that a dispatch was given back"
_WORKFLOW: Final = "the workflow's word at the close"
_UNKNOWN_WORD: Final = "today's code does not know a word of it"


@dataclass(frozen=True, slots=True)
class _Standing:
    """Where an attempt is, and by which word."""

    state: AttemptState
    status: Status | None = None
    is_final: bool = False

    def told(self) -> str:
        return _words(self.state, self.status, is_final=self.is_final)


def replay(record: Record, attempt: RecordedAttempt, closing: Progress | None) -> Iterator[Compared]:
    """Apply every report again; `closing` is what the notice knew when it was closed, where that is known."""
    at = _Standing(AttemptState.AMBIGUOUS if attempt.dispatches else AttemptState.PLANNED)
    moved, has_closed = False, False
    for each in record.observations:
        if each.attempt_key != attempt.key:
            continue
        has_closed |= record.notice.closed_at is not None and each.verdict == Verdict.LATE
        read = _read(each)
        if read is None:
            yield _report(attempt, each, UNREADABLE, _UNKNOWN_WORD)
            continue
        did = state.transition(at.state, read[0], is_final=read[1])
        verdict = Verdict.LATE if has_closed else did.verdict
        yield _report(attempt, each, verdict, did.reason or f"the attempt was {at.state}")
        if verdict is Verdict.APPLIED:
            word = state.prevailing((at.status, at.is_final), read, did.state)
            at, moved = _Standing(did.state, *word), True
    yield _ended(record, attempt, at, moved=moved, closing=closing)


def _ended(
    record: Record, attempt: RecordedAttempt, at: _Standing, *, moved: bool, closing: Progress | None
) -> Compared:
    """Compare where an attempt ended."""
    today, believed = at, None
    if moved and record.notice.closed_at is not None:
        today, believed = _closed(record, attempt, at, closing)
    elif not moved and attempt.dispatches:
        today, believed = _left(attempt, has_closed=record.notice.closed_at is not None)
    recorded = _words(attempt.state, attempt.status, is_final=attempt.is_final)
    same = recorded == today.told()
    return Compared(
        item=Item.ATTEMPT,
        of=attempt.key,
        channel=attempt.channel,
        at=attempt.settled_at or attempt.last_dispatched_at or record.notice.created_at,
        recorded=recorded,
        today=today.told(),
        same=same,
        because=None if same else "that is where its reports on record lead",
        not_on_record=(believed,) if believed else (),
    )


def _closed(
    record: Record, attempt: RecordedAttempt, at: _Standing, closing: Progress | None
) -> tuple[_Standing, str | None]:
    """Return where a close leaves an attempt, and what had to be believed for it."""
    if at.state in state.TERMINAL:
        return at, None
    told = _told(attempt, closing, at)
    last = state.lapse(told, settled=attempt.channel == record.notice.channel)
    return replace(at, state=last), None if told is at.state else _WORKFLOW


def _left(attempt: RecordedAttempt, *, has_closed: bool) -> tuple[_Standing, str | None]:
    """Return where its dispatches alone leave an attempt: in doubt, or given back; no report tells which."""
    doubt, back = (
        (AttemptState.UNKNOWN, AttemptState.FAILED)
        if has_closed
        else (AttemptState.AMBIGUOUS, AttemptState.PLANNED)
    )
    return (_Standing(back), _GIVEN_BACK) if attempt.state == back else (_Standing(doubt), None)


def _told(attempt: RecordedAttempt, closing: Progress | None, at: _Standing) -> AttemptState:
    """Return the state that was closed on: the workflow's, unless it knew of nothing that was sent."""
    own = [each.state for each in closing.attempts if each.key == attempt.key] if closing else []
    return own[0] if own and own[0] is not AttemptState.PLANNED else at.state


def _read(report: RecordedReport) -> tuple[Status, bool] | None:
    try:
        return Status(report.status), report.is_final
    except ValueError:
        return None


def _report(attempt: RecordedAttempt, report: RecordedReport, today: str, because: str) -> Compared:
    said = f"{report.status}{', final' if report.is_final else ''}"
    recorded = f"{said}: {report.verdict}"
    now = today if today == UNREADABLE else f"{said}: {today}"
    same = recorded == now
    return Compared(
        item=Item.REPORT,
        of=f"{attempt.key} {report.event_id}",
        channel=attempt.channel,
        at=report.at,
        recorded=recorded,
        today=now,
        same=same,
        because=None if same else because,
    )


def _words(stands: str, status: str | None, *, is_final: bool) -> str:
    return f"{stands}{f', {status}' if status else ''}{', final' if is_final else ''}"
