"""Where a field may stand in HTML: places that escaping makes safe, and no others.

Escaping keeps a value inside text and inside a double-quoted attribute, and nowhere else. So an HTML
template is parsed once at load with a marker in the place of every tag; a tag whose marker does not turn
up in such a place is refused. A section must close where it opened: then the markup stays whole whether
the section is left out, written once or repeated, and this one reading holds for all data.
"""

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Final

from typing_extensions import override

from activities.tags import Tag, TemplateError

LINKS: Final = ("href", "src")
"""Attributes that hold nothing but one `*_url` field, which is checked to be a web link."""
WORDS: Final = ("alt", "aria-label", "datetime", "dir", "lang", "title")
"""Attributes that are read and never run, fetched or applied."""

_FOREIGN = re.compile(
    "base|embed|iframe|math|noembed|noframes|noscript|object|plaintext|script|svg|template|textarea|xmp",
)
"""Mail clients strip them, and a parser reads what is inside by other rules."""

_CONDITION = re.compile(r"<!\[(?:if\b[^\[\]<>]*|else|endif)\]>", re.IGNORECASE)
"""What Outlook hides or shows; browsers end any other `<![` elsewhere than the parser, or it raises."""

_ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""")
_ALLOWED = f"a field belongs in text, or in a double-quoted {', '.join(WORDS + LINKS)}"


def check(text: str, tags: Sequence[Tag], sections: Sequence[tuple[Tag, Tag]], source: str) -> None:
    """Raise TemplateError for the first tag that stands where escaping would not hold its value."""
    word = _unused(text, tags)
    reader = _Reader(word, tags, source)
    reader.read(_mark(text, tags, word))
    for tag in tags:
        if tag.sigil != "!" and tag not in reader.places:
            raise TemplateError(source, tag.line, f"{tag} stands inside the markup itself: {_ALLOWED}")
    for opening, closing in sections:
        if reader.places[opening] != reader.places[closing]:
            raise TemplateError(
                source, opening.line, f"{opening} must close where it opens, in text or in one value"
            )


def _unused(text: str, tags: Sequence[Tag]) -> str:
    """Return a marker that the template does not contain; letters, so that it may pass for a name."""
    edges = [0, *(edge for tag in tags for edge in (tag.start, tag.end)), len(text)]
    # Less its tags: where a comment is taken out, what stood around it may make a word.
    written = "".join(text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
    word = "qz"
    while word in written:
        word = f"q{word}"
    return word


def _mark(text: str, tags: Sequence[Tag], word: str) -> str:
    """Put a marker in the place of every tag; lines stay where they are."""
    pieces, last = [], 0
    for number, tag in enumerate(tags):
        blank = "\n" * text.count("\n", tag.start, tag.end)
        pieces += [text[last : tag.start], blank if tag.sigil == "!" else f"{word}{number}z"]
        last = tag.end
    return "".join([*pieces, text[last:]])


class _Reader(HTMLParser):
    """Notes the place of every marker."""

    def __init__(self, word: str, tags: Sequence[Tag], source: str) -> None:
        # Character references stay as written, so that a `<` in text is a mistake and `&lt;` is not.
        super().__init__(convert_charrefs=False)
        self.places: dict[Tag, str] = {}
        self._word, self._tags, self._source = word, tags, source
        self._in_style = False

    def read(self, marked: str) -> None:
        """Parse all of it; what never closes is refused too."""
        self.feed(marked)
        self.close()

    @override
    def parse_html_declaration(self, i: int) -> int:
        if not self.rawdata.startswith("<![", i):
            return super().parse_html_declaration(i)
        condition = _CONDITION.match(self.rawdata, i)
        if condition is None:
            raise TemplateError(
                self._source,
                self.getpos()[0],
                "<![ begins nothing but <![if ...]>, <![else]> or <![endif]>",
            )
        return condition.end()

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if _FOREIGN.fullmatch(tag):
            raise TemplateError(self._source, self.getpos()[0], f"<{tag}> has no place in an email")
        self._in_style = tag == "style"
        for found in _ATTRIBUTE.finditer(self.get_starttag_text() or ""):
            self._attribute(found[1].lower(), found[2], f"{self.getpos()} {found.start()}")

    @override
    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    @override
    def handle_data(self, data: str) -> None:
        for tag in self._found(data):
            if self._in_style:
                raise TemplateError(self._source, tag.line, f"{tag} stands in <style>: {_ALLOWED}")
            self.places[tag] = "text"
        if "<" in data and not self._in_style:
            line = self.getpos()[0] + data.count("\n", 0, data.index("<"))
            raise TemplateError(self._source, line, "an element that never closes, or a bare <: write &lt;")

    @override
    def handle_comment(self, data: str) -> None:
        for tag in self._found(data):
            raise TemplateError(self._source, tag.line, f"{tag} stands in a comment: {_ALLOWED}")

    def _attribute(self, name: str, value: str, place: str) -> None:
        alone = re.fullmatch(rf'"{self._word}\d+z"', value) is not None
        for tag in self._found(value):
            problem = _objection(tag, name, quoted=value.startswith('"'), alone=alone)
            if problem:
                raise TemplateError(self._source, tag.line, problem)
            self.places[tag] = place

    def _found(self, marked: str) -> list[Tag]:
        return [self._tags[int(number)] for number in re.findall(rf"{self._word}(\d+)z", marked)]


def _objection(tag: Tag, name: str, *, quoted: bool, alone: bool) -> str | None:
    if name not in WORDS + LINKS:
        return f"{tag} stands in {name}: {_ALLOWED}"
    if not quoted:
        return f"{tag} stands in {name} without double quotes"
    if name in LINKS and (tag.sigil or not alone):
        return f"{tag} must be all that {name} holds"
    if name in LINKS and not tag.name.endswith("_url"):
        return f"{tag} stands in {name}: the field of a link is named *_url"
    return None
