"""What only the real server shows: many starts at once, a reset, search, pauses, and races with a call."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from tests.servers import dev_server
from tests.workflows.fakes import World
from tests.workflows.policies import PAYOUT, RESET
from tests.workflows.scenario import ending
from tests.workflows.scripts import ACCEPTED, DELIVERED, EMAIL, NOT_SENT
from tests.workflows.stage import (
    PLAIN,
    ask,
    finish,
    report,
    request,
    running,
    soon,
    start,
    withdraw,
    worker,
)
from workflows import attributes
from workflows.policy.evidence import Evidence
from workflows.policy.models import NoticeRequest
from workflows.policy.terms import Watch
from workflows.policy.words import AttemptState, Phase

FLEETING = RESET.model_copy(
    update={
        "expires_after": timedelta(seconds=3),
        "fallback_after": timedelta(seconds=1.5),
        "min_useful": timedelta(seconds=0.2),
        "cutoff_before_expiry": timedelta(seconds=0.2),
        "email": Watch(),
    }
)
"""As long as a worker needs to stop and to start again."""

FIRST_TASK = 4
"""The event that ends the first workflow task: a reset to it keeps nothing but the input."""


@pytest.fixture(scope="session")
async def server() -> AsyncIterator[WorkflowEnvironment]:
    env = await WorkflowEnvironment.start_local(
        dev_server_existing_path=dev_server(),
        dev_server_log_level="error",
        data_converter=PLAIN,
        search_attributes=attributes.ALL,
    )
    yield env
    await env.shutdown()


@pytest.fixture
def queue(request: pytest.FixtureRequest) -> str:
    """A queue of this test's own, so that no other test's worker takes its notices."""
    return str(request.node.name)


async def test_the_same_notice_started_50_times_at_once_is_one_notice(
    server: WorkflowEnvironment, queue: str
) -> None:
    world, asked = World(RESET, sends={EMAIL: [ACCEPTED]}), request(event_id=queue)

    handles = await soon(asyncio.gather(*(start(server.client, asked, queue) for _ in range(50))))
    async with worker(server.client, world, queue):
        results = await soon(asyncio.gather(*(each.result() for each in handles)))

    assert len({each.first_execution_run_id for each in handles}) == 1
    assert len(set(map(ending, results))) == 1
    assert world.story == "0 admit, check email, send email, close accepted"


async def test_a_reset_by_an_operator_repeats_the_send_under_the_same_key_and_chain(
    server: WorkflowEnvironment, queue: str
) -> None:
    world, asked = World(RESET, sends={EMAIL: [ACCEPTED]}), request(event_id=queue)

    async with worker(server.client, world, queue):
        handle = await start(server.client, asked, queue)
        first = await finish(handle)
        await server.client.workflow_service.reset_workflow_execution(
            ResetWorkflowExecutionRequest(
                namespace=server.client.namespace,
                workflow_execution=WorkflowExecution(workflow_id=handle.id),
                reason="an operator's second thoughts",
                workflow_task_finish_event_id=FIRST_TASK,
                request_id=queue,
            )
        )
        second = await finish(running(server, asked))

    # The ledger knows by these that the message went out already (decision 5).
    assert [each.attempt_key for each in world.sent] == [f"{asked.key}:email:1"] * 2
    assert [each.chain for each in world.admitted] == [handle.first_execution_run_id] * 2
    assert ending(first) == ending(second) == "accepted on email: settled"


async def test_notices_are_found_and_counted_by_what_they_show(
    server: WorkflowEnvironment, queue: str
) -> None:
    kind = "searched"
    accepted, waiting = request(kind=kind, event_id="e-1"), request(kind=kind, event_id="e-2")

    async with worker(server.client, World(RESET, sends={EMAIL: [ACCEPTED]}), queue):
        await finish(await start(server.client, accepted, queue))
    async with worker(server.client, World(RESET), queue):
        await start(server.client, waiting, queue)
        awaited = f'NoticeKind = "{kind}" AND NoticePhase = "awaiting" AND NoticeFallbackAt IS NOT NULL'
        closed = f'NoticeKind = "{kind}" AND NoticeOutcome = "accepted" AND NoticeRecipient = "user-1"'
        recent = f'NoticeKind = "{kind}" AND NoticeExpiresAt > "2020-01-01T00:00:00Z"'

        assert await soon(found(server.client, awaited, 1)) == [waiting.key]
        assert await soon(found(server.client, closed, 1)) == [accepted.key]
        assert await soon(found(server.client, recent, 2)) == sorted([accepted.key, waiting.key])
        assert (await server.client.count_workflows(recent)).count == 2
        shown = (await running(server, accepted).describe()).typed_search_attributes

    assert (shown[attributes.PHASE], shown[attributes.OUTCOME]) == ("closed", "accepted")
    assert shown.get(attributes.FALLBACK_AT) is None


async def found(client: Client, query: str, count: int) -> list[str]:
    """Return the ids that a list query finds, once the index of the server has caught up."""
    while True:
        ids = sorted([each.id async for each in client.list_workflows(query)])
        if len(ids) == count:
            return ids
        await asyncio.sleep(0.05)


async def test_evidence_that_comes_while_the_send_returns_is_one_delivery(
    server: WorkflowEnvironment, queue: str
) -> None:
    world, asked = World(PAYOUT), request(event_id=queue)
    world.meanwhile["send email"] = partial(report, server, DELIVERED, asked)

    async with worker(server.client, world, queue):
        result = await finish(await start(server.client, asked, queue))

    assert ending(result) == "delivered on email: settled"
    assert world.story == "0 admit, check email, send email, record delivered, close delivered"


async def test_withdrawn_during_a_send_that_is_refused_is_not_sent_again(
    server: WorkflowEnvironment, queue: str
) -> None:
    world, asked = World(RESET, sends={EMAIL: [NOT_SENT]}), request(event_id=queue)

    async def change_its_mind() -> None:
        await withdraw(server, asked)
        await ask(server, asked)

    world.meanwhile["send email"] = change_its_mind
    async with worker(server.client, world, queue):
        result = await finish(await start(server.client, asked, queue))

    assert ending(result) == "withdrawn: withdrawn"
    assert world.story == "0 admit, check email, send email, close withdrawn"
    assert [each.state for each in world.closed[0].attempts] == [AttemptState.PLANNED] * 2


async def test_a_worker_that_was_paused_across_both_deadlines_sends_nothing_late(
    server: WorkflowEnvironment, queue: str
) -> None:
    world, asked = World(FLEETING), request(event_id=queue)

    async with worker(server.client, world, queue):
        handle = await start(server.client, asked, queue)
        evidence = await soon(awaiting(server, asked))
    assert evidence.expires_at is not None
    await asyncio.sleep((evidence.expires_at - await server.get_current_time()).total_seconds())
    async with worker(server.client, world, queue):
        result = await finish(handle)

    assert ending(result) == "expired: expired"
    assert [line for _, line in world.log] == ["admit", "check email", "send email", "close expired"]


async def awaiting(server: WorkflowEnvironment, asked: NoticeRequest) -> Evidence:
    """Return the evidence once the email is out."""
    while True:
        evidence = await ask(server, asked)
        if evidence.phase is Phase.AWAITING:
            return evidence
        await asyncio.sleep(0.02)
