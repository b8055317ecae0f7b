"""The life of a challenge on a real engine, with its messages as notices of their own."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowUpdateFailedError

from tests.workflows.fakes import World
from tests.workflows.policies import SMS_FIRST, SMS_ONLY
from tests.workflows.registry import RESULT, RIGHT, WRONG, Registry
from tests.workflows.scripts import DELIVERED, SMS
from tests.workflows.stage import open_server, soon
from tests.workflows.verifications import taken
from tests.workflows.verifying import BACK, BY_LINK, verifying, wanted
from workflows.policy.terms import ChallengeTerms
from workflows.policy.verification import Consumption, Denial, Presented, Resent
from workflows.policy.words import ChallengeState, Method, Outcome

FAILED = Consumption(consumed=False)
SHORT = timedelta(seconds=2)
UNASKED = timedelta(seconds=1)


@pytest.fixture(scope="module")
async def client() -> AsyncIterator[Client]:
    async with open_server() as server:
        yield server.client


async def test_a_challenge_is_consumed_once_and_every_later_try_is_told_the_same(client: Client) -> None:
    async with verifying(client) as case:
        first = await case.consume()
        verified = await case.verified()

    assert first == Consumption(consumed=True, result=RESULT, return_url=BACK)
    assert (verified.state, verified.consumed_at) == (ChallengeState.CONSUMED, case.registry.consumed_at)


async def test_a_consumption_withdraws_the_message_that_is_still_under_way(client: Client) -> None:
    async with verifying(client) as case:
        await case.opened()
        await case.consume()
        notice = await case.ending()
        verified = await case.verified()
        reads = len(case.world.looked)

    assert (notice, verified.delivered) == (Outcome.WITHDRAWN, Outcome.WITHDRAWN)
    assert [call.channel for call in case.world.sent] in ([], [SMS])
    assert reads == 0


async def test_an_expiry_ends_the_challenge_and_its_message(client: Client) -> None:
    async with verifying(client, Registry(life=SHORT)) as case:
        verified = await case.verified()
        notice = await case.ending()

    assert (verified.state, verified.consumed_at) == (ChallengeState.EXPIRED, None)
    assert notice in {Outcome.EXPIRED, Outcome.WITHDRAWN, Outcome.UNKNOWN}
    assert case.registry.calls == ["open", "end"]


async def test_the_ledgers_word_stands_where_it_saw_a_consumption_that_this_run_did_not(
    client: Client,
) -> None:
    registry = Registry(life=SHORT)

    async def elsewhere() -> None:
        registry.state, registry.consumed_at = ChallengeState.CONSUMED, datetime.now(UTC)

    registry.meanwhile["end"] = elsewhere
    async with verifying(client, registry) as case:
        verified = await case.verified()

    assert (verified.state, verified.consumed_at) == (ChallengeState.CONSUMED, registry.consumed_at)


async def test_wrong_codes_kill_the_challenge_and_the_right_one_comes_too_late(client: Client) -> None:
    async with verifying(client, Registry(terms=ChallengeTerms(wrong_codes=2))) as case:
        said = [await case.consume(Presented(code=WRONG)) for _ in range(2)]
        verified = await case.verified()

    assert said == [FAILED, FAILED]
    assert verified.state is ChallengeState.DEAD
    assert case.registry.calls == ["open", "consume", "consume", "end"]


async def test_a_delivery_receipt_consumes_nothing(client: Client) -> None:
    world = World(SMS_ONLY.model_copy(update={"settles_on": "delivered"}), sends={SMS: [DELIVERED]})
    async with verifying(client, world=world) as case:
        notice = await case.ending()
        facts = await case.facts()
        await case.consume()

    assert notice is Outcome.DELIVERED
    assert (facts.state, facts.consumed_at) == (ChallengeState.ACTIVE, None)


async def test_of_many_who_present_the_secret_at_once_exactly_one_succeeds(client: Client) -> None:
    async with verifying(client) as case:
        await case.opened()
        said = await asyncio.gather(*(case.consume() for _ in range(8)))

    assert sorted(each.consumed for each in said) == [False] * 7 + [True]
    assert {each for each in said if not each.consumed} == {FAILED}


async def test_a_try_that_is_repeated_under_its_own_id_is_one_try(client: Client) -> None:
    async with verifying(client, Registry(terms=ChallengeTerms(wrong_codes=2))) as case:
        for _ in range(3):
            assert await case.consume(Presented(code=WRONG), attempt="typed-once") == FAILED
        after = await case.consume(Presented(code=RIGHT))

    assert after.consumed


async def test_a_resend_keeps_the_challenge_and_withdraws_the_message_before_it(client: Client) -> None:
    async with verifying(client) as case:
        await case.opened()
        resent = await case.resend()
        first = await case.ending()
        facts = await case.facts()
        consumed = await case.consume()

    assert resent == Resent(accepted=True)
    assert first is Outcome.WITHDRAWN
    assert [each.notice_key for each in facts.messages] == [case.notice_key(1), case.notice_key(2)]
    assert (consumed.consumed, facts.state) == (True, ChallengeState.ACTIVE)


async def test_a_resend_that_is_denied_says_why_and_sends_nothing(client: Client) -> None:
    again_at = datetime.now(UTC) + timedelta(seconds=30)
    async with verifying(client, Registry(denials=[(Denial.COOLDOWN, again_at)])) as case:
        await case.opened()
        denied = await case.resend()
        facts = await case.facts()

    assert denied == Resent(accepted=False, reason=Denial.COOLDOWN, again_at=again_at)
    assert len(facts.messages) == 1


async def test_nothing_is_sent_unasked_where_the_policy_does_not_say_so(client: Client) -> None:
    async with verifying(client, Registry(life=SHORT)) as case:
        verified = await case.verified()

    assert (case.registry.asked, verified.deliveries) == ([], 1)


async def test_a_policy_can_have_messages_sent_unasked_and_a_denial_waits_for_its_turn(
    client: Client,
) -> None:
    terms = ChallengeTerms(automatic_resend_after=UNASKED)
    registry = Registry(terms=terms, life=timedelta(seconds=4), denials=[(Denial.SWITCHED_OFF, None)])
    async with verifying(client, registry) as case:
        verified = await case.verified()

    assert [each.is_automatic for each in registry.asked] == [True] * len(registry.asked)
    assert [each.asked_id for each in registry.asked][:2] == ["automatic:1", "automatic:2"]
    # The first of them was denied.
    assert verified.deliveries == len(registry.asked) > 1


@pytest.mark.parametrize("how", ["signal", "cancel"])
async def test_a_verification_that_is_no_longer_needed_ends_with_its_message(
    client: Client, how: str
) -> None:
    async with verifying(client) as case:
        await case.opened()
        await (case.handle.signal("withdraw") if how == "signal" else case.handle.cancel())
        verified = await case.verified()
        notice = await case.ending()

    assert (verified.state, notice) == (ChallengeState.WITHDRAWN, Outcome.WITHDRAWN)


async def test_one_that_is_withdrawn_while_it_is_opened_sends_nothing(client: Client) -> None:
    registry = Registry()
    async with verifying(client, registry) as case:
        registry.meanwhile["open"] = lambda: case.handle.signal("withdraw")
        verified = await case.verified()

    assert verified.state is ChallengeState.WITHDRAWN
    assert verified.deliveries in {0, 1}  # the signal may have lost the race for the first task
    assert case.registry.calls[-1] == "end"


async def test_a_refusal_is_told_to_whoever_asks_and_sends_nothing(client: Client) -> None:
    async with verifying(client, Registry(refusal="limited: account")) as case:
        verified = await case.verified()

    assert (verified.state, verified.reason) == (ChallengeState.REFUSED, "limited: account")
    assert (verified.deliveries, case.registry.calls) == (0, ["open"])


async def test_a_request_for_another_challenge_than_its_workflow_is_refused(client: Client) -> None:
    request = wanted().model_copy(update={"challenge_id": "another-one"})
    async with verifying(client, request=request) as case:
        verified = await case.verified()

    assert verified.state is ChallengeState.REFUSED
    assert verified.reason == "workflow id: must be verification:another-one"
    assert case.registry.calls == []


@pytest.mark.parametrize("junk", [None, 7, "text", {"link": "short"}, ["a"]])
async def test_what_is_no_presentation_fails_and_the_challenge_goes_on(client: Client, junk: object) -> None:
    async with verifying(client) as case:
        await case.opened()
        with pytest.raises(WorkflowUpdateFailedError):
            await case.handle.execute_update("consume", junk)
        consumed = await case.consume(BY_LINK)

    assert consumed.consumed


async def test_a_secret_that_is_presented_before_the_challenge_is_on_record_waits_for_it(
    client: Client,
) -> None:
    registry = Registry()
    held = asyncio.Event()
    registry.meanwhile["open"] = lambda: asyncio.wait_for(_set(held), 30)
    async with verifying(client, registry) as case:
        consuming = asyncio.ensure_future(case.consume())
        held.set()
        consumed = await consuming

    assert consumed.consumed
    assert registry.calls[:2] == ["open", "consume"]


async def _set(event: asyncio.Event) -> None:
    await event.wait()


@pytest.mark.parametrize(
    ("method", "brought"),
    [(Method.LINK, Presented(code=RIGHT)), (Method.CODE, BY_LINK), (Method.BOTH, Presented())],
)
async def test_what_cannot_consume_costs_the_history_nothing(
    client: Client, method: Method, brought: Presented
) -> None:
    async with verifying(client, request=wanted(method=method)) as case:
        await case.opened()
        for _ in range(3):
            with pytest.raises(WorkflowUpdateFailedError):
                await case.consume(brought)
        history = await case.handle.fetch_history()

    taken = [
        each
        for each in history.events
        if each.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED
    ]
    assert [
        each.workflow_execution_update_accepted_event_attributes.accepted_request.input.name for each in taken
    ] == ["opened"]
    assert case.registry.calls == ["open"]


async def test_a_message_that_nobody_can_judge_keeps_nobody_from_consuming(client: Client) -> None:
    registry, asked, judged = Registry(), asyncio.Event(), asyncio.Event()

    async def judge() -> None:
        asked.set()
        await judged.wait()

    registry.meanwhile["ask"] = judge
    async with verifying(client, registry) as case:
        await case.opened()
        asking = asyncio.ensure_future(case.resend())
        await soon(asked.wait())
        consumed = await case.consume()
        judged.set()
        resent = await asking
        verified = await case.verified()

    assert (consumed.consumed, resent) == (True, Resent(accepted=False, reason=Denial.OVER))
    assert (verified.state, verified.deliveries) == (ChallengeState.CONSUMED, 1)


@pytest.mark.parametrize(("is_ours", "outcome"), [(True, None), (False, Outcome.REFUSED)])
async def test_a_message_whose_name_is_taken_is_refused_unless_it_is_the_message(
    client: Client, *, is_ours: bool, outcome: Outcome | None
) -> None:
    registry = Registry(is_ours=is_ours)
    async with verifying(client, registry) as case:
        await taken(case)
        verified = await case.verified()

    assert registry.sought == [case.notice_key(2)]
    assert (verified.state, verified.delivered) == (ChallengeState.CONSUMED, outcome)


async def test_a_message_that_fails_is_no_failure_of_the_challenge(client: Client) -> None:
    world = World(SMS_FIRST, refusal="kind: is not known")
    async with verifying(client, world=world) as case:
        notice = await case.ending()
        consumed = await case.consume()

    assert (notice, consumed.consumed) == (Outcome.REFUSED, True)


async def test_the_details_tell_four_facts_and_no_address(client: Client) -> None:
    async with verifying(client) as case:
        await case.opened()
        facts = await case.facts()
        described = str((await case.handle.describe()).raw_description)

    assert facts.created_at is not None
    assert "+1202" not in described
    assert "example.test" not in described
