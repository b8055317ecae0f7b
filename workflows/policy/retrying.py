"""May a notice that has closed be tried again, as a new notice? Only if nothing of it can still arrive.

The first rule with something to say decides. A retry over an attempt whose fate is not known would be a
second message; hence every attempt that may have left must be reconciled first: its provider has said for
good that it was not delivered, or it is proven that nothing was accepted.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from workflows.policy.telling import NOUN
from workflows.policy.words import AttemptState, Channel, Outcome, Status

_NOT_DELIVERED: Final = frozenset({Status.TEMPORARY_FAILURE, Status.INVALID_RECIPIENT, Status.REJECTED})


class Asked(StrEnum):
    """What came of asking a provider about an attempt."""

    ANSWERED = "answered"
    """Its word is on record."""
    NOTHING = "nothing"
    """It does not know the message, which proves nothing."""
    UNASKABLE = "unaskable"
    """It cannot be asked, by anybody."""
    NOT_FROM_HERE = "not_from_here"
    """It could be asked by somebody with its credentials."""
    FAILED = "failed"
    """The question failed, and may be put again."""
    HELD = "held"
    """The control `reconcile` does not let this notice through."""


@dataclass(frozen=True, slots=True)
class Word:
    """A provider's word about an attempt, whenever it came."""

    status: Status
    is_final: bool


@dataclass(frozen=True, slots=True)
class Sent:
    """One attempt of the notice, and every word about it."""

    key: str
    channel: Channel
    state: AttemptState
    provider: str | None = None
    words: tuple[Word, ...] = ()
    observed: bool = False
    """Nothing left: an operator only wanted to see what would be sent."""

    @property
    def has_arrived(self) -> bool:
        """Whether a provider ever said so."""
        return any(each.status is Status.DELIVERED for each in self.words)

    @property
    def is_reconciled(self) -> bool:
        """Whether nothing of it can still arrive."""
        if self.state in {AttemptState.PLANNED, AttemptState.FAILED}:
            return True
        return any(each.is_final and each.status in _NOT_DELIVERED for each in self.words)

    @property
    def last_word(self) -> Status | None:
        """What was said last."""
        return self.words[-1].status if self.words else None


@dataclass(frozen=True, slots=True)
class Past:
    """A notice, as far as a retry is concerned."""

    key: str
    outcome: Outcome | None
    attempts: tuple[Sent, ...] = ()
    reason: str | None = None
    carries_challenge: bool = False
    pruned: bool = False
    """Its evidence was deleted."""
    asked: Mapping[str, Asked] = field(default_factory=lambda: MappingProxyType({}))
    """What came of asking, by attempt key."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """Nothing of it can still arrive."""


@dataclass(frozen=True, slots=True)
class Refused:
    """It may not; one line that says why and what to do."""

    why: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Reconciliation is missing: these attempts are asked about first."""

    attempts: tuple[Sent, ...]


Ruling = Allowed | Refused | Ask


def rule(past: Past) -> Ruling:
    """Decide; total."""
    for each in _RULES:
        ruling = each(past)
        if ruling is not None:
            return ruling
    return Allowed()


def _open(past: Past) -> Ruling | None:
    return Refused(f"it is not closed: standby show {past.key}") if past.outcome is None else None


def _challenge(past: Past) -> Ruling | None:
    if not past.carries_challenge:
        return None
    return Refused("it is a message of a verification: ask that for another message, or begin a new one")


def _refused(past: Past) -> Ruling | None:
    if past.outcome is not Outcome.REFUSED:
        return None
    why = past.reason or "it was refused"
    return Refused(
        f"nothing was ever sent, for it was refused ({why}): correct it, and send it as a new event"
    )


def _arrived(past: Past) -> Ruling | None:
    """Evidence of an arrival counts whenever it came: after a delivery, a bounce leaves doubt at most."""
    for each in past.attempts:
        if each.has_arrived or each.state is AttemptState.CONFIRMED:
            word = "delivered" if each.has_arrived else "accepted, which its kind asks for"
            return Refused(f"the {NOUN[each.channel]} was {word}: a retry would be a second message")
    if past.outcome is not None and past.outcome.reached:
        return Refused(f"it closed as {past.outcome}: a retry would be a second message")
    return None


def _withdrawn(past: Past) -> Ruling | None:
    if past.outcome is not Outcome.WITHDRAWN:
        return None
    return Refused("its caller withdrew it: if it is wanted after all, send it as a new event")


def _expired(past: Past) -> Ruling | None:
    if past.outcome is not Outcome.EXPIRED:
        return None
    return Refused("it expired, and so would a retry of it: if it is of use still, send it as a new event")


def _pruned(past: Past) -> Ruling | None:
    if not past.pruned:
        return None
    return Refused(f"its evidence was pruned, and nobody can say what became of it; {_ONLY}")


def _observed(past: Past) -> Ruling | None:
    """Beside observe mode another sender is at work."""
    seen = next((each for each in past.attempts if each.observed), None)
    if seen is None:
        return None
    return Refused(
        f"its {NOUN[seen.channel]} was only observed, and another may have sent it:"
        " if nobody did, send it as a new event"
    )


def _unreconciled(past: Past) -> Ruling | None:
    missing = tuple(each for each in past.attempts if not each.is_reconciled)
    unasked = tuple(each for each in missing if each.key not in past.asked)
    if unasked:
        return Ask(unasked)
    return Refused(_why(missing[0], past.asked[missing[0].key])) if missing else None


def _why(attempt: Sent, asked: Asked) -> str:
    """Say what is missing about an attempt that may have left, and what can be done."""
    what, who = NOUN[attempt.channel], attempt.provider or "its provider"
    match asked:
        case Asked.ANSWERED:
            said = attempt.last_word or "nothing"
            return f"{who} says {said} of the {what}, which may arrive yet: try again later, {_KNOWINGLY}"
        case Asked.NOTHING:
            return f"{who} does not know the {what}, which proves nothing: it cannot be reconciled; {_ONLY}"
        case Asked.UNASKABLE:
            return f"{who} cannot be asked about the {what}: it cannot be reconciled; {_ONLY}"
        case Asked.NOT_FROM_HERE:
            return f"{who} cannot be asked about the {what} from here: set what it needs, as a worker has it"
        case Asked.FAILED:
            return f"{who} could not be asked about the {what}: try again"
        case Asked.HELD:
            return f"the control reconcile keeps {who} from being asked about the {what}: standby controls"


_KNOWINGLY: Final = "or send it as a new event, knowing that both may arrive"
_ONLY: Final = "send it as a new event only if two messages do no harm"

_RULES: tuple[Callable[[Past], Ruling | None], ...] = (
    _open,
    _challenge,
    _refused,
    _arrived,
    _withdrawn,
    _expired,
    _pruned,
    _observed,
    _unreconciled,
)
