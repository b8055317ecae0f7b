"""Failures take the same time, whatever their reason: each is answered at the next full quantum.

An unknown id is found out in a millisecond, a wrong code in ten, since it is put on record: without
this, a clock would tell them apart. Success is answered at once, since its answer says that it is one.

The time counts from when a request is whole. From its first byte on, whoever sends the rest slowly would
choose how far the next full quantum is, and so which reasons fit before it and which do not.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from workflows.policy.verification import Consumption

QUANTUM: Final = timedelta(seconds=1)
"""Far more than a healthy ledger needs, little to a person who mistyped."""


@dataclass(frozen=True, slots=True)
class Evenly:
    """Answers tries at a secret; clock and sleep count seconds, and tests bring their own."""

    quantum: timedelta = QUANTUM
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def answer(self, trying: Awaitable[Consumption]) -> Consumption:
        """Return what came of a try, or raise what went wrong with it: neither before its time."""
        arrived = self.clock()
        try:
            tried = await trying
        except Exception:
            await self._wait(arrived)
            raise
        if not tried.consumed:
            await self._wait(arrived)
        return tried

    async def _wait(self, arrived: float) -> None:
        quantum = self.quantum.total_seconds()
        passed = self.clock() - arrived
        await self.sleep(max(1, math.ceil(passed / quantum)) * quantum - passed)
