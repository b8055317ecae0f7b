"""May this address of this person receive on this channel, now?"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from workflows.policy.controls import Control, allows
from workflows.policy.hygiene import blocks
from workflows.policy.words import Channel, SuppressionReason


class Answer(StrEnum):
    """May it be sent?"""

    YES = "yes"
    NO = "no"
    HELD = "held"
    """An operator's control is off: ask again later."""
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known at the moment of asking; `now` is engine time."""

    notice_key: str
    channel: Channel
    now: datetime
    expires_at: datetime
    has_address: bool
    sms_consent: bool
    essential: bool
    is_fallback: bool
    suppressed_for: frozenset[SuppressionReason]
    dispatch: Control
    fallback: Control


_SHARE = 10
"""A held dispatch waits for a tenth of what is left,"""
_SOONEST = timedelta(seconds=5)
_LATEST = timedelta(minutes=15)
"""but no longer than this,"""
_OF_A_LONG_LIFE = 300
"""or than a three-hundredth of what is left: at most some 1,700 times in a year, since each is history."""

Judgement = tuple[Answer, str | None]
"""The answer, and a classified word for why it is not yes."""


def judge(facts: Facts) -> Judgement:
    """Decide: the first rule with an objection answers; expiry first, then the operator, then the person."""
    for rule in _RULES:
        objection = rule(facts)
        if objection is not None:
            return objection
    return Answer.YES, None


def ask_again(now: datetime, expires_at: datetime) -> datetime:
    """Return when a held dispatch asks again (UTC): often enough for people, seldom enough for histories."""
    left = expires_at - now
    pause = min(max(left / _SHARE, _SOONEST), max(_LATEST, left / _OF_A_LONG_LIFE))
    return min(now + pause, expires_at)


def _expiry(facts: Facts) -> Judgement | None:
    return (Answer.EXPIRED, "expired") if facts.now >= facts.expires_at else None


def _dispatch(facts: Facts) -> Judgement | None:
    return None if allows(facts.dispatch, facts.notice_key) else (Answer.HELD, "dispatch_off")


def _fallback(facts: Facts) -> Judgement | None:
    if not facts.is_fallback or allows(facts.fallback, facts.notice_key):
        return None
    return Answer.HELD, "fallback_off"


def _address(facts: Facts) -> Judgement | None:
    return None if facts.has_address else (Answer.NO, "no_address")


def _consent(facts: Facts) -> Judgement | None:
    if facts.channel is not Channel.SMS or facts.sms_consent:
        return None
    return Answer.NO, "no_consent"


def _suppression(facts: Facts) -> Judgement | None:
    barring = (
        reason
        for reason in SuppressionReason
        if reason in facts.suppressed_for and blocks(reason, facts.channel, essential=facts.essential)
    )
    reason = next(barring, None)
    return None if reason is None else (Answer.NO, f"suppressed: {reason}")


_RULES: tuple[Callable[[Facts], Judgement | None], ...] = (
    _expiry,
    _dispatch,
    _fallback,
    _address,
    _consent,
    _suppression,
)
