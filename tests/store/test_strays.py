"""Reports of nobody: kept aside once, counted, and never for ever."""

import asyncio
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.providers.base import Reported
from activities.store.database import new_engine, reading, writing
from activities.store.ledger import Ledger
from activities.store.notices import Terms
from activities.store.pruning import AT_ONCE
from activities.store.strays import KEPT, Aside
from activities.store.tables import strays
from tests.store.conftest import Server
from tests.store.facts import (
    DIGEST,
    EMAIL,
    EMAIL_HASH,
    EXPIRY,
    NOW,
    POLICY,
    SMS,
    admit,
    after,
    claim,
    report,
)
from workflows.policy.keys import attempt_key, attempted
from workflows.policy.models import NoticeRequest, Recipient
from workflows.policy.words import Channel, Source, Status, SuppressionReason

TOLD = Reported(
    Status.REJECTED,
    is_final=True,
    raw="blocked",
    code="5.7.1",
    provider_at=after(seconds=-5),
    opt_out=SuppressionReason.STOPPED,
)


async def aside(
    ledger: Ledger,
    event_id: str = "event-1",
    *,
    provider: str = "sandbox",
    provider_id: str | None = "id-1",
    at: datetime = NOW,
) -> bool:
    return await ledger.strays.put(provider, TOLD, provider_id=provider_id, event_id=event_id, at=at)


async def seen(engine: AsyncEngine) -> dict[str, int]:
    async with reading(engine) as connection:
        return {row[0]: row[1] for row in await connection.execute(select(strays.c.event_id, strays.c.seen))}


async def test_a_report_is_kept_aside_once_and_its_repetitions_are_counted(
    engine: AsyncEngine, ledger: Ledger
) -> None:
    assert [await aside(ledger, at=after(hours=n)) for n in range(3)] == [True, False, False]
    assert await aside(ledger, "event-2", provider_id=None)

    assert await seen(engine) == {"event-1": 3, "event-2": 1}


async def test_the_same_report_many_times_at_once_is_new_once(engine: AsyncEngine, ledger: Ledger) -> None:
    answers = await asyncio.gather(*[aside(ledger, provider_id=f"id-{n % 2}") for n in range(20)])

    assert answers.count(True) == 1
    assert await seen(engine) == {"event-1": 20}


async def test_events_of_two_providers_are_not_the_same(ledger: Ledger) -> None:
    assert await aside(ledger)
    assert await aside(ledger, provider="another")


async def test_they_are_counted_by_provider_and_since_they_came_last(ledger: Ledger) -> None:
    assert await ledger.strays.count() == {}
    for number in range(3):
        await aside(ledger, f"event-{number}", at=after(hours=number))
    await aside(ledger, provider="another")
    await aside(ledger, provider="another", at=after(hours=5))

    assert await ledger.strays.count() == {"sandbox": 3, "another": 1}
    assert await ledger.strays.count(after(hours=2)) == {"sandbox": 1, "another": 1}
    assert await ledger.strays.count(after(hours=6)) == {}


async def test_whoever_is_on_call_sees_how_many_and_for_how_long(ledger: Ledger) -> None:
    assert await ledger.strays.counted() == ()
    await aside(ledger, "event-1", at=after(hours=1))
    for hours in (0, 3, 2):
        await aside(ledger, "event-2", at=after(hours=hours, milliseconds=700))
    await aside(ledger, provider="another", provider_id=None, at=after(hours=5))

    assert await ledger.strays.counted() == (
        Aside(provider="another", reports=1, times=1, first_at=after(hours=5), last_at=after(hours=5)),
        Aside(
            provider="sandbox",
            reports=2,
            times=4,
            first_at=NOW,
            last_at=after(hours=2, milliseconds=700),
        ),
    )


async def test_what_is_read_of_strays_holds_nothing_of_them_and_leaves_them(
    engine: AsyncEngine, ledger: Ledger
) -> None:
    await aside(ledger)
    (line,) = await ledger.strays.counted()

    assert "id-1" not in f"{line!r}"
    assert "event-1" not in f"{line!r}"
    assert await ledger.strays.counted() == (line,)
    assert await seen(engine) == {"event-1": 1}


async def test_one_goes_when_it_did_not_come_for_seven_days(engine: AsyncEngine, ledger: Ledger) -> None:
    assert timedelta(days=7) == KEPT
    await aside(ledger, "old")
    await aside(ledger, "again")
    await aside(ledger, "again", at=after(days=1))

    await aside(ledger, "new", at=NOW + KEPT)
    assert await seen(engine) == {"old": 1, "again": 2, "new": 1}

    await aside(ledger, "newer", at=NOW + KEPT + timedelta(microseconds=1))
    assert await seen(engine) == {"again": 2, "new": 1, "newer": 1}


async def test_many_old_ones_go_a_share_at_a_time(engine: AsyncEngine, ledger: Ledger) -> None:
    for number in range(AT_ONCE + 5):
        await aside(ledger, f"event-{number}", provider_id=None, at=after(seconds=number))

    await aside(ledger, "later", at=after(days=8))
    assert set(await seen(engine)) == {*(f"event-{AT_ONCE + n}" for n in range(5)), "later"}
    await aside(ledger, "later", at=after(days=8))
    assert await seen(engine) == {"later": 2}


async def test_who_clears_away_waits_for_nobody(databases_of_postgres: Server) -> None:
    """Two that waited for each other's rows would be a deadlock; SQLite has one writer."""
    engine = new_engine(await databases_of_postgres.migrated())
    ledger = Ledger(engine)
    for name in ("held", "free"):
        await aside(ledger, name, provider_id=name)

    async with writing(engine) as other:
        await other.execute(update(strays).where(strays.c.event_id == "held").values(seen=9))
        async with asyncio.timeout(60):
            await aside(ledger, "new", at=after(days=8))

    assert await seen(engine) == {"held": 9, "new": 1}
    await engine.dispose()


async def test_nothing_is_kept_aside_where_an_attempt_has_that_id_by_now(
    engine: AsyncEngine, ledger: Ledger
) -> None:
    await admit(ledger)
    await claim(ledger)
    await ledger.evidence.observe(report(Status.PENDING, source=Source.SEND), at=NOW)

    assert not await aside(ledger)
    assert await aside(ledger, provider="another")
    assert await aside(ledger, provider_id="id-2", event_id="event-2")
    assert await seen(engine) == {"event-1": 1, "event-2": 1}


async def test_an_id_that_two_attempts_share_is_kept_aside(ledger: Ledger) -> None:
    await admit(ledger)
    for key in (EMAIL, SMS):
        await claim(ledger, key)
        await ledger.evidence.observe(report(Status.PENDING, key=key), at=NOW)

    assert await aside(ledger)


async def test_what_was_kept_aside_comes_back_whole(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    await aside(ledger, at=after(seconds=1))

    await ledger.evidence.observe(report(Status.PENDING, source=Source.SEND), at=after(seconds=2))

    story = await ledger.story(attempted(EMAIL).notice_key)
    assert story is not None
    back = story.observations[1]
    assert {name: getattr(back, name) for name in ("status", "is_final", "raw", "code", "opt_out")} == {
        name: getattr(TOLD, name) for name in ("status", "is_final", "raw", "code", "opt_out")
    }
    assert (back.at, back.provider_at, back.provider_id) == (after(seconds=1), TOLD.provider_at, "id-1")


@pytest.mark.parametrize("turn", range(3))
async def test_a_report_and_the_receipt_that_it_races_never_miss_each_other(
    ledgers: tuple[Ledger, Ledger], turn: int
) -> None:
    """Either the receipt adopts it, or whoever brought it is sent to ask again whose it is."""
    first, second = ledgers
    keys = [await _claimed(first, f"event-{turn}-{n}") for n in range(12)]

    async def race(n: int, key: str) -> bool:
        sent = report(Status.PENDING, key=key, source=Source.SEND, provider_id=f"p-{n}")
        putting = aside(second, f"stray-{n}", provider_id=f"p-{n}")
        observing = first.evidence.observe(sent, at=NOW)
        kept, _ = await asyncio.gather(putting, observing)
        return await first.evidence.known(key, f"stray-{n}") is bool(kept)

    assert await asyncio.gather(*[race(n, key) for n, key in enumerate(keys)]) == [True] * 12
    assert await first.strays.count() == {}


async def _claimed(ledger: Ledger, event_id: str) -> str:
    request = NoticeRequest(kind="password_reset", event_id=event_id, recipient=Recipient(id="user-1"))
    await ledger.notices.admit(request, Terms(POLICY, DIGEST, EXPIRY, "run-1"), at=NOW)
    key = attempt_key(request.key, Channel.EMAIL)
    await ledger.attempts.claim(key, provider="sandbox", address_hash=EMAIL_HASH, at=NOW)
    return key
