"""A page as a browser reads it: its elements, and what is wrong with how they are nested."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from typing_extensions import override

_VOID = frozenset({"input", "meta", "br", "img", "link"})


@dataclass(frozen=True)
class Element:
    name: str
    attributes: dict[str, str | None]
    text: list[str] = field(default_factory=list)


class Page(HTMLParser):
    """Reads at once; `unclosed` and `stray` are empty where all is nested as it should be."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.stray: list[str] = []
        self.doctype = ""
        self._open: list[Element] = []
        self.feed(text)
        self.close()

    @property
    def unclosed(self) -> list[str]:
        return [each.name for each in self._open]

    def all(self, name: str) -> list[Element]:
        return [each for each in self.elements if each.name == name]

    def one(self, name: str) -> Element:
        (element,) = self.all(name)
        return element

    def value(self, name: str) -> str:
        """Return the value of an input."""
        (found,) = (each for each in self.all("input") if each.attributes.get("name") == name)
        return found.attributes["value"] or ""

    @override
    def handle_decl(self, decl: str) -> None:
        self.doctype = decl

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self.elements.append(element)
        if tag not in _VOID:
            self._open.append(element)

    @override
    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1].name == tag:
            self._open.pop()
        else:
            self.stray.append(tag)

    @override
    def handle_data(self, data: str) -> None:
        if self._open:
            self._open[-1].text.append(data)


def colours(style: str, *, dark: bool) -> dict[str, str]:
    """Return the colours of a style sheet by name, as they hold for light or dark."""
    light, _, rest = style.partition("@media (prefers-color-scheme: dark)")
    read = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", light))
    return read | dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", rest)) if dark else read


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours by WCAG 2."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
