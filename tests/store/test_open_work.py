"""What is open, counted on both databases by the time that is left."""

from datetime import datetime, timedelta

import pytest

from activities.store.attempts import Fresh
from activities.store.ledger import Ledger
from activities.store.open_work import OpenWork
from tests.store.challenge_facts import EXPIRES, challenge, claimed, opened
from tests.store.facts import EMAIL, EXPIRY, KEY, NOW, SMS, admit, after, claim, report
from workflows.policy.models import Result
from workflows.policy.plan import Rule
from workflows.policy.words import Outcome, Status

KIND = "password_reset"


async def counted(ledger: Ledger, at: datetime = NOW) -> OpenWork:
    return await ledger.open_work("observe", at=at)


async def test_nothing_is_open_in_an_empty_ledger(ledger: Ledger) -> None:
    assert await counted(ledger) == OpenWork(NOW, {}, None, 0, 0, {}, 0)


@pytest.mark.parametrize(
    ("gap", "left"),
    [
        (timedelta(), "past"),
        (timedelta(microseconds=1), "1m"),
        (timedelta(minutes=1), "1m"),
        (timedelta(minutes=5), "5m"),
        (timedelta(minutes=10), "15m"),
        (timedelta(minutes=16), "1h"),
        (timedelta(hours=1, microseconds=1), "more"),
    ],
)
async def test_an_open_notice_counts_by_the_time_that_is_left(
    ledger: Ledger, gap: timedelta, left: str
) -> None:
    await admit(ledger)

    assert (await counted(ledger, EXPIRY - gap)).notices == {(KIND, "queued", left): 1}


async def test_a_notice_that_has_closed_counts_nowhere(ledger: Ledger) -> None:
    await admit(ledger)
    result = Result(key=KEY, outcome=Outcome.EXPIRED, rule=Rule.EXPIRED, closed_at=NOW)
    await ledger.notices.close(result, (), at=NOW)

    assert await counted(ledger, after(days=1)) == OpenWork(after(days=1), {}, None, 0, 0, {}, 0)


async def test_the_oldest_step_that_is_due_is_told_and_none_that_lies_ahead(ledger: Ledger) -> None:
    await admit(ledger)
    await ledger.notices.set_next(KEY, after(minutes=1))

    assert (await counted(ledger, after(seconds=59))).oldest_due is None
    assert (await counted(ledger, after(minutes=2))).oldest_due == after(minutes=1)


async def test_a_step_that_is_at_work_does_not_wait_however_long_its_provider_takes_nothing(
    ledger: Ledger,
) -> None:
    await admit(ledger)
    claimed_now = await claim(ledger)
    assert isinstance(claimed_now, Fresh)
    await ledger.attempts.release(EMAIL, claimed_now, note="HTTP 503")

    assert (await counted(ledger, after(minutes=5))).oldest_due is None


async def test_a_claim_counts_until_a_provider_has_named_it(ledger: Ledger) -> None:
    await admit(ledger)
    before = (await counted(ledger)).claimed_without_id
    await claim(ledger)
    while_it_is_out = (await counted(ledger)).claimed_without_id
    await ledger.evidence.observe(report(Status.PENDING), at=NOW)

    assert (before, while_it_is_out, (await counted(ledger)).claimed_without_id) == (0, 1, 0)


async def test_a_notice_is_past_its_fallback_until_something_follows(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    await ledger.evidence.observe(report(Status.PENDING), at=NOW)
    late = EXPIRY - timedelta(seconds=1)

    assert (await counted(ledger, after(seconds=1))).past_fallback == 0
    assert (await counted(ledger, late)).past_fallback == 1
    await claim(ledger, SMS, at=late)
    assert (await counted(ledger, late)).past_fallback == 0


@pytest.mark.parametrize(
    ("status", "evidence"),
    [
        (None, "none"),
        (Status.PENDING, "none"),
        (Status.ACCEPTED, "accepted"),
        (Status.DELIVERED, "delivered"),
    ],
)
async def test_a_challenge_counts_by_the_best_that_is_known_of_its_messages(
    ledger: Ledger, status: Status | None, evidence: str
) -> None:
    await opened(ledger)
    if status is not None:
        key = await claimed(ledger)
        await ledger.evidence.observe(report(status, key=key), at=NOW)

    left = (await counted(ledger, EXPIRES - timedelta(minutes=3))).challenges

    assert left == {(challenge().kind, "5m", evidence): 1}
