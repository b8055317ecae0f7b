import asyncio
from datetime import timedelta

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store import rows
from activities.store.attempts import AttemptRow, Closed, Fresh, Settled, Standing
from activities.store.database import writing
from activities.store.engine import open_engine
from activities.store.errors import Conflict, Missing
from activities.store.ledger import Ledger
from activities.store.tables import attempts
from tests.store.facts import (
    EMAIL,
    EMAIL_HASH,
    KEY,
    NOW,
    SMS,
    Crash,
    CrashError,
    admit,
    after,
    claim,
    report,
)
from workflows.policy.keys import attempt_digest
from workflows.policy.models import Result
from workflows.policy.words import AttemptState, Channel, Outcome, Phase, Source, Status


async def test_one_of_many_claimers_gets_the_wire(url: str) -> None:
    engines = [await open_engine(url) for _ in range(3)]
    ledgers = [Ledger(engine) for engine in engines]
    await admit(ledgers[0])

    claims = await asyncio.gather(*[claim(ledger) for ledger in ledgers * 10])

    assert claims.count(Fresh(dispatch=1)) == 1
    assert claims.count(Standing("sandbox", NOW, NOW)) == len(claims) - 1
    for engine in engines:
        await engine.dispose()


async def test_a_claim_is_filed_as_ambiguous_before_the_wire(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger, at=after(seconds=1))

    assert await ledger.attempts.find(EMAIL) == AttemptRow(
        key=EMAIL,
        notice_key=KEY,
        channel=Channel.EMAIL,
        number=1,
        provider="sandbox",
        address_hash=EMAIL_HASH,
        state=AttemptState.AMBIGUOUS,
        dispatches=1,
        first_dispatched_at=after(seconds=1),
        last_dispatched_at=after(seconds=1),
        version=1,
    )
    story = await ledger.story(KEY)
    assert story is not None
    assert (story.phase, story.channel) == (Phase.CLAIMED, Channel.EMAIL)


@pytest.mark.parametrize("nth", [1, 2, 3, 4])
async def test_a_claim_that_dies_before_its_commit_was_never_made(
    engine: AsyncEngine, ledger: Ledger, nth: int
) -> None:
    await admit(ledger)
    with Crash(engine, nth), pytest.raises(CrashError):
        await claim(ledger)

    assert await ledger.attempts.find(EMAIL) is None
    assert await claim(ledger) == Fresh(dispatch=1)


async def test_a_claim_without_an_outcome_stands(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)

    assert await claim(ledger, at=after(minutes=1)) == Standing("sandbox", NOW, NOW)


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (Status.PENDING, AttemptState.SUBMITTED),
        (Status.DELIVERED, AttemptState.CONFIRMED),
        (Status.REJECTED, AttemptState.FAILED),
    ],
)
async def test_a_claim_with_an_outcome_returns_it(
    ledger: Ledger, status: Status, state: AttemptState
) -> None:
    await admit(ledger)
    await claim(ledger)
    is_final = status is not Status.PENDING
    await ledger.evidence.observe(report(status, is_final=is_final, source=Source.SEND), at=NOW)

    found = await claim(ledger)

    assert isinstance(found, Settled)
    assert (found.row.state, found.row.status, found.row.provider_id) == (state, status, "id-1")


async def test_a_claim_after_the_close_is_barred(ledger: Ledger) -> None:
    await admit(ledger)
    await ledger.notices.close(
        Result(key=KEY, outcome=Outcome.WITHDRAWN, rule="withdrawn", closed_at=NOW), (), at=NOW
    )

    assert await claim(ledger) == Closed(Outcome.WITHDRAWN)
    assert await ledger.attempts.find(EMAIL) is None


async def test_a_claim_for_a_notice_that_is_not_on_record_is_refused(ledger: Ledger) -> None:
    with pytest.raises(Missing, match=f"ledger: there is no notice {KEY}"):
        await claim(ledger)


async def test_a_released_claim_can_be_made_again_and_keeps_its_first_dispatch(ledger: Ledger) -> None:
    await admit(ledger)
    first = await claim(ledger)
    assert isinstance(first, Fresh)

    assert await ledger.attempts.release(EMAIL, first, note="HTTP 429")
    released = await ledger.attempts.find(EMAIL)
    again = await claim(ledger, at=after(seconds=5))

    assert released is not None
    assert (released.state, released.note) == (AttemptState.PLANNED, "HTTP 429")
    assert again == Fresh(dispatch=2)
    row = await ledger.attempts.find(EMAIL)
    assert row is not None
    assert (row.first_dispatched_at, row.last_dispatched_at) == (NOW, after(seconds=5))


async def test_a_claim_that_was_repeated_cannot_be_given_back_by_its_first_holder(ledger: Ledger) -> None:
    await admit(ledger)
    first = await claim(ledger)
    assert isinstance(first, Fresh)
    await ledger.attempts.repeat(EMAIL, at=after(seconds=30))

    assert not await ledger.attempts.release(EMAIL, first, note="HTTP 429")
    assert isinstance(await claim(ledger), Standing)


async def test_a_claim_that_was_reported_on_cannot_be_given_back(ledger: Ledger) -> None:
    await admit(ledger)
    first = await claim(ledger)
    assert isinstance(first, Fresh)
    await ledger.evidence.observe(report(Status.ACCEPTED, source=Source.CALLBACK), at=NOW)

    assert not await ledger.attempts.release(EMAIL, first, note="HTTP 429")
    assert isinstance(await claim(ledger), Settled)


async def test_a_repeat_counts_and_keeps_the_first_dispatch(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)

    assert await ledger.attempts.repeat(EMAIL, at=after(minutes=1))
    assert await claim(ledger) == Standing("sandbox", NOW, after(minutes=1))
    row = await ledger.attempts.find(EMAIL)
    assert row is not None
    assert row.dispatches == 2


async def test_a_settled_claim_is_not_repeated(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    await ledger.evidence.observe(report(Status.ACCEPTED), at=NOW)

    assert not await ledger.attempts.repeat(EMAIL, at=after(minutes=1))


async def test_a_claim_whose_notice_has_closed_is_not_repeated(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    await ledger.notices.close(
        Result(key=KEY, outcome=Outcome.UNKNOWN, rule="cutoff", closed_at=NOW), (), at=NOW
    )

    assert not await ledger.attempts.repeat(EMAIL, at=after(minutes=1))


async def test_only_a_claimed_attempt_can_be_repeated(ledger: Ledger) -> None:
    await admit(ledger)

    with pytest.raises(Missing, match=f"ledger: there is no attempt {EMAIL}"):
        await ledger.attempts.repeat(EMAIL, at=NOW)


async def test_a_doubt_says_why_there_is_no_result(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    await ledger.attempts.doubt(EMAIL, note="read timeout")

    story = await ledger.story(KEY)
    assert story is not None
    assert story.phase is Phase.AWAITING
    assert [(each.state, each.note) for each in story.attempts] == [(AttemptState.AMBIGUOUS, "read timeout")]


async def test_an_update_of_a_row_that_has_changed_since_is_refused(
    engine: AsyncEngine, ledger: Ledger
) -> None:
    await admit(ledger)
    await claim(ledger)
    stale = await ledger.attempts.find(EMAIL)
    assert stale is not None
    await ledger.attempts.repeat(EMAIL, at=NOW + timedelta(seconds=1))

    with pytest.raises(Conflict, match="trying again is safe"):
        async with writing(engine) as connection:
            await rows.change(connection, attempts, stale, state=AttemptState.PLANNED)

    assert isinstance(await claim(ledger), Standing)


async def test_the_channels_of_one_notice_are_claimed_apart(ledger: Ledger) -> None:
    await admit(ledger)

    assert await claim(ledger) == Fresh(dispatch=1)
    assert await claim(ledger, SMS) == Fresh(dispatch=1)
    story = await ledger.story(KEY)
    assert story is not None
    assert story.channel is Channel.SMS


async def test_a_claimer_that_is_cancelled_holds_no_lock(ledger: Ledger) -> None:
    await admit(ledger)
    for turns in range(12):
        claiming = asyncio.ensure_future(claim(ledger, SMS))
        for _ in range(turns):
            await asyncio.sleep(0)
        claiming.cancel()
        await asyncio.gather(claiming, return_exceptions=True)

    assert await asyncio.wait_for(claim(ledger), timeout=60) == Fresh(dispatch=1)


async def test_a_callback_finds_its_attempt_by_digest_or_by_the_providers_id(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    await ledger.evidence.observe(report(Status.PENDING, provider_id="p-7"), at=NOW)
    whose = ledger.attempts.whose

    assert await whose("sandbox", digest=attempt_digest(EMAIL), provider_id=None) == EMAIL
    assert await whose("sandbox", digest=None, provider_id="p-7") == EMAIL
    assert await whose("another", digest=attempt_digest(EMAIL), provider_id="p-7") is None
    assert await whose("sandbox", digest=attempt_digest(SMS), provider_id="p-7") == EMAIL
    assert await whose("another", "sandbox", digest=attempt_digest(EMAIL), provider_id=None) == EMAIL
    assert await whose("sandbox", digest=None, provider_id="p-8") is None
    assert await whose("sandbox", digest=None, provider_id=None) is None


async def test_an_id_that_two_attempts_share_names_neither(ledger: Ledger) -> None:
    await admit(ledger)
    for key in (EMAIL, SMS):
        await claim(ledger, key)
        await ledger.evidence.observe(report(Status.PENDING, key=key, provider_id="p-9"), at=NOW)

    assert await ledger.attempts.whose("sandbox", digest=None, provider_id="p-9") is None
