"""What Infrai says: of a message, and of itself, by its public discovery; what is relied on is pinned here.

Its published names of fields and those that its clients read differ, so every field is read by either.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from activities.providers.answers import Json
from activities.providers.base import Level, Reported
from activities.providers.fields import part, text
from workflows.policy.classify import classify, extract
from workflows.policy.cleaning import cleaned
from workflows.policy.words import Channel, Status, SuppressionReason

STATUS: Mapping[str, tuple[Status, bool]] = MappingProxyType(
    {
        "queued": (Status.PENDING, False),
        "pending": (Status.PENDING, False),
        "scheduled": (Status.PENDING, False),
        "accepted": (Status.PENDING, False),
        "sent": (Status.ACCEPTED, False),
        "delivered": (Status.DELIVERED, True),
        "opened": (Status.DELIVERED, True),
        "open": (Status.DELIVERED, True),
        "clicked": (Status.DELIVERED, True),
        "complained": (Status.DELIVERED, True),
        "hard_bounce": (Status.REJECTED, True),
        "bounced": (Status.REJECTED, True),
        "bounce": (Status.REJECTED, True),
        "failed": (Status.REJECTED, True),
        "rejected": (Status.REJECTED, True),
        "suppressed": (Status.REJECTED, True),
        "soft_bounce": (Status.TEMPORARY_FAILURE, False),
        "deferred": (Status.TEMPORARY_FAILURE, False),
        "delayed": (Status.TEMPORARY_FAILURE, False),
    }
)
"""Words in lower case; no list of them is published, so any other stays unrecognized."""

HARD_BOUNCE: Final = "hard_bounce"
"""The address is to blame only where a reason beside it says so."""

TELLING: Final = ("code", "reason", "hint", "message")
"""Where a record or an event says why."""

IDS: Mapping[Channel, tuple[str, ...]] = MappingProxyType(
    {Channel.EMAIL: ("email_id", "message_id", "id"), Channel.SMS: ("sms_id", "message_id", "id")}
)


@dataclass(frozen=True, slots=True)
class Pinned:
    """One capability."""

    method: str
    path: str
    takes: frozenset[str] = frozenset()
    """The fields that are sent to it."""
    level: Level = Level.PROBLEM
    """What it is to find that it changed."""


PINNED: Mapping[str, Pinned] = MappingProxyType(
    {
        "email.send": Pinned("POST", "/v1/email/send", frozenset({"from", "to", "subject", "text", "html"})),
        "email.get": Pinned("GET", "/v1/email/get/{id}"),
        "email.event.list": Pinned("GET", "/v1/email/event/list", frozenset({"message_id"}), Level.NOTE),
        "email.suppression.add": Pinned(
            "POST", "/v1/email/suppression/add", frozenset({"email", "reason"}), Level.NOTE
        ),
        "sms.send": Pinned("POST", "/v1/sms/send", frozenset({"from", "to", "body"})),
        "sms.status": Pinned("GET", "/v1/sms/status/{id}"),
    }
)

SENDS: Mapping[Channel, str] = MappingProxyType({Channel.EMAIL: "email.send", Channel.SMS: "sms.send"})
READS: Mapping[Channel, str] = MappingProxyType({Channel.EMAIL: "email.get", Channel.SMS: "sms.status"})
SERVES: Mapping[Channel, tuple[str, ...]] = MappingProxyType(
    {
        channel: tuple(each for each in PINNED if each.startswith(f"{channel}."))
        for channel in (Channel.EMAIL, Channel.SMS)
    }
)
"""What is relied on, by channel."""

BESIDE: Final = frozenset({"id", "idempotency_key"})
"""What is given in the path and in a header, and may be demanded as a field."""

ADVICE: Final = "choose another provider until Standby knows that"

_PLACE = re.compile(r"\{[^}]*\}|:\w+")


def data_of(fields: Json) -> Json:
    """Return what is inside the envelope, if there is one."""
    return part(fields, "data") or fields


def word(record: Json) -> str | None:
    """Return the state of a record, as it is written."""
    return text(record, "state", "status")


def reported(record: Json, provider_id: str, *events: Json) -> Reported:
    """Read a record, and what happened to it."""
    raw = word(record) or ""
    status, is_final = STATUS.get(raw.lower(), (Status.UNRECOGNIZED, False))
    said = " ".join(filter(None, (text(each, name) for each in (record, *events) for name in TELLING)))
    if raw.lower() == HARD_BOUNCE and classify(None, said).status is Status.INVALID_RECIPIENT:
        status = Status.INVALID_RECIPIENT
    opt_out = SuppressionReason.COMPLAINT if raw.lower() == "complained" else None
    return Reported(status, is_final, raw, extract(said), provider_id, opt_out=opt_out)


def compared(capability: str, told: Json | None) -> tuple[Level, str]:
    """Say how far a description is what is pinned here; `told` is None where there is none."""
    pinned = PINNED[capability]
    if told is None:
        return pinned.level, f"it is not offered any more: {ADVICE}"
    if told.get("available") is False:
        return pinned.level, "it is not available now: see the console of the provider"
    if told.get("method") != pinned.method or _shape(told.get("path")) != _shape(pinned.path):
        return pinned.level, f"it has another address: {ADVICE}"
    schema = _schema(told.get("params")) or ({} if not pinned.takes else None)
    if schema is None:
        return Level.UNCHECKED, "its parameters are not described as JSON Schema"
    change = _change(pinned, schema)
    return (Level.OK, "it is as described") if change is None else (pinned.level, f"{change}: {ADVICE}")


def _change(pinned: Pinned, schema: Json) -> str | None:
    gone = pinned.takes - _names(schema.get("properties"))
    if gone:
        return f"it does not take {', '.join(sorted(gone))}"
    demanded = _names(schema.get("required")) - pinned.takes - BESIDE
    return f"it demands {cleaned(', '.join(sorted(demanded)))}" if demanded else None


def _shape(path: object) -> str | None:
    """Return a path without the names of what stands in it."""
    return _PLACE.sub("{}", path) if isinstance(path, str) else None


def _schema(params: object) -> Json | None:
    """Read JSON Schema, which may come as a text."""
    if isinstance(params, str):
        try:
            params = json.loads(params)
        except (ValueError, RecursionError):
            return None
    return params if isinstance(params, dict) and isinstance(params.get("properties"), dict) else None


def _names(found: object) -> frozenset[str]:
    """Return the names in a list, or of an object's fields."""
    names: list[object] = list(found) if isinstance(found, list | dict) else []
    return frozenset(each for each in names if isinstance(each, str))
