"""One thing on record beside what today's code makes of it."""

from datetime import datetime
from enum import StrEnum
from typing import Final

from workflows.policy.recorded import Recorded

UNREADABLE: Final = "cannot be computed"


class Item(StrEnum):
    """What is compared."""

    DECISION = "decision"
    CHECK = "check"
    REPORT = "report"
    ATTEMPT = "attempt"


class Compared(Recorded):
    """What is on record, what today's code says, and where the two differ."""

    item: Item
    """What it is."""
    of: str
    """Which one: the run and the number of a decision, an attempt's key, or that and the id of a report."""
    channel: str | None = None
    """The channel that it is about."""
    at: datetime
    """When it was decided, answered, learned or settled (UTC)."""
    recorded: str
    """What is on record."""
    today: str
    """What today's code makes of the same."""
    same: bool
    """Whether the two agree."""
    because: str | None = None
    """Why they do not."""
    not_on_record: tuple[str, ...] = ()
    """What had to be believed: no record holds it."""

    @property
    def verdict(self) -> str:
        """Say it in one line."""
        if self.same:
            return "same"
        return f"different: recorded {self.recorded}, today {self.today} because {self.because}"
