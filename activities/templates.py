"""A kind's templates, compiled once: Mustache as chevron reads it, less what could surprise.

chevron cuts a template into tokens; they become a small tree here. Its own renderer is not used: inside
`{{#title}}…{{/title}}` it looks `title` up on the string itself and prints the address of a method.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from chevron.tokenizer import tokenize

from activities import markup
from activities.tags import TemplateError, scan, sections
from workflows.policy.words import Channel


class Part(StrEnum):
    """One piece of a message; the file that holds its template is named after it."""

    SUBJECT = "email.subject"
    HTML = "email.html"
    TEXT = "email.txt"
    SMS = "sms"

    @property
    def file(self) -> str:
        """Return the name of the file in the kind's folder."""
        return f"{self}.mustache"


PARTS: Final[Mapping[Channel, tuple[Part, ...]]] = MappingProxyType(
    {Channel.EMAIL: (Part.SUBJECT, Part.HTML, Part.TEXT), Channel.SMS: (Part.SMS,)},
)


@dataclass(frozen=True, slots=True)
class Variable:
    """A field's value goes here."""

    name: str


@dataclass(frozen=True, slots=True)
class Section:
    """Written if the field holds something (a list: once for each item), or, inverted, if it does not."""

    name: str
    inverted: bool
    body: tuple["Node", ...]


Node = str | Variable | Section


@dataclass(frozen=True, slots=True)
class Template:
    """One compiled template."""

    part: Part
    body: tuple[Node, ...] = field(repr=False)
    lines: Mapping[str, int] = field(repr=False)
    """The line on which each field is first used."""

    @property
    def required(self) -> tuple[str, ...]:
        """Name the fields that no notice can do without: those outside every section."""
        return tuple(dict.fromkeys(node.name for node in self.body if isinstance(node, Variable)))


Templates = Mapping[Part, Template]


def compile_template(text: str, part: Part, source: str) -> Template:
    """Compile a template; raises TemplateError, whose message begins with `source` and the line."""
    if part in {Part.SUBJECT, Part.SMS}:
        text = text.rstrip()
    tags = scan(text, source)
    pairs = sections(tags, source)
    if part is Part.HTML:
        markup.check(text, tags, pairs, source)
    tokens: list[tuple[str, str]] = list(tokenize(text))
    if part is Part.SUBJECT:
        _one_line(tokens, source)
    lines = {tag.name: tag.line for tag in reversed(tags) if not tag.sigil}
    return Template(part, tuple(_tree(iter(tokens))), MappingProxyType(lines))


def _one_line(tokens: Iterable[tuple[str, str]], source: str) -> None:
    written = "".join(key for kind, key in tokens if kind == "literal")
    if len(written.splitlines()) > 1:
        raise TemplateError(source, 1, "a subject is one line")


def _tree(tokens: Iterator[tuple[str, str]]) -> Iterator[Node]:
    """Nest the tokens; the sections are known to match."""
    for kind, key in tokens:
        match kind:
            case "literal":
                yield key
            case "variable":
                yield Variable(key)
            case "section" | "inverted section":
                yield Section(key, kind == "inverted section", tuple(_tree(tokens)))
            case _:
                return
