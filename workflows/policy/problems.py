"""What is wrong with a document that a person wrote: one line a mistake, with its key and what is allowed."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails

Schema = dict[str, JsonValue]
"""A JSON Schema as pydantic writes it, with every model under `$defs`."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", re.ASCII)

_WRONG: Mapping[str, str] = MappingProxyType(
    {
        "missing": "required",
        "enum": "unknown word",
        "too_short": "empty",
        "string_too_short": "empty",
        "string_too_long": "too long",
        "string_pattern_mismatch": "unfit",
        "timezone_aware": "has no zone",
        "greater_than": "out of range",
        "greater_than_equal": "out of range",
        "less_than": "out of range",
        "less_than_equal": "out of range",
    },
)

_FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "duration": 'a duration like "90s", "3m", "1h30m" or "2d", up to 366d',
        "date-time": "a time with its zone, like 2026-01-31T18:00:00Z",
        "idn-email": "one email address",
    },
)


class Mistakes(ValueError):  # noqa: N818 - there may be several
    """A document that may not be used; `problems` has one line for each mistake in it."""

    def __init__(self, found: Iterable[str]) -> None:
        self.problems = tuple(found)
        super().__init__("\n".join(self.problems))


def lines(error: ValidationError, schema: Schema) -> tuple[str, ...]:
    """Return one line for each mistake; none repeats a value, only the names of keys."""
    found = error.errors(include_url=False, include_input=False)
    return tuple(_line(each, schema) for each in found)


def dotted(location: Sequence[int | str]) -> str:
    """Name a place; a key that is no plain name might be anything, and is not repeated."""
    return ".".join(
        "?" if isinstance(each, str) and not _NAME.fullmatch(each) else str(each) for each in location
    )


def _line(detail: ErrorDetails, schema: Schema) -> str:
    if detail["type"] == "extra_forbidden":
        *above, key = detail["loc"]
        known = list(_members(_at(above, schema)))
        close = difflib.get_close_matches(str(key), known, n=1)
        meant = f", did you mean {close[0]}?" if close else ""
        return f"{dotted(detail['loc'])}: unknown key{meant}; allowed: {', '.join(known)}"
    if not detail["loc"]:
        # A rule about several keys; its message names them.
        return _wrong(detail)
    allowed = _allowed(_at(detail["loc"], schema), schema)
    return f"{dotted(detail['loc'])}: {_wrong(detail)}" + (f"; allowed: {allowed}" if allowed else "")


def _wrong(detail: ErrorDetails) -> str:
    if detail["type"] == "value_error":
        # Raised by our own validators, which never repeat what they were given.
        return str(detail["ctx"]["error"])
    return _WRONG.get(detail["type"], "wrong type")


def _at(location: Sequence[int | str], schema: Schema) -> Schema:
    """Return the schema of a place; an empty one where nothing is known about it."""
    node = schema
    for part in location:
        node = _resolved(node, schema)
        inner = node.get("items") if isinstance(part, int) else _members(node).get(part)
        node = inner if isinstance(inner, dict) else {}
    return _resolved(node, schema)


def _resolved(node: Schema, schema: Schema) -> Schema:
    """Follow a reference, and leave out the null of an optional value."""
    choices = node.get("anyOf")
    if isinstance(choices, list):
        node = next((each for each in choices if isinstance(each, dict) and each.get("type") != "null"), node)
    reference, models = node.get("$ref"), schema.get("$defs")
    if isinstance(reference, str) and isinstance(models, dict):
        model = models.get(reference.rpartition("/")[2])
        return model if isinstance(model, dict) else {}
    return node


def _members(node: Schema) -> Schema:
    members = node.get("properties")
    return members if isinstance(members, dict) else {}


def _allowed(node: Schema, schema: Schema) -> str:
    """Describe what a place may hold."""
    node = _resolved(node, schema)
    match node:
        case {"enum": [*words]}:
            return ", ".join(str(each) for each in words)
        case {"type": "array", "items": dict(items)}:
            return f"a list of: {_allowed(items, schema)}"
        case {"properties": dict(members)}:
            return f"the keys {', '.join(members)}"
        case {"type": "object"}:
            return "keys and values"
        case _:
            return _allowed_value(node)


def _allowed_value(node: Schema) -> str:
    match node:
        case {"format": str(form)} if form in _FORMATS:
            return _FORMATS[form]
        case {"type": "boolean"}:
            return "true or false"
        case {"type": "integer" | "number", "minimum": low, "maximum": high}:
            return f"a number from {low} to {high}"
        case {"type": "string", "maxLength": longest}:
            return f"text of at most {longest} characters"
        case {"type": "string", "pattern": str(pattern)}:
            return f"text that matches {pattern}"
        case _:
            return "text" if node.get("type") == "string" else ""
