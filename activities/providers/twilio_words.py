"""The words of Twilio: what its statuses, its error codes and the shapes of its senders mean."""

import re
from collections.abc import Mapping
from enum import Enum, auto
from types import MappingProxyType

from activities.providers.answers import Json
from activities.providers.base import Reported
from activities.providers.fields import text
from activities.providers.refusals import INVALID, LATER, REFUSED, STOPPED, UNREACHABLE, Meaning, wrong
from workflows.policy.words import Status

STATUS: Mapping[str, tuple[Status, bool]] = MappingProxyType(
    {
        "accepted": (Status.PENDING, False),
        "scheduled": (Status.PENDING, False),
        "queued": (Status.PENDING, False),
        "sending": (Status.PENDING, False),
        # The last word for ever where the carrier sends no receipts.
        "sent": (Status.ACCEPTED, False),
        "delivered": (Status.DELIVERED, True),
        "read": (Status.DELIVERED, True),
        "partially_delivered": (Status.DELIVERED, True),
        "canceled": (Status.REJECTED, True),
    }
)

FAILED = frozenset({"failed", "undelivered"})
"""Its words for the end of trying, whose meaning is in the error code beside them."""

INBOUND = frozenset({"receiving", "received"})
"""Words about texts that somebody sent to us."""

_KEY = wrong("check STANDBY_TWILIO_ACCOUNT_SID, and STANDBY_TWILIO_AUTH_TOKEN or the API key")
_ACCOUNT = wrong("the account is not active: see its balance and its notices at the provider")
_SENDER = wrong("STANDBY_SMS_FROM is no sender of this account that may send texts")
_TRIAL = wrong(
    "a trial account, or one without a compliance profile, texts verified numbers only: upgrade it"
)
_SERVICE = wrong("the messaging service in STANDBY_SMS_FROM does not exist, or has no sender")

# What is wrong with every text is a setting: somebody must mend it, and then the same texts go out. A region
# that is not enabled, and a pair of numbers that has no route, are wrong with some numbers only, often on
# purpose: these people are refused at once, so that they are reached on their other channel.
REFUSALS: Mapping[str, Meaning] = MappingProxyType(
    {
        "10001": _ACCOUNT,
        "20003": _KEY,
        "20005": _ACCOUNT,
        "20404": _KEY,
        "20429": LATER,
        "21211": INVALID,
        "21212": _SENDER,
        "21408": REFUSED,
        "21602": REFUSED,
        "21603": _SENDER,
        "21606": _SENDER,
        "21609": wrong("the provider refuses the callback URL: check STANDBY_PUBLIC_URL"),
        "21608": _TRIAL,
        "21610": STOPPED,
        "21611": LATER,
        "21612": REFUSED,
        "21614": INVALID,
        "21617": REFUSED,
        "21635": INVALID,
        "21659": _SENDER,
        "21660": _SENDER,
        "21661": _SENDER,
        "21701": _SERVICE,
        "21703": _SERVICE,
        "21704": _SERVICE,
        "90010": _ACCOUNT,
    }
)
"""Errors of a send, by code; the rest means what its HTTP status means."""

UNKNOWN_LINE = "30006"
"""A landline, or a carrier that the sender does not reach: the number's fault only where a number asked."""

FAILURES: Mapping[str, Meaning] = MappingProxyType(
    {
        **REFUSALS,
        "21611": UNREACHABLE,
        "30001": UNREACHABLE,
        "30002": REFUSED,
        "30003": UNREACHABLE,
        "30004": REFUSED,
        "30005": INVALID,
        UNKNOWN_LINE: INVALID,
        "30007": REFUSED,
        "30034": REFUSED,
    }
)
"""Errors of a message that was accepted, which are those of a send too where a service picked the sender.

30008, an unknown error, and whatever has no row here say nothing that could be relied on.
"""


class Shape(Enum):
    """What a sender is, which Twilio tells by its form."""

    SERVICE = auto()
    """A messaging service, which picks one of its senders."""
    NUMBER = auto()
    SHORT_CODE = auto()
    NAME = auto()
    """An alphanumeric sender id."""


_SHAPES: Mapping[Shape, re.Pattern[str]] = MappingProxyType(
    {
        Shape.SERVICE: re.compile(r"MG[0-9a-fA-F]{32}"),
        Shape.NUMBER: re.compile(r"\+[1-9][0-9]{6,14}"),
        Shape.SHORT_CODE: re.compile(r"[0-9]{3,8}"),
    }
)


def shape(sender: str) -> Shape:
    """Return what a sender is."""
    return next((each for each, form in _SHAPES.items() if form.fullmatch(sender)), Shape.NAME)


def reported(fields: Json, provider_id: str, sender: str) -> Reported:
    """Read the state of a message from an answer or from a callback; `sender` is what it was sent from."""
    word = text(fields, "status", "MessageStatus", "SmsStatus") or ""
    if word not in FAILED:
        status, is_final = STATUS.get(word, (Status.UNRECOGNIZED, False))
        return Reported(status, is_final, raw=word, provider_id=provider_id)
    code = text(fields, "error_code", "ErrorCode")
    meaning = _meaning(code, text(fields, "from", "From") or sender)
    status = Status.UNRECOGNIZED if meaning is None else meaning.status
    opt_out = meaning.opt_out if meaning else None
    return Reported(status, is_final=True, raw=word, code=code, provider_id=provider_id, opt_out=opt_out)


def _meaning(code: str | None, sender: str) -> Meaning | None:
    """Return what a code means; None where it says nothing."""
    if code is None:
        return REFUSED
    if code == UNKNOWN_LINE and shape(sender) is not Shape.NUMBER:
        return REFUSED
    return FAILURES.get(code)
