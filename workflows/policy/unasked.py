"""When another message is due that nobody asked for; only a policy that says so has any."""

from dataclasses import dataclass
from datetime import datetime, timedelta

MOST = 50
"""How often one challenge asks by itself, granted or not: each time costs its history a dozen events."""


@dataclass(slots=True)
class Unasked:
    """Asks a period after the last message, and another period after a denial; moments are engine time."""

    after: timedelta | None
    asked: int = 0
    _not_before: datetime | None = None

    def due(self, last_at: datetime | None) -> datetime | None:
        """Return when to ask, given when the last message was asked for; None where that never comes."""
        if self.after is None or last_at is None or self.asked >= MOST:
            return None
        due = last_at + self.after
        return max(due, self._not_before or due)

    def ask(self) -> str:
        """Count one more, and name it: the same on every replay."""
        self.asked += 1
        return f"automatic:{self.asked}"

    def denied(self, now: datetime, again_at: datetime | None) -> None:
        """Wait for another period, or longer where the denial says so."""
        another = now + (self.after or timedelta())
        self._not_before = max(another, again_at or another)
