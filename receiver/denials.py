"""What a backend is told where a verification or another message was refused."""

import math
from datetime import datetime, timedelta
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from receiver.notices import mistaken
from receiver.problems import Problem
from workflows.policy.verification import Denial, Opened, Resent

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
        Denial.UNKNOWN_KIND: "no worker has this kind any more",
    }
)


def refused(opened: Opened, now: datetime) -> Problem:
    """Return the answer to a verification that a worker refused; its `challenge_id` is spent."""
    refusal = opened.refusal or "refused"
    try:
        denial = Denial(refusal)
    except ValueError:
        return mistaken((refusal,), "a worker refused it: begin again under another challenge_id")
    members, headers = _when(opened.again_at, now)
    words = f"{_WORDS[denial]}; begin again later, under another challenge_id"
    return Problem(
        _status(denial),
        words if denial in _LATER else _WORDS[denial],
        headers=headers,
        members={"reason": denial, **members},
    )


def denied(resent: Resent | None, now: datetime) -> Problem:
    """Return the answer where no other message goes out; `now` (UTC) is this host's clock."""
    denial = Denial.OVER if resent is None or resent.reason is None else resent.reason
    members, headers = _when(None if resent is None else resent.again_at, now)
    told = {"accepted": False, "reason": denial, **members}
    return Problem(_status(denial), _WORDS[denial], headers=headers, members=told)


def another(differing: tuple[str, ...]) -> Problem:
    """Return the answer where the id is another verification's: the fields that differ, and no values."""
    return Problem(
        HTTPStatus.CONFLICT,
        "another verification has this challenge_id: nothing was started",
        problems=[f"{each}: is not that of the verification on record" for each in differing],
        members={"reason": "another"},
    )


def _status(denial: Denial) -> HTTPStatus:
    return HTTPStatus.TOO_MANY_REQUESTS if denial in _LATER else HTTPStatus.CONFLICT


def _when(again_at: datetime | None, now: datetime) -> tuple[dict[str, object], dict[str, str]]:
    """Return when asking again could be of use, as members and as headers."""
    if again_at is None:
        return {}, {}
    seconds = max(1, math.ceil((again_at - now).total_seconds()))
    return {"again_at": again_at.isoformat().replace("+00:00", "Z")}, {"Retry-After": f"{seconds}"}
