"""Who is at one challenge at the same time: a few who consume it, and one who guesses.

A workflow has at most ten updates in hand, and a row of the ledger is written by one at a time. Whoever
guesses where nothing can be guessed never gets as far as here.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

AT_ONCE: Final = 3
"""Of one process; several processes, each with its pages and its JSON, stay below the engine's ten."""


@dataclass(slots=True)
class Line:
    """Those who are at one challenge, or wait for it."""

    places: asyncio.Semaphore
    length: int = 0
    is_over: bool = False
    """What one of them has found out about the challenge: those behind need not ask again."""


@dataclass(frozen=True, slots=True)
class Turns:
    """A line for each challenge that somebody is at; none is kept once nobody stands in it."""

    at_once: int = AT_ONCE
    _lines: dict[str, Line] = field(default_factory=dict)

    @asynccontextmanager
    async def of(self, challenge_id: str) -> AsyncIterator[Line]:
        """Wait for a place, and hold it for the block."""
        line = self._lines.setdefault(challenge_id, Line(asyncio.Semaphore(self.at_once)))
        line.length += 1
        try:
            async with line.places:
                yield line
        finally:
            line.length -= 1
            if not line.length:
                del self._lines[challenge_id]

    def __len__(self) -> int:
        """Count the challenges that somebody is at."""
        return len(self._lines)
