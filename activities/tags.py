"""The tags of a Mustache template, each with its line, and the part of Mustache that is refused.

chevron reads the templates; what it cannot say is where: it loses count of the lines that it trims. So
every mistake that has a line is found here, and chevron only sees templates that hold none.
"""

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

MOST_NESTED: Final = 20
"""How deep sections may go; nobody reads further, and every level is a level of the call stack."""

_TAG = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_SIGILS = "#^/!>=&{"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*|\.")

_REFUSED = MappingProxyType(
    {
        ">": "partials are off: write the text out",
        "=": "delimiters stay {{ and }}",
        "&": "unescaped tags are off: {{name}} is escaped in HTML and nowhere else",
        "{": "unescaped tags are off: {{name}} is escaped in HTML and nowhere else",
    },
)


class TemplateError(ValueError):
    """A template that may not be used; the message is one line: file, line, what is wrong."""

    def __init__(self, source: str, line: int, problem: str) -> None:
        super().__init__(f"{source}:{line}: {problem}")


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag; `start` and `end` are its place in the text."""

    sigil: str
    """One of `# ^ / !`, or nothing for a field."""
    name: str
    line: int
    start: int
    end: int

    def __str__(self) -> str:
        """Return the tag as it is written."""
        return f"{{{{{self.sigil}{self.name}}}}}"


def scan(text: str, source: str) -> tuple[Tag, ...]:
    """Return the tags in order; raises TemplateError for one that is refused or unfinished."""
    tags = tuple(_read(text, match, source) for match in _TAG.finditer(text))
    last = 0
    for start, end in [*((tag.start, tag.end) for tag in tags), (len(text), len(text))]:
        stray = text.find("{{", last, start)
        if stray >= 0:
            raise TemplateError(source, _line(text, stray), "this {{ is never closed by }}")
        last = end
    return tags


def sections(tags: tuple[Tag, ...], source: str) -> list[tuple[Tag, Tag]]:
    """Return each section's opening and closing tag; raises TemplateError where they do not match."""
    found: list[tuple[Tag, Tag]] = []
    opened: list[Tag] = []
    for tag in tags:
        if tag.sigil in {"#", "^"}:
            opened.append(tag)
            if len(opened) > MOST_NESTED:
                raise TemplateError(
                    source, tag.line, f"{tag} is nested too deep: sections go {MOST_NESTED} deep at most"
                )
        elif tag.sigil == "/":
            if not opened or opened[-1].name != tag.name:
                wanted = f"{{{{/{opened[-1].name}}}}} comes first" if opened else "nothing is open"
                raise TemplateError(source, tag.line, f"{tag} closes nothing: {wanted}")
            found.append((opened.pop(), tag))
        elif tag.name == "." and not opened:
            raise TemplateError(source, tag.line, "{{.}} means something only inside a section")
    if opened:
        raise TemplateError(source, opened[-1].line, f"{opened[-1]} is never closed")
    return found


def _read(text: str, match: re.Match[str], source: str) -> Tag:
    inside, line = match[1], _line(text, match.start())
    sigil = inside[:1] if inside[:1] and inside[:1] in _SIGILS else ""
    name = inside.removeprefix(sigil).strip(" ")
    if sigil in _REFUSED:
        raise TemplateError(source, line, _REFUSED[sigil])
    if sigil != "!" and not _NAME.fullmatch(name):
        allowed = "a name has letters, digits and _, with dots between the steps of a path"
        raise TemplateError(source, line, f"this tag has no usable name: {allowed}")
    return Tag(sigil, name, line, match.start(), match.end())


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1
