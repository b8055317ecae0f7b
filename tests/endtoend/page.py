"""HTML as a browser takes it apart: which elements there are, and which words are in them."""

from html.parser import HTMLParser
from typing import NamedTuple

from typing_extensions import override


class Element(NamedTuple):
    """A start tag, and the names of its attributes."""

    tag: str
    attributes: tuple[str, ...]


class Page(HTMLParser):
    """One document."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self.links: list[str] = []
        self.frames: dict[str, str] = {}
        """The documents in its frames, by the definitions (`dd`) that stand before them."""
        self.words: list[str] = []
        self._defined: list[str] = []
        self._in: str = ""
        self.feed(html)
        self.close()

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self._in = tag
        self.elements.append(Element(tag, tuple(values)))
        if tag == "a":
            self.links.append(values.get("href") or "")
        if tag == "article":
            self._defined.clear()
        if tag == "iframe":
            self.frames |= dict.fromkeys(self._defined, values.get("srcdoc") or "")

    @override
    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    @override
    def handle_data(self, data: str) -> None:
        if data.strip():
            self.words.append(data)
        if self._in == "dd":
            self._defined.append(data)
