"""Fields into words: the same templates and fields give the same bytes, on every host.

One escaping rule a channel: HTML is escaped, plain text, subjects and texts are verbatim. A field that is
missing or unfit is an error before anything is submitted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final, NamedTuple

from pydantic import JsonValue

from activities.fields import FieldError, MissingFieldError, Use, written
from activities.gsm import Segments, segments
from activities.templates import PARTS, Node, Part, Section, Template, Templates, Variable
from workflows.policy.models import Fields
from workflows.policy.words import Channel

__all__ = ["MOST_SEGMENTS", "FieldError", "MissingFieldError", "Rendered", "render"]

MOST_SEGMENTS: Final = 10
"""Parts of one text; carriers refuse much longer ones, and bill each."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """One message, ready to submit; none of it may be kept or logged."""

    text: str = field(repr=False)
    subject: str | None = field(default=None, repr=False)
    html: str | None = field(default=None, repr=False)
    segments: Segments | None = None
    """What a text message costs."""
    unsubscribe_url: str | None = field(default=None, repr=False)
    """Where one click ends email of this kind."""


class _Scope(NamedTuple):
    """A value that names are looked up in, and the path that led to it."""

    path: str
    value: JsonValue


def render(templates: Templates, channel: Channel, fields: Fields) -> Rendered:
    """Write a channel's message; raises FieldError, which names the field, for what cannot be written."""
    parts = PARTS[channel]
    _demand([templates[part] for part in parts], fields)
    texts = {part: _write(templates[part], fields) for part in parts}
    match channel:
        case Channel.EMAIL:
            return Rendered(texts[Part.TEXT], texts[Part.SUBJECT], texts[Part.HTML])
        case Channel.SMS:
            return _text_message(texts[Part.SMS])


def _demand(templates: Sequence[Template], fields: Fields) -> None:
    """Name all missing fields at once, so that a caller mends them at once."""
    scopes = (_Scope("fields", fields),)
    wanted = [(name, template.part) for template in templates for name in template.required]
    missing = {name: Use(part, name, f"fields.{name}") for name, part in reversed(wanted)}
    uses = [missing[name] for name in dict.fromkeys(name for name, _ in wanted) if not _find(name, scopes)]
    if uses:
        raise MissingFieldError(uses)


def _text_message(text: str) -> Rendered:
    cost = segments(text)
    if cost.count > MOST_SEGMENTS:
        raise FieldError(f"fields: the text takes {cost.count} segments, at most {MOST_SEGMENTS} are sent")
    return Rendered(text, segments=cost)


def _write(template: Template, fields: Fields) -> str:
    text = "".join(_expand(template.body, (_Scope("fields", fields),), template.part))
    if not text.strip():
        raise FieldError(f"fields: they leave {template.part} empty")
    return text


def _expand(body: Sequence[Node], scopes: tuple[_Scope, ...], part: Part) -> Iterator[str]:
    for node in body:
        match node:
            case str():
                yield node
            case Variable(name):
                yield _value(name, scopes, part)
            case Section():
                for inner in _enter(node, scopes):
                    yield from _expand(node.body, inner, part)


def _value(name: str, scopes: tuple[_Scope, ...], part: Part) -> str:
    found = _find(name, scopes)
    if found is None:
        raise MissingFieldError([Use(part, name, f"{_innermost(scopes)}.{name}")])
    text = written(found.path, found.value, part)
    return escape(text, quote=True) if part is Part.HTML else text


def _enter(section: Section, scopes: tuple[_Scope, ...]) -> Iterator[tuple[_Scope, ...]]:
    """Yield the scopes of each time that a section is written."""
    found = _find(section.name, scopes)
    value = found.value if found else None
    if section.inverted:
        if not value:
            yield scopes
    elif found and isinstance(value, list):
        for number, item in enumerate(value):
            yield (_Scope(f"{found.path}.{number}", item), *scopes)
    elif found and value:
        yield (found, *scopes)


def _find(name: str, scopes: tuple[_Scope, ...]) -> _Scope | None:
    """Look a path up from the innermost scope out; once its first step is found, the rest must follow."""
    if name == ".":
        return scopes[0]
    first, *rest = name.split(".")
    for scope in scopes:
        found = _step(scope, first)
        if found is not None:
            for step in rest:
                found = _step(found, step) if found else None
            return found
    return None


def _step(scope: _Scope, name: str) -> _Scope | None:
    if isinstance(scope.value, Mapping) and name in scope.value:
        return _Scope(f"{scope.path}.{name}", scope.value[name])
    return None


def _innermost(scopes: tuple[_Scope, ...]) -> str:
    return next(scope.path for scope in scopes if isinstance(scope.value, Mapping))
