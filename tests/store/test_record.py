from datetime import datetime, timedelta, timezone

import pytest
from sqlalchemy import text
from sqlalchemy.exc import StatementError
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store.attempts import Fresh
from activities.store.database import writing
from activities.store.errors import StoreError
from activities.store.ledger import Ledger
from tests.store.facts import EMAIL, KEY, NOW, admit, claim, report
from workflows.policy.words import Status, Verdict


@pytest.mark.parametrize("change", ["UPDATE observations SET verdict = 'late'", "DELETE FROM observations"])
async def test_the_database_refuses_to_change_a_report(
    engine: AsyncEngine, ledger: Ledger, change: str
) -> None:
    await admit(ledger)
    await claim(ledger)
    await ledger.evidence.observe(report(Status.PENDING), at=NOW)

    with pytest.raises(StoreError, match="refused a statement"):
        async with writing(engine) as connection:
            await connection.execute(text(change))

    story = await ledger.story(KEY)
    assert story is not None
    assert [each.verdict for each in story.observations] == [Verdict.APPLIED]


async def test_times_come_back_as_the_same_instants_in_utc(ledger: Ledger) -> None:
    tokyo = datetime(2026, 3, 1, 21, 0, 0, 123456, tzinfo=timezone(timedelta(hours=9)))
    await admit(ledger)
    assert isinstance(await claim(ledger, at=tokyo), Fresh)

    row = await ledger.attempts.find(EMAIL)

    assert row is not None
    assert row.first_dispatched_at == tokyo
    assert row.first_dispatched_at.isoformat() == "2026-03-01T12:00:00.123456+00:00"


async def test_a_time_without_a_zone_is_refused(ledger: Ledger) -> None:
    await admit(ledger)

    with pytest.raises(StatementError, match="must have a time zone"):
        await claim(ledger, at=NOW.replace(tzinfo=None))
