"""The record computed again by today's code: every decision, check, report and attempt, same or different.

It needs nothing but the ledger's rows. Terms and inputs that today's models cannot read are told as such.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue, ValidationError

from workflows.policy import plan, telling
from workflows.policy.compared import UNREADABLE, Compared, Item
from workflows.policy.plan import Close, LookUp, Send, Step, Wait
from workflows.policy.progress import Progress
from workflows.policy.rechecking import recheck
from workflows.policy.recorded import Record, RecordedDecision, Terms
from workflows.policy.replaying import replay
from workflows.policy.terms import Policy
from workflows.policy.words import Channel

__all__ = ["Compared", "Item", "changed", "recompute"]

_NO_TERMS: Final = "today's code cannot read the terms of its policy digest"
_NO_INPUTS: Final = "today's code cannot read what it was decided from"


def recompute(record: Record) -> tuple[Compared, ...]:
    """Compute everything again: decisions and checks as they were made, then each attempt by its reports."""
    return (*_decisions(record), *_attempts(record))


def changed(then: Terms, today: Policy) -> tuple[str, ...]:
    """Return the fields in which the terms of a kind have changed, by their dotted names."""
    try:
        before: JsonValue = Policy.model_validate(then).model_dump(mode="json")
    except ValidationError:
        before = then
    return tuple(_differing(before, today.model_dump(mode="json")))


@dataclass(frozen=True, slots=True)
class _Readable:
    """What a decision was made from, as today's models read it."""

    policy: Policy
    inputs: Progress


def _decisions(record: Record) -> Iterator[Compared]:
    for each in record.decisions:
        made_from = _read(record, each)
        if isinstance(made_from, str):
            yield _compared(each, UNREADABLE, made_from)
            continue
        yield _decide(record, each, made_from)
        if each.answer is not None:
            yield recheck(record, each, policy=made_from.policy, inputs=made_from.inputs)


def _attempts(record: Record) -> Iterator[Compared]:
    closing = next((made for each in record.decisions if (made := _closing(record, each))), None)
    for each in record.attempts:
        yield from replay(record, each, closing)


def _read(record: Record, decision: RecordedDecision) -> _Readable | str:
    """Return what a decision was made from, or why that cannot be read."""
    try:
        policy = Policy.model_validate(record.policies[decision.policy_digest])
    except (KeyError, ValidationError):
        return _NO_TERMS
    try:
        # The check behind it judges a channel.
        Channel(decision.channel or policy.route[0])
        return _Readable(policy, Progress.model_validate(decision.inputs))
    except ValueError:
        return _NO_INPUTS


def _decide(record: Record, decision: RecordedDecision, made_from: _Readable) -> Compared:
    step = plan.next(made_from.inputs, made_from.policy, decision.at)
    today = _said(step, with_outcome=_closed(record, decision))
    return _compared(decision, today, f"the rule {step.rule} says: {telling.because(step.rule)}", record)


def _compared(decision: RecordedDecision, today: str, because: str, record: Record | None = None) -> Compared:
    outcome = record.notice.outcome if record is not None and _closed(record, decision) else None
    recorded = _words(decision.action, decision.channel, decision.rule, outcome)
    same = today == recorded
    return Compared(
        item=Item.DECISION,
        of=f"{decision.run}:{decision.number}",
        channel=decision.channel,
        at=decision.at,
        recorded=recorded,
        today=today,
        same=same,
        because=None if same else because,
    )


def _closed(record: Record, decision: RecordedDecision) -> bool:
    """Whether a decision is the one that closed the notice: the run of a reset decides to close as well."""
    return decision.action == "close" and decision.at == record.notice.closed_at


def _closing(record: Record, decision: RecordedDecision) -> Progress | None:
    """Return what the decision that closed the notice was made from."""
    made_from = _read(record, decision) if _closed(record, decision) else ""
    return made_from.inputs if isinstance(made_from, _Readable) else None


def _said(step: Step, *, with_outcome: bool) -> str:
    """Return a step in the record's words."""
    match step:
        case Send(rule=rule, channel=channel):
            return _words("send", channel, rule)
        case LookUp(rule=rule, channel=channel):
            return _words("look_up", channel, rule)
        case Wait(rule=rule):
            return _words("wait", None, rule)
        case Close(rule=rule, channel=channel, outcome=outcome):
            return _words("close", channel, rule, outcome if with_outcome else None)


def _words(action: str, channel: str | None, rule: str, outcome: str | None = None) -> str:
    as_what = f" as {outcome}" if outcome else ""
    on = f" {'on ' if action == 'close' else ''}{channel}" if channel else ""
    return f"{action.replace('_', ' ')}{as_what}{on} ({rule})"


def _differing(before: JsonValue, after: JsonValue, place: str = "") -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted({*before, *after}):
            yield from _differing(before.get(name), after.get(name), f"{place}.{name}" if place else name)
    elif before != after:
        yield place
