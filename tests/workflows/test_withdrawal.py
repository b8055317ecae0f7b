"""A caller that no longer needs its notice: nothing more is done for it."""

from datetime import timedelta

from temporalio.testing import WorkflowEnvironment

from tests.workflows.fakes import World
from tests.workflows.policies import PAYOUT, RESET
from tests.workflows.scenario import ending
from tests.workflows.scripts import DELIVERED, EMAIL, MAY_HAVE_LEFT, NOT_SENT
from tests.workflows.stage import finish, report, start, withdraw, worker
from workflows.policy.models import Result

A_MOMENT = timedelta(seconds=5)


async def test_withdrawn_before_a_worker_took_it_checks_nothing(engine: WorkflowEnvironment) -> None:
    world = World(RESET)
    handle = await start(engine.client)

    await withdraw(engine)
    async with worker(engine.client, world):
        result = await finish(handle)

    assert (ending(result), world.story) == ("withdrawn: withdrawn", "0 admit, close withdrawn")


async def withdrawn_after_a_moment(engine: WorkflowEnvironment, world: World) -> Result:
    """Start a notice in this world, and withdraw it."""
    async with worker(engine.client, world):
        handle = await start(engine.client)
        await engine.sleep(A_MOMENT)
        await withdraw(engine)
        return await finish(handle)


async def test_withdrawn_while_it_waits_is_closed_at_once(engine: WorkflowEnvironment) -> None:
    world = World(RESET)

    result = await withdrawn_after_a_moment(engine, world)

    assert ending(result) == "withdrawn: withdrawn"
    assert world.story == "0 admit, check email, send email, close withdrawn"


async def test_withdrawn_while_the_engine_retries_its_send_calls_the_send_off(
    engine: WorkflowEnvironment,
) -> None:
    world = World(RESET, sends={EMAIL: [NOT_SENT]})

    result = await withdrawn_after_a_moment(engine, world)

    assert ending(result) == "withdrawn: withdrawn"
    assert world.story == "0 admit, check email, send email, reconcile email, close withdrawn"


async def test_evidence_that_comes_while_the_engine_retries_a_send_calls_the_send_off(
    engine: WorkflowEnvironment,
) -> None:
    world = World(PAYOUT, sends={EMAIL: [MAY_HAVE_LEFT]})

    async with worker(engine.client, world):
        handle = await start(engine.client)
        await engine.sleep(A_MOMENT)
        await report(engine, DELIVERED)
        result = await finish(handle)

    assert ending(result) == "delivered on email: settled"
    assert world.story == "0 admit, check email, send email, record delivered, close delivered"


async def test_cancelling_the_workflow_withdraws_the_notice(engine: WorkflowEnvironment) -> None:
    world = World(RESET)

    async with worker(engine.client, world):
        handle = await start(engine.client)
        await engine.sleep(A_MOMENT)
        await handle.cancel()
        result = await finish(handle)

    assert ending(result) == "withdrawn: withdrawn"
    assert world.story == "0 admit, check email, send email, close withdrawn"


async def test_cancelling_before_a_worker_took_it_withdraws_the_notice(engine: WorkflowEnvironment) -> None:
    world = World(RESET)
    handle = await start(engine.client)

    await handle.cancel()
    async with worker(engine.client, world):
        result = await finish(handle)

    assert (ending(result), world.story) == ("withdrawn: withdrawn", "0 admit, close withdrawn")
