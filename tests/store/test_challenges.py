"""The challenge: made once, consumed once, and closed for good."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store.challenge_rows import ChallengeRow, DeliveryRow
from activities.store.challenge_tables import challenges, deliveries, tries
from activities.store.challenges import Duplicate, Trial
from activities.store.database import reading, writing
from activities.store.errors import Missing, StoreError
from activities.store.ledger import Ledger
from tests.store.challenge_facts import (
    ACCOUNT,
    EXPIRES,
    ID,
    TERMS,
    asked,
    challenge,
    claimed,
    code,
    digest,
    elsewhere,
    link,
    opened,
    wrong,
)
from tests.store.facts import EMAIL_HASH, NOW, SMS_HASH, Crash, CrashError, after, report
from workflows.policy.terms import ChallengeTerms, Limit
from workflows.policy.verification import Presented
from workflows.policy.words import ChallengeState, Method, Status

Ledgers = tuple[Ledger, Ledger]

A_MOMENT = timedelta(microseconds=1)
BOUNDLESS = ChallengeTerms(
    resends=20,
    cooldown=timedelta(microseconds=1),
    resend_over_ambiguous=True,
    per_account=Limit(count=10_000, per=timedelta(hours=1)),
    per_destination=Limit(count=10_000, per=timedelta(hours=1)),
)


async def found(ledger: Ledger, challenge_id: str = ID) -> ChallengeRow:
    row = await ledger.challenges.find(challenge_id)
    assert row is not None
    return row


async def tried(
    ledger: Ledger, presented: Presented, attempt_id: str = "try-1", *, seconds: float = 60
) -> Trial:
    trial = await ledger.challenges.consume(ID, presented, attempt_id, at=after(seconds=seconds))
    assert trial is not None
    return trial


async def number_of_tries(engine: AsyncEngine) -> int:
    async with reading(engine) as connection:
        number: int = (await connection.execute(select(func.count()).select_from(tries))).scalar_one()
    return number


async def test_an_open_challenge_is_on_record_with_its_first_message(ledger: Ledger) -> None:
    assert await opened(ledger) == challenge()

    assert await found(ledger) == challenge()
    assert await ledger.challenges.of_message(ID) == (
        challenge(),
        DeliveryRow(
            event_id=ID,
            challenge_id=ID,
            notice_key=f"signup_verification:{ID}:{ACCOUNT}",
            number=1,
            asked_id="",
            account_id=ACCOUNT,
            email_hash=EMAIL_HASH,
            phone_hash=SMS_HASH,
            asked_at=NOW,
        ),
    )


async def test_opening_again_returns_the_challenge_that_stands_to_the_workflow_that_owns_it(
    ledger: Ledger,
) -> None:
    await opened(ledger)
    anew = challenge().model_copy(update={"nonce": digest("another nonce")})

    assert await opened(ledger, anew, at=after(minutes=2)) == challenge()
    assert await opened(ledger, challenge(chain="run-2")) == Duplicate()
    assert await found(ledger) == challenge()


async def test_one_of_many_workflows_that_open_one_challenge_at_once_has_it(ledgers: Ledgers) -> None:
    """Their accounts and destinations differ, so that no limit makes them take turns."""

    answers = await asyncio.gather(
        *[
            opened(ledger, challenge(account=f"a-{n}", chain=f"run-{n}"), to=elsewhere(f"{n}"))
            for n, ledger in enumerate(ledgers * 10)
        ]
    )

    assert answers.count(Duplicate()) == 19
    assert [each for each in answers if isinstance(each, ChallengeRow)] == [await found(ledgers[0])]


async def test_a_message_that_is_asked_for_has_its_own_event_and_number(ledger: Ledger) -> None:
    await opened(ledger)

    second = await asked(ledger)

    assert isinstance(second, DeliveryRow)
    assert (second.event_id, second.number, second.is_automatic) == (f"{ID}.2", 2, False)
    assert second.notice_key == f"signup_verification:{ID}.2:{ACCOUNT}"
    assert (second.email_hash, second.phone_hash) == (EMAIL_HASH, SMS_HASH)
    assert await ledger.challenges.of_message(f"{ID}.2") == (challenge(), second)
    assert await ledger.challenges.of_message(f"{ID}.3") is None


async def test_asking_again_under_the_same_id_gets_the_same_message(ledger: Ledger) -> None:
    await opened(ledger)

    answers = await asyncio.gather(*[asked(ledger) for _ in range(10)])

    assert answers == [answers[0]] * 10
    assert isinstance(answers[0], DeliveryRow)
    assert await asked(ledger, at=after(hours=1)) == answers[0]


@pytest.mark.parametrize("asked_id", ["open", "1", ID])
async def test_no_id_of_an_update_is_taken_for_the_first_message(ledger: Ledger, asked_id: str) -> None:
    await opened(ledger)

    second = await asked(ledger, asked_id)

    assert isinstance(second, DeliveryRow)
    assert second.number == 2


async def test_a_message_nobody_asked_for_is_marked(ledger: Ledger) -> None:
    await opened(ledger)

    second = await asked(ledger, is_automatic=True)

    assert isinstance(second, DeliveryRow)
    assert second.is_automatic


async def test_nothing_is_asked_for_a_challenge_that_is_not_on_record(ledger: Ledger) -> None:
    with pytest.raises(Missing, match=f"no verification {ID}"):
        await asked(ledger)


@pytest.mark.parametrize("presented", [link(), code(), Presented(link=link().link, code=code().code)])
async def test_a_right_secret_consumes_once_and_never_again(ledger: Ledger, presented: Presented) -> None:
    await opened(ledger)

    assert await tried(ledger, presented) == Trial(consumed=True, state=ChallengeState.CONSUMED)
    assert await tried(ledger, presented, "try-2") == Trial(consumed=False, state=ChallengeState.CONSUMED)

    row = await found(ledger)
    assert (row.state, row.consumed_at, row.ended_at, row.wrong) == (
        ChallengeState.CONSUMED,
        after(minutes=1),
        after(minutes=1),
        0,
    )


@pytest.mark.parametrize("presented", [link(), code()])
async def test_of_a_hundred_that_present_it_at_once_exactly_one_succeeds(
    engine: AsyncEngine, ledgers: Ledgers, presented: Presented
) -> None:
    await opened(ledgers[0])

    trials = await asyncio.gather(
        *[tried(ledger, presented, f"try-{n}") for n, ledger in enumerate(ledgers * 50)]
    )

    assert len(trials) == 100
    assert [each.consumed for each in trials].count(True) == 1
    assert await number_of_tries(engine) == 1


async def test_link_and_code_presented_at_once_consume_once(ledger: Ledger) -> None:
    await opened(ledger)

    trials = await asyncio.gather(*[tried(ledger, (link(), code())[n % 2], f"try-{n}") for n in range(20)])

    assert [each.consumed for each in trials].count(True) == 1


async def test_the_same_try_again_gets_the_same_answer(ledger: Ledger) -> None:
    await opened(ledger)

    trials = await asyncio.gather(*[tried(ledger, link()) for _ in range(20)])

    assert {each.consumed for each in trials} == {True}
    assert (await tried(ledger, link(), seconds=3600)).consumed
    assert not (await tried(ledger, link(), "try-2")).consumed


async def test_the_same_wrong_try_counts_once(engine: AsyncEngine, ledger: Ledger) -> None:
    await opened(ledger)

    await asyncio.gather(*[tried(ledger, wrong()) for _ in range(20)])

    assert (await found(ledger)).wrong == await number_of_tries(engine) == 1
    assert (await tried(ledger, code(), "try-2")).consumed


async def test_a_try_that_was_wrong_stays_wrong_whatever_it_brings_next(ledger: Ledger) -> None:
    await opened(ledger)
    await tried(ledger, wrong())

    assert not (await tried(ledger, code())).consumed


@pytest.mark.parametrize("most", [1, 3, 5])
async def test_wrong_codes_end_it_at_their_number_and_not_before(ledger: Ledger, most: int) -> None:
    await opened(ledger, challenge(wrong_codes=most))

    trials = [await tried(ledger, wrong(n), f"try-{n}", seconds=n) for n in range(most)]

    assert [each.state for each in trials] == [*[ChallengeState.ACTIVE] * (most - 1), ChallengeState.DEAD]
    row = await found(ledger)
    assert (row.wrong, row.ended_at, row.consumed_at) == (most, after(seconds=most - 1), None)
    for presented in (code(), link()):
        assert await tried(ledger, presented, f"{presented.link}") == Trial(
            consumed=False, state=ChallengeState.DEAD
        )


async def test_the_right_code_after_all_wrong_ones_but_one_is_right(ledger: Ledger) -> None:
    await opened(ledger)
    for number in range(4):
        await tried(ledger, wrong(number), f"try-{number}")

    assert (await tried(ledger, code(), "try-4")).consumed


async def test_wrong_codes_at_once_count_each_and_none_after_the_last(
    engine: AsyncEngine, ledger: Ledger
) -> None:
    await opened(ledger)

    trials = await asyncio.gather(*[tried(ledger, wrong(n), f"try-{n}") for n in range(20)])

    assert not any(each.consumed for each in trials)
    row = await found(ledger)
    assert (row.state, row.wrong) == (ChallengeState.DEAD, 5)
    assert await number_of_tries(engine) == 5


async def test_a_secret_is_good_until_the_moment_before_expiry(ledger: Ledger) -> None:
    await opened(ledger)

    trial = await ledger.challenges.consume(ID, link(), "try-1", at=EXPIRES - A_MOMENT)

    assert trial == Trial(consumed=True, state=ChallengeState.CONSUMED)


@pytest.mark.parametrize("late", [timedelta(), A_MOMENT, timedelta(days=1)])
async def test_a_secret_is_of_no_use_from_the_moment_of_expiry(
    engine: AsyncEngine, ledger: Ledger, late: timedelta
) -> None:
    await opened(ledger)

    for presented in (link(), wrong()):
        trial = await ledger.challenges.consume(ID, presented, f"{presented.link}", at=EXPIRES + late)
        assert trial == Trial(consumed=False, state=ChallengeState.ACTIVE)

    assert await found(ledger) == challenge()
    assert await number_of_tries(engine) == 0


async def test_a_success_whose_answer_was_lost_is_told_after_expiry_too(ledger: Ledger) -> None:
    await opened(ledger)
    await ledger.challenges.consume(ID, link(), "try-1", at=EXPIRES - A_MOMENT)

    trial = await ledger.challenges.consume(ID, link(), "try-1", at=EXPIRES + timedelta(minutes=1))

    assert trial == Trial(consumed=True, state=ChallengeState.CONSUMED)


@pytest.mark.parametrize(
    "state", [ChallengeState.EXPIRED, ChallengeState.WITHDRAWN, ChallengeState.DEAD, ChallengeState.REFUSED]
)
async def test_what_has_ended_stays_as_it_ended(ledger: Ledger, state: ChallengeState) -> None:
    await opened(ledger)

    first = await ledger.challenges.end(ID, state, at=after(minutes=2))
    again = await ledger.challenges.end(ID, ChallengeState.EXPIRED, at=after(minutes=3))

    assert first == again == await found(ledger)
    assert first == challenge().model_copy(update={"state": state, "ended_at": after(minutes=2)})
    assert await tried(ledger, link(), seconds=240) == Trial(consumed=False, state=state)
    assert await found(ledger) == first


async def test_what_was_consumed_is_not_ended_by_anything_else(ledger: Ledger) -> None:
    await opened(ledger)
    await tried(ledger, link())
    consumed = await found(ledger)

    assert await ledger.challenges.end(ID, ChallengeState.EXPIRED, at=EXPIRES) == consumed
    assert await found(ledger) == consumed


async def test_ending_and_consuming_at_once_leave_one_of_them(ledger: Ledger) -> None:
    await opened(ledger)

    trial, ended = await asyncio.gather(
        tried(ledger, link()), ledger.challenges.end(ID, ChallengeState.WITHDRAWN, at=after(minutes=1))
    )

    row = await found(ledger)
    assert ended == row
    assert trial.consumed is (row.state is ChallengeState.CONSUMED)


@pytest.mark.parametrize("state", [ChallengeState.CONSUMED, ChallengeState.ACTIVE])
async def test_nothing_but_a_secret_makes_a_challenge_consumed_or_active(
    ledger: Ledger, state: ChallengeState
) -> None:
    await opened(ledger)

    with pytest.raises(StoreError, match="refused a statement"):
        await ledger.challenges.end(ID, state, at=after(minutes=1))

    assert await found(ledger) == challenge()


@pytest.mark.parametrize(
    ("method", "presented"),
    [
        (Method.BOTH, Presented()),
        (Method.BOTH, Presented(link=code().code)),
        (Method.BOTH, Presented(code=link().link)),
        (Method.BOTH, Presented(link=code().code, code=link().link)),
        (Method.BOTH, link("challenge-2")),
        (Method.BOTH, code("challenge-2")),
        (Method.LINK, Presented()),
        (Method.LINK, code()),
        (Method.LINK, Presented(code=link().link)),
        (Method.CODE, Presented()),
        (Method.CODE, link()),
        (Method.CODE, Presented(link=code().code)),
    ],
)
async def test_a_secret_counts_for_its_own_method_and_challenge_only(
    ledger: Ledger, method: Method, presented: Presented
) -> None:
    await opened(ledger, challenge(method=method))

    assert not (await tried(ledger, presented)).consumed
    assert (await found(ledger)).state is ChallengeState.ACTIVE


async def test_what_is_not_on_record_is_neither_consumed_nor_ended(ledger: Ledger) -> None:
    assert await ledger.challenges.consume(ID, link(), "try-1", at=NOW) is None
    assert await ledger.challenges.end(ID, ChallengeState.EXPIRED, at=NOW) is None
    assert await ledger.challenges.find(ID) is None


@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_a_crash_leaves_a_challenge_as_it_was_and_its_retry_succeeds(
    engine: AsyncEngine, ledger: Ledger, nth: int
) -> None:
    await opened(ledger)

    with Crash(engine, nth), pytest.raises(CrashError):
        await tried(ledger, link())

    assert await found(ledger) == challenge()
    assert (await tried(ledger, link())).consumed


@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_a_crash_leaves_no_challenge_without_its_first_message(
    engine: AsyncEngine, ledger: Ledger, nth: int
) -> None:
    with Crash(engine, nth), pytest.raises(CrashError):
        await opened(ledger)

    assert await ledger.challenges.find(ID) is None
    assert await opened(ledger) == challenge()


async def test_a_link_finds_its_challenge_and_a_result_only_one_that_was_consumed(ledger: Ledger) -> None:
    await opened(ledger)
    by_link, by_result = ledger.challenges.by_link, ledger.challenges.by_result

    assert await by_link(digest("link", ID)) == challenge()
    assert await by_link(digest("result", ID)) is None
    assert await by_result(digest("result", ID)) is None
    await tried(ledger, link())
    assert await by_result(digest("result", ID)) == await found(ledger)
    assert await by_result(digest("link", ID)) is None


async def test_all_that_writes_at_once_never_waits_in_a_circle(engine: AsyncEngine, ledgers: Ledgers) -> None:
    """Accounts and destinations cross, so that the same locks are wanted in every order."""
    ids = [f"challenge-{n}" for n in range(6)]
    await opened(ledgers[0], terms=BOUNDLESS)
    attempt = await claimed(ledgers[0])

    async def live(ledger: Ledger, n: int) -> None:
        new = challenge(ids[n % 6], account=f"account-{n % 2}")
        await opened(ledger, new, to=elsewhere(f"{n % 3}"), terms=BOUNDLESS)
        await asked(ledger, f"{n}", challenge_id=new.id, terms=BOUNDLESS, at=after(seconds=n))
        seen = report(Status.PENDING, key=attempt, event_id=f"{n}", provider_id=f"p-{n % 3}")
        await ledger.strays.put("sandbox", seen, provider_id=f"p-{n % 3}", event_id=f"s-{n}", at=NOW)
        await ledger.evidence.observe(seen, at=NOW)
        await ledger.challenges.consume(new.id, wrong(n), f"{n}", at=NOW)

    async with asyncio.timeout(60):
        await asyncio.gather(*[live(ledger, n) for n, ledger in enumerate(ledgers * 15)])

    async with reading(engine) as connection:
        counted = (await connection.execute(select(func.count()).select_from(deliveries))).scalar_one()
        kept = (await connection.execute(select(func.count()).select_from(challenges))).scalar_one()
    assert (kept, counted > kept) == (6, True)


async def test_a_digest_is_never_shorter_than_one(engine: AsyncEngine, ledger: Ledger) -> None:
    await opened(ledger)

    for column in ("link_digest", "code_digest", "result_digest"):
        with pytest.raises(StoreError, match="refused a statement"):
            async with writing(engine) as connection:
                await connection.execute(challenges.update().values({column: "the secret itself"}))


def test_the_terms_of_these_tests_are_those_that_a_kind_has_by_default() -> None:
    assert (TERMS.wrong_codes, challenge().wrong_codes) == (5, 5)
