"""Foreign JSON, read without trusting it: a field of another shape is a field that is not there."""

import hashlib
import json
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import parse_qsl, quote

from activities.providers.answers import Json
from activities.providers.errors import Forged


def text(fields: Json, *names: str) -> str | None:
    """Return the first of these fields that is a text or a whole number, as text; "" is not there."""
    for name in names:
        match fields.get(name):
            case bool():
                continue
            case str() | int() as value if str(value):
                return str(value)
    return None


def number(fields: Json, name: str) -> int | None:
    """Return a field that is a whole number, or a text of its digits."""
    found = text(fields, name) or ""
    return int(found) if found.isascii() and found.isdigit() and len(found) < 16 else None  # noqa: PLR2004 - far below the longest int


def part(fields: Json, *path: str) -> Json:
    """Return the object at the end of a path; an empty one where there is none."""
    for name in path:
        found = fields.get(name)
        if not isinstance(found, dict):
            return {}
        fields = found
    return fields


def parts(fields: Json, name: str) -> tuple[Json, ...]:
    """Return the objects of a list; an empty tuple where there is none."""
    found = fields.get(name)
    return tuple(each for each in found if isinstance(each, dict)) if isinstance(found, list) else ()


def segment(value: str) -> str:
    """Return a text as one segment of a path, or one value of a query."""
    return quote(value, safe="", errors="replace")


def instant(value: str | None) -> datetime | None:
    """Read a time with its zone (ISO 8601, or as in a mail's header); one without is no evidence."""
    if not value:
        return None
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError, OverflowError):
            found = read(value)
            return found.astimezone(UTC) if found.tzinfo is not None else None
    return None


def unix(value: object, *, per_second: int = 1) -> datetime | None:
    """Read a count of seconds since 1970, or of milliseconds (`per_second=1000`)."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return datetime.fromtimestamp(float(value) / per_second, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def form(body: bytes) -> dict[str, str]:
    """Return the form of a callback; raises Forged for what is none."""
    return dict(pairs(body))


def pairs(body: bytes) -> list[tuple[str, str]]:
    """Return the names and values of a form as they came; raises Forged for what is none."""
    try:
        return parse_qsl(body.decode(), keep_blank_values=True)
    except ValueError:
        raise Forged("the callback cannot be read") from None


def posted(body: bytes) -> Json:
    """Return the JSON object of a callback; raises Forged for anything else."""
    found = decoded(body)
    if not isinstance(found, dict):
        raise Forged("the callback cannot be read")
    return found


def event_id(*words: str) -> str:
    """Return the same for every repetition of an event that its provider gives no id."""
    return hashlib.sha256("\n".join(words).encode(errors="replace")).hexdigest()


def decoded(body: bytes) -> object:
    """Return the JSON of a callback; raises Forged for what is none."""
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        raise Forged("the callback cannot be read") from None
    return value
