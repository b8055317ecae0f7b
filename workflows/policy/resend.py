"""May another message go out for a challenge, now?"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from workflows.policy.controls import Control, allows
from workflows.policy.terms import ChallengeTerms, Limit
from workflows.policy.verification import Denial
from workflows.policy.words import ChallengeState


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known when a message is asked for, the first or another; `now` is engine time.

    `of_account` and `of_destination` are the times (UTC, ascending) of the messages that were asked for so
    far, as far back as the limits reach.
    """

    notice_key: str
    """Of the challenge's first message: it names the cohort."""
    now: datetime
    expires_at: datetime
    state: ChallengeState
    sent: int
    """Messages that were asked for on this challenge so far."""
    last_at: datetime | None
    ambiguous: bool
    """Whether one of them may have left, and nobody knows."""
    of_account: tuple[datetime, ...]
    of_destination: tuple[datetime, ...]
    resend: Control
    """The control of what is being asked for: a person's resend, or an automatic one."""


Denied = tuple[Denial, datetime | None]
"""Why not, and when asking again could be of use (UTC)."""


def judge(asked: Asked, terms: ChallengeTerms) -> Denied | None:
    """Decide: the first rule with an objection answers; None lets it go."""
    for rule in _RULES:
        objection = rule(asked, terms)
        if objection is not None:
            return objection
    return None


def _over(asked: Asked, _terms: ChallengeTerms) -> Denied | None:
    is_open = asked.state is ChallengeState.ACTIVE and asked.now < asked.expires_at
    return None if is_open else (Denial.OVER, None)


def _switched_off(asked: Asked, _terms: ChallengeTerms) -> Denied | None:
    is_first = asked.sent == 0
    return None if is_first or allows(asked.resend, asked.notice_key) else (Denial.SWITCHED_OFF, None)


def _maximum(asked: Asked, terms: ChallengeTerms) -> Denied | None:
    return (Denial.MAXIMUM, None) if asked.sent > terms.resends else None


def _cooldown(asked: Asked, terms: ChallengeTerms) -> Denied | None:
    if asked.last_at is None or asked.now >= asked.last_at + terms.cooldown:
        return None
    return Denial.COOLDOWN, asked.last_at + terms.cooldown


def _ambiguous(asked: Asked, terms: ChallengeTerms) -> Denied | None:
    return (Denial.AMBIGUOUS, None) if asked.ambiguous and not terms.resend_over_ambiguous else None


def _account(asked: Asked, terms: ChallengeTerms) -> Denied | None:
    return _limited(Denial.ACCOUNT, asked.of_account, terms.per_account, asked.now)


def _destination(asked: Asked, terms: ChallengeTerms) -> Denied | None:
    return _limited(Denial.DESTINATION, asked.of_destination, terms.per_destination, asked.now)


def _limited(why: Denial, at: tuple[datetime, ...], limit: Limit, now: datetime) -> Denied | None:
    """Count what lies within the stretch that ends now: what must leave it first says when to come back."""
    within = [each for each in at if each > now - limit.per]
    return (why, within[-limit.count] + limit.per) if len(within) >= limit.count else None


def reach(terms: ChallengeTerms) -> timedelta:
    """Return how far back messages must be known for the limits."""
    return max(terms.per_account.per, terms.per_destination.per)


_RULES: tuple[Callable[[Asked, ChallengeTerms], Denied | None], ...] = (
    _over,
    _switched_off,
    _maximum,
    _cooldown,
    _ambiguous,
    _account,
    _destination,
)
