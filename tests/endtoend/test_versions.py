"""Versioned workers: a notice stays with the code that it began on, and new ones begin on the new."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from temporalio.api.workflowservice.v1 import SetWorkerDeploymentCurrentVersionRequest
from temporalio.client import Client
from temporalio.service import RPCError

from console.engine import EngineAt, development_engine, free_port
from sandbox.fates import Fate
from tests.endtoend.deployment import Manner, Town, send
from tests.endtoend.scenes import ended, notice, until
from workflows.policy.words import Outcome


@pytest.fixture(scope="module")
async def manner(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Manner]:
    home: Path = tmp_path_factory.mktemp("versions")
    at = EngineAt(free_port(), free_port())
    async with development_engine(home, at), Town(at, home).deployment() as manner:
        yield manner


def built(manner: Manner, build_id: str) -> Manner:
    return replace(manner, choices={"STANDBY_BUILD_ID": build_id})


async def make_current(client: Client, manner: Manner, build_id: str) -> None:
    """Begin new notices on a version, as soon as the engine has heard of its workers."""
    asked = SetWorkerDeploymentCurrentVersionRequest(
        namespace=client.namespace, deployment_name=manner.queue, build_id=build_id
    )

    async def is_current() -> bool:
        try:
            await client.workflow_service.set_worker_deployment_current_version(asked)
        except RPCError:
            return False
        return True

    await until(is_current)


async def versions(client: Client, key: str) -> set[str]:
    """Return the builds that a notice's workflow tasks were done by."""
    history = await client.get_workflow_handle(key).fetch_history()
    done = [each.workflow_task_completed_event_attributes for each in history.events]
    return {each.deployment_version.build_id for each in done if each.HasField("deployment_version")}


async def test_a_notice_that_is_open_during_a_rollout_ends_on_the_code_that_it_began_on(
    manner: Manner,
) -> None:
    begun, later = notice("before", Fate.SILENT, Fate.DELIVERED), notice("after", Fate.DELIVERED)
    async with built(manner, "one").worker() as client:
        await make_current(client, manner, "one")
        first = await send(client, manner, begun)
        await manner.submitted(begun.key)
        async with built(manner, "two").worker():
            await make_current(client, manner, "two")
            second = await send(client, manner, later)
            outcomes = [(await ended(each)).outcome for each in (first, second)]

    assert outcomes == [Outcome.DELIVERED, Outcome.DELIVERED]
    assert await versions(client, begun.key) == {"one"}
    assert await versions(client, later.key) == {"two"}
