"""Lists that come in pages: one that comes again, or never ends, is no list."""

from dataclasses import dataclass, field
from typing import Final

from activities.providers.errors import ReadFailed

MOST: Final = 10_000
"""Pages of one list; at a hundred addresses a page it has a million."""


@dataclass(slots=True)
class Pages:
    """Remembers which pages were asked for."""

    _asked: set[str] = field(default_factory=set)

    def turn(self, page: str) -> str:
        """Return the name of the page to ask for next; raises ReadFailed for one too many, or one again."""
        if page in self._asked or len(self._asked) >= MOST:
            raise ReadFailed("its list does not end")
        self._asked.add(page)
        return page
