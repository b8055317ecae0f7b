"""What Telnyx's words mean: the statuses of a message, and error codes of a request and of a delivery.

The same code can mean two things: of a delivery, some carriers' rules for registered senders use numbers
that the API uses otherwise. Whatever accuses a person, or speaks for one, must also say so in its words.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from activities.providers.answers import Json
from activities.providers.base import Reported
from activities.providers.fields import part, parts, text
from activities.providers.refusals import INVALID, LATER, REFUSED, STOPPED, UNREACHABLE, Meaning, wrong
from workflows.policy.words import Status

STATUS: Mapping[str, tuple[Status, bool]] = MappingProxyType(
    {
        "queued": (Status.PENDING, False),
        "sending": (Status.PENDING, False),
        "sent": (Status.ACCEPTED, False),
        "delivered": (Status.DELIVERED, True),
        # No receipt came: nobody will ever know.
        "delivery_unconfirmed": (Status.UNRECOGNIZED, True),
        "expired": (Status.TEMPORARY_FAILURE, True),
        "sending_failed": (Status.REJECTED, True),
        "delivery_failed": (Status.REJECTED, True),
    }
)
"""The status of a message's one recipient."""

FAILURES = frozenset({"sending_failed", "delivery_failed"})
"""The words whose meaning is in the errors beside them, where one has a row."""

_KEY = wrong("check STANDBY_TELNYX_API_KEY and what it permits")
_ACCOUNT = wrong("the account is not active or not verified enough: see the provider's portal")
_CREDIT = wrong("the account has too little credit: top it up")
_SENDER = wrong("STANDBY_SMS_FROM cannot send now: check its number, registration and messaging profile")
_PROFILE = wrong("the messaging profile of STANDBY_SMS_FROM, or messaging on the account, is disabled")

STOP: Final = "40300"
NUMBER: Final = "10002"

ERRORS: Mapping[str, Meaning] = MappingProxyType(
    {
        "10001": REFUSED,
        NUMBER: INVALID,
        "10003": wrong("the provider refuses the callback URL: check STANDBY_PUBLIC_URL"),
        "10004": REFUSED,
        "10009": _KEY,
        "10010": _KEY,
        "10011": LATER,
        "10016": INVALID,
        "10039": wrong("the account texts only numbers that it has verified: upgrade it at the provider"),
        "20002": _KEY,
        "20006": _KEY,
        "20012": _ACCOUNT,
        "20013": _ACCOUNT,
        "20014": _ACCOUNT,
        "20015": _ACCOUNT,
        "20016": _ACCOUNT,
        "20017": _ACCOUNT,
        "20100": _CREDIT,
        "40001": INVALID,
        "40002": UNREACHABLE,
        "40003": REFUSED,
        "40004": REFUSED,
        "40005": UNREACHABLE,
        "40006": UNREACHABLE,
        "40008": REFUSED,
        "40009": REFUSED,
        "40010": _SENDER,
        "40011": UNREACHABLE,
        "40012": INVALID,
        "40013": _SENDER,
        "40014": UNREACHABLE,
        "40015": REFUSED,
        "40016": UNREACHABLE,
        "40017": REFUSED,
        "40018": UNREACHABLE,
        "40100": _SENDER,
        "40150": _SENDER,
        "40151": _SENDER,
        STOP: STOPPED,
        "40301": REFUSED,
        "40302": REFUSED,
        "40305": _SENDER,
        "40306": _SENDER,
        # The profile may write to some countries only: that is somebody's choice, and no fault of a setting.
        "40309": REFUSED,
        "40310": INVALID,
        "40312": _PROFILE,
        "40314": _PROFILE,
        "40315": _SENDER,
        "40316": REFUSED,
        "40318": LATER._replace(status=Status.TEMPORARY_FAILURE),
        "40319": REFUSED,
        "40320": _SENDER,
        "40321": _SENDER,
        "40322": REFUSED,
        "40328": REFUSED,
        "40329": _SENDER,
    }
)
"""Error codes; of a delivery, which no setting can bring back, only the status counts."""

_OF_EITHER = frozenset({NUMBER, "10016", "40310"})
"""Codes that are also said of the sender, or of something else altogether."""

_STOP = re.compile(r"\bstop\b|\bblock rule\b|\bopt(?:ed)?[ -]?out\b", re.IGNORECASE)
_TO = re.compile(r"'to'|/to\b|\bdestination (?:number|address)\b", re.IGNORECASE)
_FROM = re.compile(r"'from'|/from\b|\bsource (?:number|address)\b", re.IGNORECASE)


class Fault(NamedTuple):
    """The first error that has a row."""

    code: str
    meaning: Meaning


def fault(errors: tuple[Json, ...]) -> Fault | None:
    """Return what a list of errors means; None where nobody knows any of them."""
    for each in errors:
        code = text(each, "code")
        if code is not None and code in ERRORS:
            return Fault(code, _judged(code, each))
    return None


def reported(message: Json, provider_id: str) -> Reported:
    """Read a message, which has one recipient."""
    recipients = parts(message, "to")
    word = (text(recipients[0], "status") if recipients else None) or ""
    status, is_final = STATUS.get(word, (Status.UNRECOGNIZED, False))
    errors = parts(message, "errors")
    found = fault(errors) if word in FAILURES else None
    if found is None:
        code = text(errors[0], "code") if errors else None
        return Reported(status, is_final, raw=word, code=code, provider_id=provider_id)
    return Reported(
        found.meaning.status,
        is_final,
        raw=word,
        code=found.code,
        provider_id=provider_id,
        opt_out=found.meaning.opt_out,
    )


def _judged(code: str, error: Json) -> Meaning:
    told = (text(error, "title"), text(error, "detail"), text(part(error, "source"), "pointer"))
    said = " ".join(each for each in told if each)
    if code == STOP and not _STOP.search(said):
        return REFUSED
    if code == NUMBER and _FROM.search(said):
        return _SENDER
    if code in _OF_EITHER and (not _TO.search(said) or _FROM.search(said)):
        return REFUSED
    return ERRORS[code]
