"""The gauges say what the ledger says, nothing of what is gone, and when they were read."""

import asyncio
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncEngine
from typing_extensions import override

from activities.metrics import NOTHING
from activities.open_work import Gauges, gauged, show
from activities.store.errors import Unreachable
from activities.store.ledger import Ledger
from activities.store.open_work import OpenWork
from tests.activities.counted import Counted
from tests.activities.given import NOW, admitted, after

NOTHING_OPEN = OpenWork(NOW, {}, None, 0, 0, {}, 0)
NONE_WAITING = {
    "oldest_due_seconds": 0.0,
    "past_fallback_notices": 0,
    "claimed_without_id": 0,
    "strays": 0,
    "ledger_snapshot_timestamp_seconds": NOW.timestamp(),
}


def waiting(counted: Counted) -> dict[str, float]:
    """Return what was counted, without label sets that other tests have left at nothing."""
    return {name: number for name, number in counted.read().items() if number or "{" not in name}


def test_where_nothing_is_open_every_gauge_says_so(counted: Counted) -> None:
    show(NOTHING_OPEN, counted.meters)

    assert waiting(counted) == NONE_WAITING


def test_what_is_open_is_shown_and_set_to_nothing_when_it_is_gone(counted: Counted) -> None:
    work = OpenWork(
        at=NOW,
        notices={("password_reset", "awaiting", "5m"): 3},
        oldest_due=after(seconds=-42),
        past_fallback=1,
        claimed_without_id=2,
        challenges={("signup_verification", "1m", "none"): 4},
        strays=5,
    )
    notices = "open_notices{kind=password_reset,left=5m,phase=awaiting}"
    challenges = "open_challenges{evidence=none,kind=signup_verification,left=1m}"

    show(work, counted.meters)
    shown = dict(counted.read())
    show(NOTHING_OPEN, counted.meters)

    assert shown == NONE_WAITING | {
        notices: 3,
        challenges: 4,
        "oldest_due_seconds": 42.0,
        "past_fallback_notices": 1,
        "claimed_without_id": 2,
        "strays": 5,
    }
    assert counted.read() == NONE_WAITING | {notices: 0, challenges: 0}


async def test_the_ledger_is_read_for_them(ledger: Ledger, counted: Counted) -> None:
    asked = await admitted(ledger)

    await Gauges(ledger, counted.meters, lambda: after(seconds=30)).refresh()

    shown = counted.read()
    assert sum(number for name, number in shown.items() if name.startswith("open_notices")) == 1
    assert any(f"kind={asked.kind}," in name for name in shown)
    assert shown["oldest_due_seconds"] == timedelta(seconds=30).total_seconds()


class Away(Ledger):
    """A ledger that cannot be reached the first time."""

    def __init__(self, engine: AsyncEngine) -> None:
        super().__init__(engine)
        self.asked = 0
        self.answered = asyncio.Event()

    @override
    async def open_work(self, observer: str, *, at: datetime) -> OpenWork:
        self.asked += 1
        if self.asked == 1:
            raise Unreachable("ledger: away")
        self.answered.set()
        return NOTHING_OPEN


async def test_while_the_ledger_is_away_the_time_of_the_snapshot_stands_still(
    ledger: Ledger, counted: Counted
) -> None:
    away = Away(ledger._engine)
    keeping = asyncio.ensure_future(Gauges(away, counted.meters, lambda: NOW, every=timedelta()).run())
    await away.answered.wait()
    await asyncio.sleep(0)
    keeping.cancel()
    await asyncio.wait([keeping])

    assert waiting(counted) == NONE_WAITING


async def test_where_nobody_reads_them_nothing_is_asked(ledger: Ledger) -> None:
    away = Away(ledger._engine)
    async with gauged(away, NOTHING, lambda: NOW):
        await asyncio.sleep(0)

    assert away.asked == 0
