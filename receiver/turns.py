"""Who tries one challenge at the same time: a few, since a workflow has at most ten updates in hand."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

AT_ONCE: Final = 3
"""Of one process; several processes, each with its pages and its JSON, stay below the engine's ten."""


@dataclass(slots=True)
class _Line:
    """Those who are at one challenge, or wait for it."""

    places: asyncio.Semaphore
    length: int = 0


@dataclass(frozen=True, slots=True)
class Turns:
    """A line for each challenge that is being tried; none is kept once nobody stands in it."""

    at_once: int = AT_ONCE
    _lines: dict[str, _Line] = field(default_factory=dict)

    @asynccontextmanager
    async def of(self, challenge_id: str) -> AsyncIterator[None]:
        """Wait for a place, and hold it for the block."""
        line = self._lines.setdefault(challenge_id, _Line(asyncio.Semaphore(self.at_once)))
        line.length += 1
        try:
            async with line.places:
                yield
        finally:
            line.length -= 1
            if not line.length:
                del self._lines[challenge_id]

    def __len__(self) -> int:
        """Count the challenges that are being tried."""
        return len(self._lines)
