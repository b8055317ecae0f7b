"""What the ledger says is open, as gauges: read now and then, in the one process that has the time for it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from logging import WARNING
from typing import Final

from activities.logs import event
from activities.metrics import Meters
from activities.observing import OBSERVER
from activities.store.errors import StoreError
from activities.store.ledger import Ledger
from activities.store.open_work import OpenWork

EVERY: Final = timedelta(seconds=15)
"""As often as Prometheus comes by itself."""


@dataclass(frozen=True, slots=True)
class Gauges:
    """Keeps the gauges as the ledger has it."""

    ledger: Ledger
    meters: Meters
    clock: Callable[[], datetime]
    """The host's (UTC): what is late is late for people."""
    every: timedelta = EVERY

    async def refresh(self) -> None:
        """Read the ledger once; raises StoreError, and leaves the gauges as they were."""
        show(await self.ledger.open_work(OBSERVER, at=self.clock()), self.meters)

    async def run(self) -> None:
        """Refresh until cancelled; while nothing can be read, the snapshot's time says how old they are."""
        while True:
            try:
                await self.refresh()
            except StoreError as error:
                event("open work not counted", level=WARNING, why=str(error))
            except Exception as error:  # noqa: BLE001 - whatever it is, the next time may be better
                event("open work not counted", level=WARNING, why=type(error).__name__)
            await asyncio.sleep(self.every.total_seconds())


def show(work: OpenWork, meters: Meters) -> None:
    """Set every gauge, and to 0 what was there and is no more."""
    for gauge, counted in ((meters.open_notices, work.notices), (meters.open_challenges, work.challenges)):
        for words, number in counted.items():
            gauge.set(number, *words)
        gauge.vanished(counted)
    late = timedelta() if work.oldest_due is None else work.at - work.oldest_due
    meters.oldest_due.set(late.total_seconds())
    meters.past_fallback.set(work.past_fallback)
    meters.claimed_without_id.set(work.claimed_without_id)
    meters.strays.set(work.strays)
    meters.snapshot_at.set(work.at.timestamp())


@asynccontextmanager
async def gauged(ledger: Ledger, meters: Meters, clock: Callable[[], datetime]) -> AsyncIterator[None]:
    """Keep the gauges for the block, if anybody can read them."""
    keeping = asyncio.create_task(Gauges(ledger, meters, clock).run()) if meters.is_on else None
    try:
        yield
    finally:
        if keeping is not None:
            keeping.cancel()
            await asyncio.wait([keeping])
