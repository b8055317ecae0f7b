"""A challenge is consumed once, and every message for it is counted: on both ledgers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from datetime import timedelta
from types import MappingProxyType

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio.exceptions import ApplicationError

from activities.admission import DEPLOYED_BY
from activities.challenge import result_digest
from activities.challenging import BEGUN_BY
from activities.keyring import Keyring
from activities.store.database import new_engine
from activities.store.errors import Missing, Unmigrated
from activities.store.ledger import Ledger
from activities.store.notices import Terms
from tests.activities.desk import (
    BOTH,
    ID,
    KIND,
    PHONE_ONLY,
    WITHOUT,
    Desk,
    edited,
    wish,
    with_policy,
)
from tests.activities.given import KEYRING, NOW, after
from tests.store import conftest as stores
from tests.store.conftest import Databases
from workflows.challenge_calls import Ended, Granted, Sought
from workflows.policy.controls import Switch
from workflows.policy.terms import Policy
from workflows.policy.verification import Denial, Presented
from workflows.policy.words import ChallengeState

files = stores.files
postgres = stores.postgres
databases_of_postgres = stores.databases_of_postgres
databases = stores.databases


@pytest.fixture
async def store(databases: Databases) -> AsyncIterator[AsyncEngine]:
    engine = new_engine(await databases.migrated())
    yield engine
    await engine.dispose()


@pytest.fixture
def ledger(store: AsyncEngine) -> Ledger:
    return Ledger(store)


@pytest.mark.parametrize("call", ["open", "ask"])
@pytest.mark.parametrize("lacks", ["the kind", "its challenge"])
async def test_a_kind_that_went_missing_since_is_left_to_other_workers_for_a_while(
    ledger: Ledger, call: str, lacks: str
) -> None:
    begun = await Desk(ledger).open()
    desk = Desk(ledger, catalogue=WITHOUT if lacks == "the kind" else with_policy(uncharged()))

    with pytest.raises(ApplicationError, match="UnknownKind: kind: ") as caught:
        await (desk.open(attempt=DEPLOYED_BY - 1) if call == "open" else desk.ask())

    assert (caught.value.type, caught.value.non_retryable) == ("UnknownKind", False)
    if call == "open":
        assert (await desk.open(attempt=DEPLOYED_BY)).notice == begun.notice
    else:
        assert await desk.ask(attempt=DEPLOYED_BY) == Granted(denial=Denial.UNKNOWN_KIND)


@pytest.mark.parametrize(("attempt", "is_ours"), [(1, None), (BEGUN_BY - 1, None), (BEGUN_BY, False)])
async def test_a_notice_that_is_not_on_record_is_no_message_after_a_while(
    ledger: Ledger, attempt: int, *, is_ours: bool | None
) -> None:
    desk = Desk(ledger)
    await desk.open()

    if is_ours is None:
        with pytest.raises(ApplicationError, match="not yet on record"):
            await desk.seek(attempt=attempt)
    else:
        assert await desk.seek(attempt=attempt) == Sought(is_ours=is_ours)


async def test_a_notice_that_was_admitted_is_the_message_that_it_is_named_after(ledger: Ledger) -> None:
    desk = Desk(ledger)
    notice = (await desk.open()).notice
    assert notice is not None
    await ledger.notices.admit(notice, Terms(KIND.policy, KIND.digest, after(minutes=5), "run-2"), at=NOW)

    assert await desk.seek() == Sought(is_ours=True)


def uncharged() -> Policy:
    return KIND.policy.model_copy(update={"challenge": None})


async def test_another_message_is_a_notice_of_its_own_for_the_same_challenge(ledger: Ledger) -> None:
    desk = Desk(ledger)
    first = (await desk.open()).notice

    second = await desk.ask()

    assert first is not None
    assert second == Granted(notice=first.model_copy(update={"event_id": f"{ID}.2"}), number=2)


async def test_the_same_wish_for_another_message_is_counted_once(ledger: Ledger) -> None:
    desk = Desk(ledger)
    await desk.open()

    answers = [
        await desk.ask(),
        await desk.ask(at=after(minutes=2)),
        await desk.ask("ask-2", at=after(minutes=3)),
    ]

    assert [each.number for each in answers] == [2, 2, 3]
    assert answers[0] == answers[1]


async def test_a_cooldown_says_when_to_come_back(ledger: Ledger) -> None:
    desk = Desk(ledger)
    opened = await desk.open()

    early = await desk.ask(at=after(seconds=20))

    assert opened.created_at is not None
    again_at = opened.created_at + timedelta(seconds=30)
    assert early == Granted(denial=Denial.COOLDOWN, again_at=again_at)
    assert (await desk.ask(at=after(seconds=40))).number == 2


async def test_the_control_of_resends_is_read_when_one_is_asked_for(ledger: Ledger) -> None:
    desk = Desk(ledger)
    await desk.open()

    await desk.set(Switch.RESEND, on=False)
    off = await desk.ask()
    await desk.set(Switch.RESEND, on=True)
    on = await desk.ask()

    assert (off.denial, on.denial, on.number) == (Denial.SWITCHED_OFF, None, 2)


async def test_what_nobody_asked_for_has_a_control_of_its_own_which_is_off(ledger: Ledger) -> None:
    desk = Desk(ledger)
    await desk.open()

    off = await desk.ask(automatic=True)
    await desk.set(Switch.AUTOMATIC_RESEND, on=True)
    await desk.set(Switch.RESEND, on=False)
    on = await desk.ask(automatic=True)

    assert (off.denial, on.number) == (Denial.SWITCHED_OFF, 2)


async def test_the_policy_of_today_holds_for_another_message(ledger: Ledger) -> None:
    await Desk(ledger).open()

    assert (await Desk(ledger, catalogue=edited(resends=0)).ask()).denial is Denial.MAXIMUM


async def test_a_country_that_was_closed_since_gets_no_further_text(ledger: Ledger) -> None:
    closed = Desk(ledger, catalogue=edited(countries=("DE",)))
    alone = wish(account_id="acc-2", to=PHONE_ONLY)
    await Desk(ledger).open()
    await Desk(ledger).open(alone, "challenge-0002")

    answer = await closed.ask()

    assert answer.notice is not None
    assert (answer.notice.recipient.email, answer.notice.recipient.phone) == (BOTH.email, None)
    denied = await closed.ask(request=alone, name="challenge-0002")
    assert denied == Granted(denial=Denial.SWITCHED_OFF)


async def test_no_message_goes_out_for_a_challenge_that_is_over(ledger: Ledger) -> None:
    desk = Desk(ledger)
    await desk.open()

    assert (await desk.ask(at=after(minutes=10))).denial is Denial.OVER


@pytest.mark.parametrize("by", ["link", "code"])
async def test_a_right_secret_consumes_once_and_brings_a_word_to_exchange(ledger: Ledger, by: str) -> None:
    desk = Desk(ledger)
    await desk.open()
    right = (await desk.right()).model_copy(update={"code" if by == "link" else "link": None})

    first, second = await desk.consume(right), await desk.consume(right, "try-2")

    row, _ = await desk.record()
    assert (first.consumed, first.state) == (True, ChallengeState.CONSUMED)
    assert first.result == (await desk.secrets()).result
    assert await ledger.challenges.by_result(result_digest(KEYRING, first.result or "")) == row
    assert (second.consumed, second.result, second.state) == (False, None, ChallengeState.CONSUMED)


async def test_a_retry_of_one_try_gets_its_answer_again(ledger: Ledger) -> None:
    desk = Desk(ledger)
    await desk.open()
    right = await desk.right()

    first, again = await desk.consume(right), await desk.consume(right, at=after(hours=1))

    assert again.model_dump(exclude={"at"}) == first.model_dump(exclude={"at"})
    assert again.consumed


async def test_of_many_that_present_it_at_once_exactly_one_succeeds(ledger: Ledger) -> None:
    desk = Desk(ledger)
    await desk.open()
    right = await desk.right()

    tries = await asyncio.gather(*(desk.consume(right, f"try-{n}") for n in range(100)))

    assert [each.result for each in tries if each.consumed] == [(await desk.secrets()).result]


WRONG = Presented(code="0" * 64)


async def test_five_wrong_codes_end_a_challenge_for_the_right_one_too(ledger: Ledger) -> None:
    desk = Desk(ledger)
    await desk.open()

    tries = [await desk.consume(WRONG, f"try-{n}") for n in range(5)]
    late = await desk.consume(await desk.right(), "try-6")

    assert [each.state for each in tries] == [ChallengeState.ACTIVE] * 4 + [ChallengeState.DEAD]
    assert (late.consumed, late.result, late.state) == (False, None, ChallengeState.DEAD)


async def test_a_secret_is_worth_nothing_at_expiry(ledger: Ledger) -> None:
    desk = Desk(ledger)
    await desk.open()

    assert not (await desk.consume(await desk.right(), at=after(minutes=10))).consumed


async def test_an_unknown_challenge_is_no_error_to_whoever_tries(ledger: Ledger) -> None:
    tried = await Desk(ledger).consume(WRONG, name="challenge-unknown")

    assert (tried.consumed, tried.state, tried.result) == (False, ChallengeState.REFUSED, None)


@pytest.mark.parametrize("state", [ChallengeState.EXPIRED, ChallengeState.WITHDRAWN, ChallengeState.DEAD])
async def test_the_last_state_is_written(ledger: Ledger, state: ChallengeState) -> None:
    desk = Desk(ledger)
    await desk.open()

    assert await desk.end(state) == Ended(state=state)
    row, _ = await desk.record()
    assert row.state is state
    assert row.ended_at is not None


async def test_the_first_terminal_state_stands(ledger: Ledger) -> None:
    desk = Desk(ledger)
    await desk.open()
    tried = await desk.consume(await desk.right())

    assert await desk.end(ChallengeState.EXPIRED) == Ended(
        state=ChallengeState.CONSUMED, consumed_at=tried.at
    )


async def test_the_end_of_what_was_never_opened_is_what_was_asked_for(ledger: Ledger) -> None:
    assert await Desk(ledger).end(ChallengeState.REFUSED) == Ended(state=ChallengeState.REFUSED)


async def test_no_message_goes_out_for_a_challenge_that_is_not_on_record(ledger: Ledger) -> None:
    with pytest.raises(Missing, match=f"there is no verification {ID}"):
        await Desk(ledger).ask()


async def test_without_a_ledger_nothing_is_decided(databases: Databases) -> None:
    store = new_engine(await databases.empty())
    desk = Desk(Ledger(store))
    calls: list[Awaitable[object]] = [
        desk.open(),
        desk.ask(),
        desk.consume(WRONG),
        desk.end(ChallengeState.EXPIRED),
    ]

    for call in calls:
        with pytest.raises(Unmigrated):
            await call
    await store.dispose()


OLD = Keyring("old", MappingProxyType({"old": b"o" * 32}), b"a" * 32)
NEW = Keyring("new", MappingProxyType({"new": b"n" * 32}), b"a" * 32)
ROTATED = Keyring("new", MappingProxyType({**OLD.payload, **NEW.payload}), b"a" * 32)


async def test_a_rotation_of_keys_keeps_open_challenges_valid(ledger: Ledger) -> None:
    await Desk(ledger, keyring=OLD).open()

    rotated = Desk(ledger, keyring=ROTATED)
    await rotated.open(wish(account_id="acc-2"), "challenge-0002")

    assert (await rotated.consume(await Desk(ledger, keyring=OLD).right())).consumed
    assert [(await rotated.record(each))[0].key_id for each in (ID, "challenge-0002")] == ["old", "new"]


async def test_without_the_key_nothing_is_consumed_and_another_worker_may_try(ledger: Ledger) -> None:
    old = Desk(ledger, keyring=OLD)
    await old.open()
    right = await old.right()

    with pytest.raises(ApplicationError, match='no key "old" in this key file') as caught:
        await Desk(ledger, keyring=NEW).consume(right)

    assert (caught.value.type, caught.value.non_retryable) == ("UnknownKey", False)
    assert (await old.record())[0].state is ChallengeState.ACTIVE
    assert (await Desk(ledger, keyring=ROTATED).consume(right)).consumed


async def test_without_a_key_no_challenge_is_made(ledger: Ledger) -> None:
    keyless = Keyring("gone", MappingProxyType({}), b"a" * 32)

    with pytest.raises(ApplicationError) as caught:
        await Desk(ledger, keyring=keyless).open()

    assert caught.value.type == "UnknownKey"
    assert await ledger.challenges.find(ID) is None
