import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store.attempts import AttemptRow, Fresh
from activities.store.database import writing
from activities.store.engine import open_engine
from activities.store.errors import Missing, StoreError
from activities.store.filings import Ending
from activities.store.ledger import Ledger
from activities.store.notices import Admitted, Terms
from activities.store.records import Story
from tests.store.facts import (
    DIGEST,
    EMAIL,
    EXPIRY,
    KEY,
    NOW,
    POLICY,
    REQUEST,
    SMS,
    Crash,
    CrashError,
    admit,
    after,
    claim,
    report,
)
from workflows.policy.models import Result
from workflows.policy.progress import Attempt, Progress
from workflows.policy.words import AttemptState, Channel, Outcome, Phase, Status

DELIVERED = Result(
    key=KEY, outcome=Outcome.DELIVERED, channel=Channel.EMAIL, rule="settled", closed_at=after(minutes=1)
)
UNKNOWN = Result(key=KEY, outcome=Outcome.UNKNOWN, rule="cutoff", closed_at=after(minutes=9))


async def told(ledger: Ledger) -> Story:
    story = await ledger.story(KEY)
    assert story is not None
    return story


async def states(ledger: Ledger) -> dict[str, AttemptState]:
    return {each.key: each.state for each in (await told(ledger)).attempts}


def workflow_attempts(**states: AttemptState) -> tuple[Attempt, ...]:
    progress = Progress.begin(KEY, POLICY.route, EXPIRY)
    return tuple(
        each.model_copy(update={"state": states.get(each.channel, each.state)}) for each in progress.attempts
    )


async def test_an_admitted_notice_is_on_record_with_its_authorising_event(ledger: Ledger) -> None:
    assert await admit(ledger) is Admitted.FRESH

    notice = (await told(ledger)).notice
    assert (notice.kind, notice.event_id, notice.recipient_id) == ("password_reset", "reset%201", "user-1")
    assert (notice.occurred_at, notice.created_at, notice.next_at) == (REQUEST.occurred_at, NOW, NOW)
    assert (notice.phase, notice.route, notice.policy_digest) == (Phase.QUEUED, POLICY.route, DIGEST)


async def test_the_same_workflow_may_ask_again_and_another_may_not(ledger: Ledger) -> None:
    await admit(ledger, chain="run-1")

    assert await admit(ledger, chain="run-1", at=after(minutes=2)) is Admitted.SAME
    assert await admit(ledger, chain="run-2", at=after(days=90)) is Admitted.DUPLICATE
    assert (await told(ledger)).notice.created_at == NOW


async def test_a_finished_notice_stays_a_duplicate_for_ever(ledger: Ledger) -> None:
    await admit(ledger, chain="run-1")
    await ledger.notices.close(DELIVERED, (), at=NOW)

    assert await admit(ledger, chain="run-2", at=after(days=3650)) is Admitted.DUPLICATE


async def test_one_of_many_workflows_that_race_is_admitted(url: str) -> None:
    engines = [await open_engine(url) for _ in range(2)]
    ledgers = [Ledger(engine) for engine in engines]

    answers = await asyncio.gather(
        *[admit(ledger, chain=f"run-{number}") for number, ledger in enumerate(ledgers * 10)]
    )

    assert answers.count(Admitted.FRESH) == 1
    assert answers.count(Admitted.DUPLICATE) == 19
    for engine in engines:
        await engine.dispose()


async def test_the_first_terms_hold_whatever_the_files_say_since(ledger: Ledger) -> None:
    await admit(ledger)
    shorter = POLICY.model_copy(update={"min_useful": timedelta(seconds=1)})

    assert await admit(ledger, policy=shorter, digest="digest-2") is Admitted.SAME
    assert await ledger.notices.terms(KEY) == Terms(POLICY, DIGEST, EXPIRY, "run-1")


async def test_a_notice_that_is_not_on_record_has_no_terms(ledger: Ledger) -> None:
    assert await ledger.notices.terms(KEY) is None


async def test_closing_gives_every_open_attempt_its_last_state(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    await claim(ledger, SMS)
    await ledger.evidence.observe(report(Status.ACCEPTED, key=SMS), at=NOW)
    accepted = Result(
        key=KEY, outcome=Outcome.ACCEPTED, channel=Channel.SMS, rule="settled", closed_at=after(minutes=1)
    )

    ended = await ledger.notices.close(accepted, (), at=after(minutes=1))

    assert ended.outcome is Outcome.ACCEPTED

    assert await states(ledger) == {EMAIL: AttemptState.UNKNOWN, SMS: AttemptState.CONFIRMED}
    story = await told(ledger)
    assert (story.phase, story.outcome, story.channel) == (Phase.CLOSED, Outcome.ACCEPTED, Channel.SMS)
    assert (story.next_at, story.notice.closed_at) == (None, after(minutes=1))
    assert {each.settled_at for each in story.attempts} == {after(minutes=1)}


@pytest.mark.parametrize(
    ("reported", "workflow", "last"),
    [
        (None, AttemptState.AMBIGUOUS, AttemptState.UNKNOWN),
        (None, AttemptState.UNKNOWN, AttemptState.UNKNOWN),
        (None, AttemptState.PLANNED, AttemptState.UNKNOWN),
        (None, AttemptState.FAILED, AttemptState.FAILED),
        (Status.ACCEPTED, AttemptState.UNKNOWN, AttemptState.UNKNOWN),
        (Status.REJECTED, AttemptState.UNKNOWN, AttemptState.FAILED),
        (Status.DELIVERED, AttemptState.FAILED, AttemptState.CONFIRMED),
    ],
)
async def test_a_claimed_attempt_closes_as_its_own_evidence_says_then_as_the_workflow_does(
    ledger: Ledger, reported: Status | None, workflow: AttemptState, last: AttemptState
) -> None:
    await admit(ledger)
    await claim(ledger)
    if reported is not None:
        await ledger.evidence.observe(report(reported, is_final=reported is not Status.ACCEPTED), at=NOW)

    await ledger.notices.close(UNKNOWN, workflow_attempts(email=workflow), at=after(minutes=9))

    assert await states(ledger) == {EMAIL: last}


async def test_what_was_never_claimed_leaves_no_attempt_whatever_the_workflow_had_to_assume(
    ledger: Ledger,
) -> None:
    await admit(ledger)

    await ledger.notices.close(UNKNOWN, workflow_attempts(email=AttemptState.UNKNOWN), at=after(minutes=9))

    assert (await told(ledger)).attempts == ()


async def test_an_attempt_that_was_given_back_each_time_has_failed_whatever_the_workflow_had_to_assume(
    ledger: Ledger,
) -> None:
    await admit(ledger)
    fresh = await claim(ledger)
    assert isinstance(fresh, Fresh)
    await ledger.attempts.release(EMAIL, fresh, note="HTTP 503, not accepted")

    await ledger.notices.close(UNKNOWN, workflow_attempts(email=AttemptState.UNKNOWN), at=after(minutes=9))

    assert await states(ledger) == {EMAIL: AttemptState.FAILED}


async def test_the_first_outcome_stays(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    await ledger.notices.close(UNKNOWN, (), at=after(minutes=9))
    before = await told(ledger)

    assert await ledger.notices.close(DELIVERED, (), at=after(minutes=20)) == Ending(Outcome.UNKNOWN)
    assert await told(ledger) == before


async def test_one_of_many_that_close_at_once_names_the_outcome(ledger: Ledger) -> None:
    await admit(ledger)

    stood = await asyncio.gather(
        *[ledger.notices.close(each, (), at=NOW) for each in (UNKNOWN, DELIVERED) * 5]
    )

    assert {each.outcome for each in stood} == {(await told(ledger)).outcome}
    assert len([each for each in stood if each.notice is not None]) == 1


@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_a_close_that_dies_closes_nothing(engine: AsyncEngine, ledger: Ledger, nth: int) -> None:
    await admit(ledger)
    await claim(ledger)
    with Crash(engine, nth), pytest.raises(CrashError):
        await ledger.notices.close(UNKNOWN, (), at=NOW)

    assert (await told(ledger)).outcome is None
    assert await states(ledger) == {EMAIL: AttemptState.AMBIGUOUS}


async def test_the_next_time_is_noted_while_the_notice_is_open(ledger: Ledger) -> None:
    await admit(ledger)
    await ledger.notices.set_next(KEY, after(minutes=3))
    noted = (await told(ledger)).next_at

    await ledger.notices.close(UNKNOWN, (), at=NOW)
    await ledger.notices.set_next(KEY, after(minutes=4))

    assert noted == after(minutes=3)
    assert (await told(ledger)).next_at is None


async def test_what_is_not_on_record_cannot_be_closed_or_scheduled(ledger: Ledger) -> None:
    with pytest.raises(Missing, match=KEY):
        await ledger.notices.close(UNKNOWN, (), at=NOW)
    with pytest.raises(Missing, match=KEY):
        await ledger.notices.set_next(KEY, NOW)


async def test_the_database_refuses_an_outcome_without_its_time(engine: AsyncEngine, ledger: Ledger) -> None:
    await admit(ledger)

    with pytest.raises(StoreError, match="refused a statement"):
        async with writing(engine) as connection:
            await connection.execute(text("UPDATE notices SET outcome = 'delivered'"))


def test_the_row_of_an_attempt_does_not_show_its_address_hash() -> None:
    row = AttemptRow(
        key=EMAIL,
        notice_key=KEY,
        channel=Channel.EMAIL,
        number=1,
        state=AttemptState.PLANNED,
        address_hash="e" * 64,
    )

    assert "e" * 64 not in repr(row)
