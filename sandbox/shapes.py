"""The sandbox's wire format: what it reads from a caller, and what it says about a message."""

import json
from datetime import datetime
from typing import Final

from sandbox.fates import Step
from sandbox.mailroom import Draft, Message

LONGEST: Final = 1_000_000
"""Bytes of one submission."""

_CHANNELS = frozenset({"email", "sms"})
_OPTIONAL_TEXTS = ("subject", "html")

Json = dict[str, object]


def draft(body: bytes) -> Draft | None:
    """Read a submission; None where it is not one."""
    given = _object(body)
    if given is None or given.get("channel") not in _CHANNELS:
        return None
    required = {name: given.get(name) for name in ("channel", "to", "key", "text")}
    optional = {name: given.get(name) for name in _OPTIONAL_TEXTS}
    texts = {name: value for name, value in (required | optional).items() if isinstance(value, str)}
    if not required.keys() <= texts.keys() or not texts["to"] or not texts["key"]:
        return None
    if any(value is not None and name not in texts for name, value in optional.items()):
        return None
    headers = given.get("headers", {})
    if not isinstance(headers, dict) or not all(isinstance(each, str) for each in headers.values()):
        return None
    return Draft(**texts, headers=headers)


def address(body: bytes) -> str | None:
    """Read the address of a suppression."""
    given = _object(body)
    found = given.get("address") if given is not None else None
    return found if isinstance(found, str) and found else None


def _object(body: bytes) -> Json | None:
    if len(body) > LONGEST:
        return None
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return given if isinstance(given, dict) else None


def is_address(draft: Draft) -> bool:
    """Say whether a message can be routed at all."""
    if draft.channel == "sms":
        return draft.to.startswith("+") and draft.to[1:].isdigit()
    return all(draft.to.rpartition("@"))


def state(message: Message, step: Step, at: datetime) -> Json:
    """Say where a message stands; addresses and content are left out."""
    return {
        "id": message.id,
        "key": message.draft.key,
        "channel": message.draft.channel,
        "status": step.word,
        "code": step.code,
        "reply": step.reply,
        "at": at.isoformat(),
    }


def row(message: Message) -> Json:
    """Show an accepted message as the inbox lists it."""
    return {
        "id": message.id,
        "channel": message.draft.channel,
        "to": message.draft.to,
        "key": message.draft.key,
        "at": message.at.isoformat(),
        "subject": message.draft.subject,
        "body": message.draft.text,
        "headers": dict(message.draft.headers),
    }
