"""Who a notice is: its key is its workflow id, and the same notice is never begun twice."""

import pytest
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.testing import WorkflowEnvironment

from tests.workflows.fakes import World
from tests.workflows.policies import RESET
from tests.workflows.scenario import ending
from tests.workflows.scripts import ACCEPTED, EMAIL
from tests.workflows.stage import ASKED, QUEUE, ask, finish, play, start, worker
from workflows.notice import Notice
from workflows.policy.words import Outcome, Phase


async def test_a_second_start_finds_the_running_notice(engine: WorkflowEnvironment) -> None:
    world = World(RESET, looks={EMAIL: [ACCEPTED]})
    first = await start(engine.client)

    second = await start(engine.client)
    async with worker(engine.client, world):
        await finish(first)

    assert second.first_execution_run_id == first.first_execution_run_id
    assert len(world.sent) == 1


async def test_a_second_start_after_the_end_is_rejected(engine: WorkflowEnvironment) -> None:
    await play(engine, World(RESET, sends={EMAIL: [ACCEPTED]}))

    with pytest.raises(WorkflowAlreadyStartedError):
        await start(engine.client)


async def test_a_notice_under_another_id_is_refused_before_anything_is_done(
    engine: WorkflowEnvironment,
) -> None:
    world = World(RESET)

    async with worker(engine.client, world):
        handle = await engine.client.start_workflow(
            Notice.run, ASKED, id="queue-delivery-7", task_queue=QUEUE
        )
        result = await finish(handle)

    assert ending(result) == "refused: admission"
    assert result.reason == f"workflow id: must be the notice key, {ASKED.key}"
    assert world.log == []


async def test_a_notice_that_begins_after_its_expiry_sends_nothing(engine: WorkflowEnvironment) -> None:
    world = World(RESET)
    expired = ASKED.model_copy(update={"expires_at": await engine.get_current_time()})

    result = await play(engine, world, expired)

    assert (ending(result), world.story) == ("expired: expired", "0 admit, close expired")


async def test_a_refused_notice_says_so_when_it_is_asked(engine: WorkflowEnvironment) -> None:
    world = World(RESET, refusal="kind: there is no such kind")

    async with worker(engine.client, world):
        result = await finish(await start(engine.client))
        evidence = await ask(engine)

    assert (result.outcome, result.reason) == (Outcome.REFUSED, "kind: there is no such kind")
    assert (evidence.phase, evidence.outcome, evidence.attempts) == (Phase.CLOSED, Outcome.REFUSED, ())


async def test_the_admission_learns_the_chain_of_runs_that_it_belongs_to(
    engine: WorkflowEnvironment,
) -> None:
    world = World(RESET, sends={EMAIL: [ACCEPTED]})

    async with worker(engine.client, world):
        handle = await start(engine.client)
        await finish(handle)

    assert [each.chain for each in world.admitted] == [handle.first_execution_run_id]
