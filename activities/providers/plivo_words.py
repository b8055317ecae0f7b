"""The words of Plivo: what its states and its error codes mean."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from activities.providers.base import Reported
from activities.providers.refusals import INVALID, REFUSED, STOPPED, UNREACHABLE, Meaning, wrong
from workflows.policy.words import Status

STATUS: Mapping[str, tuple[Status, bool]] = MappingProxyType(
    {
        "queued": (Status.PENDING, False),
        # The last word for ever where the carrier sends no receipts.
        "sent": (Status.ACCEPTED, False),
        "delivered": (Status.DELIVERED, True),
        "read": (Status.DELIVERED, True),
    }
)

FAILED = frozenset({"failed", "undelivered", "rejected"})
"""Its words for the end of trying, whose meaning is in the error code beside them."""

FAILURES: Mapping[str, Meaning] = MappingProxyType(
    {
        # No error: the word stands alone.
        "000": REFUSED,
        "10": REFUSED,
        "20": UNREACHABLE,
        "30": REFUSED,
        "40": REFUSED,
        "50": INVALID,
        "60": REFUSED,
        "70": INVALID,
        "80": UNREACHABLE,
        "90": UNREACHABLE,
        "100": REFUSED,
        "110": REFUSED,
        "200": STOPPED,
        "201": REFUSED,
        # The country is not enabled; the credit is used up.
        "450": REFUSED,
        "900": REFUSED,
    }
)
"""Errors of a message that was accepted; 1000, an unknown error, and what has no row here say nothing."""

UNAUTHORIZED: Final = "unauthorized"

REFUSALS: Mapping[str, Meaning] = MappingProxyType(
    {
        UNAUTHORIZED: wrong("check STANDBY_PLIVO_AUTH_ID and STANDBY_PLIVO_AUTH_TOKEN"),
        "insufficient credit": wrong("the credit of the account is used up: recharge it"),
    }
)
"""Errors of a send, in its words, since it gives them no codes; of all others only the HTTP status counts."""


def reported(word: str, code: str | None, provider_id: str) -> Reported:
    """Read the state of a message, and the error code beside it."""
    if word not in FAILED:
        status, is_final = STATUS.get(word, (Status.UNRECOGNIZED, False))
        return Reported(status, is_final, raw=word, provider_id=provider_id)
    meaning = REFUSED if code is None else FAILURES.get(code)
    return Reported(
        Status.UNRECOGNIZED if meaning is None else meaning.status,
        is_final=True,
        raw=word,
        code=code,
        provider_id=provider_id,
        opt_out=meaning.opt_out if meaning else None,
    )
