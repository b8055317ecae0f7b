"""Log lines about what strangers can repeat at will: each at most once a minute, with a count."""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from activities.logs import Fact, event

PAUSE: Final = timedelta(minutes=1)

MOST: Final = 256
"""Lines that are remembered; their facts are ours, so that there are few."""


@dataclass(frozen=True, slots=True)
class Seldom:
    """Says a thing when it happens first, and then no more often than once a minute."""

    pause: timedelta = PAUSE
    clock: Callable[[], float] = time.monotonic
    _said: dict[Hashable, float] = field(default_factory=dict)
    _kept: dict[Hashable, int] = field(default_factory=dict)

    def event(self, name: str, *, level: int, **facts: Fact) -> None:
        """Log that something happened; `times` counts it since it was last said."""
        line, now = (name, *sorted(facts.items())), self.clock()
        times = self._kept.pop(line, 0) + 1
        if line in self._said and now - self._said[line] < self.pause.total_seconds():
            self._kept[line] = times
            return
        if len(self._said) >= MOST:
            self._said.clear()
            self._kept.clear()
        self._said[line] = now
        event(name, level=level, **facts, times=times)
