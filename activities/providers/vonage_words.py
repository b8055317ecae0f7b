"""What Vonage's words mean: of a submission, of a record, of a receipt; and what it signs of a receipt."""

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from activities.providers.answers import Json
from activities.providers.base import Callback, Reported
from activities.providers.errors import Forged
from activities.providers.fields import posted, text
from activities.providers.refusals import INVALID, LATER, REFUSED, UNSURE, Meaning, wrong
from workflows.policy.classify import classify
from workflows.policy.words import Status

STATUS: Mapping[str, tuple[Status, bool]] = MappingProxyType(
    {
        "submitted": (Status.PENDING, False),
        "accepted": (Status.ACCEPTED, False),
        # Both may be the last that is heard: not every carrier sends receipts.
        "buffered": (Status.ACCEPTED, False),
        "delivered": (Status.DELIVERED, True),
        "expired": (Status.TEMPORARY_FAILURE, True),
        "failed": (Status.REJECTED, True),
        "rejected": (Status.REJECTED, True),
        "unknown": (Status.UNRECOGNIZED, True),
    }
)
"""The status of a receipt, and of a record."""

FAILURES = frozenset({"failed", "rejected", "unknown"})
"""The words whose meaning is in the error code beside them, where it has a row."""

ERRORS: Mapping[str, Status] = MappingProxyType(
    {
        "1": Status.UNRECOGNIZED,
        "2": Status.TEMPORARY_FAILURE,
        "3": Status.INVALID_RECIPIENT,
        "4": Status.REJECTED,
        "5": Status.TEMPORARY_FAILURE,
        "6": Status.REJECTED,
        "7": Status.TEMPORARY_FAILURE,
        "8": Status.TEMPORARY_FAILURE,
        # "Illegal number", or one whose person has opted out: neither can be told from the other.
        "9": Status.REJECTED,
        "10": Status.REJECTED,
        "11": Status.REJECTED,
        "12": Status.TEMPORARY_FAILURE,
        "13": Status.REJECTED,
        "14": Status.REJECTED,
        "15": Status.REJECTED,
        "50": Status.REJECTED,
        "51": Status.REJECTED,
        "52": Status.REJECTED,
        "53": Status.REJECTED,
        "54": Status.REJECTED,
        "99": Status.UNRECOGNIZED,
    }
)
"""The error code of a message that failed; nobody goes on trying."""

_MOST: Final = 100
"""Parameters of a callback."""

ACCEPTED: Final = "0"
INTERNAL_ERROR: Final = "5"
INVALID_MESSAGE: Final = "6"

REFUSALS: Mapping[str, Meaning] = MappingProxyType(
    {
        "1": LATER,
        "2": REFUSED,
        "3": REFUSED,
        "4": wrong("check STANDBY_VONAGE_API_KEY and STANDBY_VONAGE_API_SECRET"),
        INTERNAL_ERROR: UNSURE,
        INVALID_MESSAGE: REFUSED,
        "7": REFUSED,
        "8": wrong("the account is suspended: ask the provider"),
        "9": wrong("the account has too little credit: top it up"),
        "10": LATER,
        "11": wrong("the account may not use the SMS API: ask the provider"),
        "12": REFUSED,
        "14": wrong("the account demands signed requests: let it take the API secret alone"),
        "15": wrong("STANDBY_SMS_FROM is not a sender of the account: register it at the provider"),
        "22": REFUSED,
        "23": wrong("the provider refuses the callback URL: shorten STANDBY_PUBLIC_URL"),
        "29": wrong("the account is on trial, and texts only numbers that it lists: top it up"),
        "32": wrong("the account demands signed requests: let it take the API secret alone"),
        "33": INVALID,
    }
)
"""The status of one part of a submission, which comes with HTTP 200."""

_OF_NUMBER = re.compile(
    r"\bprefix\b|\b(?:phone|destination|recipient) (?:number|address)\b|\bto address\b", re.IGNORECASE
)
_EXAMPLE = re.compile(r"for example|e\.g\.", re.IGNORECASE)
"""The general description of the error names the number, but only as an example."""

_BASIC = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./:;<=>?¡ÄÖÑÜ§¿äöñüà"
_EXTENDED = "^{}\\[~]|€"
ALPHABET = frozenset(f"{_BASIC}{_EXTENDED}0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
"""What a text of type `text` can hold (3GPP TS 23.038); other characters would arrive as question marks."""


def meaning(code: str, said: str) -> Meaning | None:
    """Return what one status proves; an invalid message is the number's fault only where its text says so."""
    if code == INVALID_MESSAGE and _OF_NUMBER.search(said) and not _EXAMPLE.search(said):
        is_fault = classify(None, said, Status.INVALID_RECIPIENT).status is Status.INVALID_RECIPIENT
        return INVALID if is_fault else REFUSED
    return REFUSALS.get(code)


def reported(fields: Json, error: str, provider_id: str | None) -> Reported:
    """Read a receipt or a record, which name the error code differently."""
    word, code = text(fields, "status") or "", text(fields, error)
    status, is_final = STATUS.get(word, (Status.UNRECOGNIZED, False))
    if word in FAILURES and code is not None:
        status = ERRORS.get(code, status)
    return Reported(status, is_final, raw=word, code=code, provider_id=provider_id)


def parameters(callback: Callback) -> Mapping[str, str]:
    """Return what a callback says: in JSON or as a form, or in the query of one without a body."""
    if callback.body.lstrip().startswith(b"{"):
        said = posted(callback.body)
        return {name: value if isinstance(value, str) else json.dumps(value) for name, value in said.items()}
    try:
        form = callback.body.decode() or urlsplit(callback.url).query
        found = dict(parse_qsl(form, keep_blank_values=True, strict_parsing=True, max_num_fields=_MOST))
    except ValueError:
        found = {}
    if not found:
        raise Forged("the callback cannot be read")
    return found


def signed(given: Mapping[str, str]) -> bytes:
    """Return what the SMS API signs: `&name=value` of all parameters, by name; no value has `&` or `=`."""
    if any("&" in name or "=" in name for name in given):
        # Names are signed as they are: such a one could pass for several parameters.
        raise Forged("the callback cannot be read")
    values = {name: value.replace("&", "_").replace("=", "_") for name, value in given.items()}
    return "".join(f"&{name}={values[name]}" for name in sorted(values)).encode(errors="replace")
