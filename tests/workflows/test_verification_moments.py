"""What comes to a verification at an odd moment: before it has begun, at its end, and after it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import Client, WorkflowUpdateFailedError, WorkflowUpdateStage
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker

from tests.workflows.fakes import World
from tests.workflows.policies import SMS_FIRST
from tests.workflows.registry import RESULT, WRONG, Registry
from tests.workflows.scripts import ACCEPTED, PENDING, SMS, Word
from tests.workflows.stage import PATIENCE, open_server, soon
from tests.workflows.verifying import BACK, BY_LINK, Case, verifying
from workflows.hosting import FAILURES, WORKFLOWS
from workflows.policy.keys import attempt_key
from workflows.policy.models import Result
from workflows.policy.terms import ChallengeTerms
from workflows.policy.verification import Consumption, Denial, Opened, Presented, Resent
from workflows.policy.words import ChallengeState, Outcome
from workflows.sandbox import RUNNER
from workflows.verification import Verification

SUCCESS = Consumption(consumed=True, result=RESULT, return_url=BACK)
FAILED = Consumption(consumed=False)
SHORT = timedelta(seconds=2)
FIRST_TASK = 4
"""The event that ends the first workflow task: a reset to it keeps nothing but the input."""


@pytest.fixture(scope="module")
async def client() -> AsyncIterator[Client]:
    async with open_server() as env:
        yield env.client


async def until(seen: Callable[[], Awaitable[bool]]) -> None:
    """Ask again until it is so; raises TimeoutError where that does not come."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if await seen():
                return
            await asyncio.sleep(0.02)


def stands_at(case: Case, state: ChallengeState) -> Callable[[], Awaitable[bool]]:
    """Return whether the workflow has come to a state."""

    async def seen() -> bool:
        return (await case.facts()).state is state

    return seen


async def has_sent(case: Case) -> bool:
    """Return whether a message has left."""
    return bool(case.world.sent)


async def presented_at_once(case: Case, count: int, what: Presented) -> list[Consumption | None]:
    """Present something many times at once; None for whoever is told that it is over already."""

    async def present() -> Consumption | None:
        try:
            return await case.consume(what)
        except WorkflowUpdateFailedError:
            return None
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return None

    return await soon(asyncio.gather(*(present() for _ in range(count))))


async def test_of_twenty_who_present_the_secret_at_once_exactly_one_succeeds(client: Client) -> None:
    async with verifying(client) as case:
        await case.opened()
        said = await presented_at_once(case, 20, BY_LINK)
        verified = await case.verified()

    assert said.count(SUCCESS) == 1
    assert {each for each in said if each != SUCCESS} <= {FAILED, None}
    assert verified.state is ChallengeState.CONSUMED


async def test_of_twenty_guesses_at_once_no_more_are_tried_than_the_terms_allow(client: Client) -> None:
    async with verifying(client) as case:
        await case.opened()
        said = await presented_at_once(case, 20, Presented(code=WRONG))
        verified = await case.verified()

    assert set(said) <= {FAILED, None}
    assert verified.state is ChallengeState.DEAD
    assert case.registry.calls.count("consume") == ChallengeTerms().wrong_codes


async def test_whoever_succeeded_is_told_so_again_under_the_same_id_after_the_end(client: Client) -> None:
    async with verifying(client) as case:
        first = await case.consume(attempt="one-page")
        await case.verified()
        again = await case.consume(attempt="one-page")

    assert (first, again) == (SUCCESS, SUCCESS)
    assert list(case.registry.tried) == ["one-page"]


async def test_the_ledger_knows_each_request_for_a_message_by_the_id_of_its_update(client: Client) -> None:
    async with verifying(client) as case:
        await case.opened()
        said = [await soon(case.handle.execute_update(Verification.resend, id="page-1")) for _ in range(2)]

    assert said == [Resent(accepted=True)] * 2
    assert [(each.asked_id, each.is_automatic) for each in case.registry.asked] == [("page-1", False)]


async def test_another_try_after_the_end_finds_nobody_to_ask(client: Client) -> None:
    async with verifying(client) as case:
        await case.consume()
        await case.verified()
        with pytest.raises(RPCError) as caught:
            await case.consume()

    assert caught.value.status is RPCStatusCode.NOT_FOUND
    assert case.registry.calls.count("consume") == 1


async def test_a_try_at_the_very_moment_of_expiry_fails_and_extends_nothing(client: Client) -> None:
    registry = Registry()
    async with verifying(client, registry) as case:
        await case.opened()
        created_at = (await case.facts()).created_at
        assert created_at is not None

        async def expire() -> None:
            registry.expires_at = created_at  # whatever the time of the try is, it is not before this

        registry.meanwhile["consume"] = expire
        said = await case.consume()
        state = (await case.facts()).state

    assert (said, registry.consumed_at, state) == (FAILED, None, ChallengeState.ACTIVE)


async def test_a_try_that_is_under_way_at_expiry_is_answered_before_the_workflow_closes(
    client: Client,
) -> None:
    registry = Registry(life=SHORT)
    async with verifying(client, registry) as case:
        await case.opened()

        async def outlast() -> None:
            await until(stands_at(case, ChallengeState.EXPIRED))

        registry.meanwhile["consume"] = outlast
        said = await case.consume()
        verified = await case.verified()

    assert said.consumed == (verified.state is ChallengeState.CONSUMED)
    assert verified.state is registry.state
    assert registry.calls.count("consume") == 1


async def test_withdrawn_while_it_is_opened_it_asks_for_no_message_and_tells_everybody(
    client: Client,
) -> None:
    registry, release = Registry(), asyncio.Event()

    async def hold() -> None:
        await release.wait()

    registry.meanwhile["open"] = hold
    async with verifying(client, registry) as case:
        waiting = [
            await case.handle.start_update(name, args=args, wait_for_stage=WorkflowUpdateStage.ACCEPTED)
            for name, args in (("consume", [BY_LINK]), ("resend", []), ("opened", []))
        ]
        await case.handle.signal(Verification.withdraw)
        consumed, resent = [await soon(each.result()) for each in waiting[:2]]
        release.set()
        opened = await soon(waiting[2].result())
        verified = await case.verified()

    assert Opened.model_validate(opened).expires_at == registry.expires_at
    assert Consumption.model_validate(consumed) == FAILED
    assert Resent.model_validate(resent) == Resent(accepted=False, reason=Denial.OVER)
    assert (verified.state, verified.deliveries) == (ChallengeState.WITHDRAWN, 0)
    assert (registry.calls, case.world.log) == (["open", "end"], [])


async def test_withdrawn_while_it_is_refused_it_is_refused(client: Client) -> None:
    registry = Registry(refusal="kind: there is no such kind")
    async with verifying(client, registry) as case:
        registry.meanwhile["open"] = lambda: case.handle.signal(Verification.withdraw)
        verified = await case.verified()

    assert (verified.state, verified.reason) == (ChallengeState.REFUSED, registry.refusal)


async def test_whoever_asks_before_it_has_begun_waits_for_the_answer(client: Client) -> None:
    registry, release = Registry(refusal="route: is not in the order of this kind"), asyncio.Event()

    async def hold() -> None:
        await release.wait()

    registry.meanwhile["open"] = hold
    async with verifying(client, registry) as case:
        asked = [
            await case.handle.start_update(name, args=args, wait_for_stage=WorkflowUpdateStage.ACCEPTED)
            for name, args in (("opened", []), ("consume", [BY_LINK]), ("resend", []))
        ]
        release.set()
        opened, consumed, resent = [await soon(each.result()) for each in asked]

    assert Opened.model_validate(opened).refusal == registry.refusal
    assert Consumption.model_validate(consumed) == FAILED
    assert Resent.model_validate(resent).reason is Denial.OVER
    assert registry.calls == ["open"]


async def test_a_message_that_is_granted_after_the_end_is_not_sent(client: Client) -> None:
    registry = Registry()
    async with verifying(client, registry) as case:
        await case.opened()
        registry.meanwhile["ask"] = lambda: case.handle.signal(Verification.withdraw)
        resent = await case.resend()
        verified = await case.verified()

    assert resent == Resent(accepted=False, reason=Denial.OVER)
    assert (verified.state, verified.deliveries) == (ChallengeState.WITHDRAWN, 1)


async def test_a_message_whose_workflow_was_terminated_is_no_failure_of_the_challenge(client: Client) -> None:
    async with verifying(client) as case:
        await until(lambda: has_sent(case))
        await client.get_workflow_handle(case.notice_key()).terminate()
        resent = await case.resend()
        consumed = await case.consume()
        verified = await case.verified()

    assert (resent.accepted, consumed) == (True, SUCCESS)
    assert (verified.deliveries, verified.delivered) == (2, Outcome.WITHDRAWN)


async def test_a_message_that_is_still_on_the_wire_is_withdrawn_once_and_waited_for(client: Client) -> None:
    world, release = World(SMS_FIRST), asyncio.Event()

    async def hold() -> None:
        await release.wait()

    world.meanwhile["send sms"] = hold
    async with verifying(client, world=world) as case:
        await until(lambda: has_sent(case))
        await case.resend()
        await case.resend()
        await case.consume()
        release.set()
        verified = await case.verified()
        facts = await case.facts()
    told = [
        event.signal_external_workflow_execution_initiated_event_attributes.workflow_execution.workflow_id
        for event in (await case.handle.fetch_history()).events
        if event.event_type == EventType.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED
    ]

    assert told == [case.notice_key(number) for number in (1, 2, 3)]
    assert [each.outcome for each in facts.messages] == [Outcome.WITHDRAWN] * 3
    assert verified.deliveries == 3


async def test_a_verification_that_is_terminated_leaves_no_message_that_still_sends(client: Client) -> None:
    async with verifying(client) as case:
        await until(lambda: has_sent(case))
        await case.handle.terminate()
        notice = await soon(client.get_workflow_handle(case.notice_key(), result_type=Result).result())

    assert notice.outcome is Outcome.WITHDRAWN


async def test_a_worker_that_was_away_over_the_expiry_ends_it_as_expired(client: Client) -> None:
    registry = Registry(life=SHORT, terms=ChallengeTerms(automatic_resend_after=timedelta(seconds=1)))
    async with verifying(client, registry) as case:
        await case.opened()
        expires_at = registry.expires_at
    assert expires_at is not None
    await asyncio.sleep((expires_at - datetime.now(UTC)).total_seconds())

    async with worker_of(case, (await case.handle.describe()).task_queue):
        verified = await case.verified()

    assert (verified.state, verified.deliveries, registry.asked) == (ChallengeState.EXPIRED, 1, [])


@pytest.mark.parametrize("word", [pytest.param(PENDING, id="running"), pytest.param(ACCEPTED, id="closed")])
async def test_an_operators_reset_sends_nothing_again_and_the_challenge_goes_on(
    client: Client, word: Word
) -> None:
    async with verifying(client, world=World(SMS_FIRST, sends={SMS: [word]})) as case:
        await until(lambda: has_sent(case))
        if word is ACCEPTED:
            await case.ending()
        case.registry.sent = 0  # the ledger answers a second opening with the message on record
        await client.workflow_service.reset_workflow_execution(
            ResetWorkflowExecutionRequest(
                namespace=client.namespace,
                workflow_execution=WorkflowExecution(workflow_id=case.handle.id),
                reason="an operator's second thoughts",
                workflow_task_finish_event_id=FIRST_TASK,
                request_id=case.challenge_id,
            )
        )
        anew = replace(case, handle=client.get_workflow_handle_for(Verification.run, case.handle.id))
        await anew.opened()
        consumed = await anew.consume()
        verified = await anew.verified()

    assert case.registry.calls == ["open", "open", "consume", "end"]
    # The ledger knows by this that it is the same verification.
    assert [each.chain for each in case.registry.opened] == [case.handle.first_execution_run_id] * 2
    assert consumed == SUCCESS
    assert (verified.state, verified.deliveries) == (ChallengeState.CONSUMED, 1)
    assert [each.attempt_key for each in case.world.sent] == [attempt_key(case.notice_key(), SMS)]
    assert len(case.world.admitted) == 1


def worker_of(case: Case, queue: str) -> Worker:
    """Return another worker for a verification whose own has gone."""
    return Worker(
        case.client,
        task_queue=queue,
        workflows=WORKFLOWS,
        activities=[*case.world.activities, *case.registry.activities],
        workflow_runner=RUNNER,
        workflow_failure_exception_types=FAILURES,
    )
