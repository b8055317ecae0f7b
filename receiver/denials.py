"""What a backend is told where a verification or another message was refused."""

import math
from datetime import datetime, timedelta
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from activities.catalogue import Catalogue, UnknownKind
from receiver.notices import mistaken
from receiver.problems import Problem
from workflows.policy.terms import ChallengeTerms
from workflows.policy.verification import Denial, Resent, VerificationRequest

PATIENCE: Final = timedelta(seconds=3)
"""How long a backend waits for a worker's word on a beginning: one that is there gives it in milliseconds."""

_LATER: Final = frozenset({Denial.COOLDOWN, Denial.ACCOUNT, Denial.DESTINATION})
"""Those that time alone undoes."""

_WORDS: Final = MappingProxyType(
    {
        Denial.OVER: "the challenge is no longer active",
        Denial.SWITCHED_OFF: "an operator has turned resending off",
        Denial.MAXIMUM: "the kind allows no more messages",
        Denial.COOLDOWN: "the last message is too recent",
        Denial.AMBIGUOUS: "an earlier message may still be on its way",
        Denial.ACCOUNT: "too many messages for this account",
        Denial.DESTINATION: "too many messages to this destination",
    }
)


def refused(refusal: str, request: VerificationRequest, catalogue: Catalogue) -> Problem:
    """Return the answer to a verification that a worker refused; its `challenge_id` is spent."""
    try:
        denial = Denial(refusal)
    except ValueError:
        return mistaken((refusal,), "a worker refused it: begin again under another challenge_id")
    members = {"reason": denial}
    if denial not in _LATER:
        return Problem(HTTPStatus.CONFLICT, _WORDS[denial], members=members)
    longest = _longest(denial, request, catalogue)
    headers = {} if longest is None else {"Retry-After": f"{math.ceil(longest.total_seconds())}"}
    words = f"{_WORDS[denial]}; begin again later, under another challenge_id"
    return Problem(HTTPStatus.TOO_MANY_REQUESTS, words, headers=headers, members=members)


def denied(resent: Resent | None, now: datetime) -> Problem:
    """Return the answer where no other message goes out; `now` (UTC) is this host's clock."""
    denial = Denial.OVER if resent is None or resent.reason is None else resent.reason
    again_at = None if resent is None else resent.again_at
    status = HTTPStatus.TOO_MANY_REQUESTS if denial in _LATER else HTTPStatus.CONFLICT
    members: dict[str, object] = {"accepted": False, "reason": denial}
    headers = {}
    if again_at is not None:
        members["again_at"] = again_at.isoformat().replace("+00:00", "Z")
        headers["Retry-After"] = f"{max(1, math.ceil((again_at - now).total_seconds()))}"
    return Problem(status, _WORDS[denial], headers=headers, members=members)


def _longest(denial: Denial, request: VerificationRequest, catalogue: Catalogue) -> timedelta | None:
    """Return after how long a limit is sure to let another through."""
    try:
        terms = catalogue.get(request.kind).policy.challenge or ChallengeTerms()
    except UnknownKind:
        return None
    return (terms.per_account if denial is Denial.ACCOUNT else terms.per_destination).per
