"""The engine's time inside an activity: the server's start time plus monotonic elapsed time.

Host clocks are never compared with deadlines, so that skew between hosts cannot send a notice late.
"""

import time
from datetime import datetime, timedelta

from temporalio import activity


class EngineClock:
    """Reads the engine's time (UTC) for one run of an activity."""

    def __init__(self) -> None:
        self._started = activity.info().started_time
        self._mark = time.monotonic()

    @property
    def elapsed(self) -> timedelta:
        """How long this run has taken."""
        return timedelta(seconds=time.monotonic() - self._mark)

    def now(self) -> datetime:
        """Return the engine's time now (UTC)."""
        return self._started + self.elapsed
