"""How tests and the recorder put a notice on a real engine: one engine, one worker, one notice."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import TypeVar

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.client import Client, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.converter import DataConverter
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from activities.converter import data_converter
from activities.keyring import Keyring
from tests.servers import dev_server, test_server
from tests.workflows.fakes import World
from tests.workflows.scripts import Word, observation
from workflows import attributes
from workflows.hosting import FAILURES, WORKFLOWS
from workflows.notice import Notice
from workflows.policy import telling
from workflows.policy.evidence import Evidence
from workflows.policy.keys import attempt_key, workflow_id
from workflows.policy.models import NoticeRequest, Recipient, Result
from workflows.policy.words import Channel, Source
from workflows.sandbox import RUNNER

QUEUE = "standby"
PATIENCE = 60
"""Seconds of real time: a wrong step of a workflow would otherwise hang its test for ever."""
PLAIN = data_converter(Keyring.plaintext())
"""The converter of every worker, with nothing sealed."""

Handle = WorkflowHandle[Notice, Result]
T = TypeVar("T")


@asynccontextmanager
async def open_engine(
    converter: DataConverter = PLAIN, identity: str | None = None
) -> AsyncIterator[WorkflowEnvironment]:
    """Run a time-skipping server of its own; it bears one workflow at a time."""
    env = await WorkflowEnvironment.start_time_skipping(
        test_server_existing_path=test_server(), data_converter=converter, identity=identity
    )
    try:
        await _register_attributes(env.client)
        yield env
    finally:
        await env.shutdown()


@asynccontextmanager
async def open_server(identity: str | None = None) -> AsyncIterator[WorkflowEnvironment]:
    """Run a real server of its own, in real time; it bears parents with their children."""
    env = await WorkflowEnvironment.start_local(
        dev_server_existing_path=dev_server(),
        dev_server_log_level="error",
        data_converter=PLAIN,
        identity=identity,
        search_attributes=attributes.ALL,
    )
    try:
        yield env
    finally:
        await env.shutdown()


async def _register_attributes(client: Client) -> None:
    names = {each.name: IndexedValueType.ValueType(each.indexed_value_type) for each in attributes.ALL}
    await client.operator_service.add_search_attributes(
        AddSearchAttributesRequest(namespace=client.namespace, search_attributes=names)
    )


def worker(client: Client, world: World, queue: str = QUEUE) -> Worker:
    """Return a worker with the options that every worker has, on a scripted world."""
    return Worker(
        client,
        task_queue=queue,
        workflows=WORKFLOWS,
        activities=world.activities,
        workflow_runner=RUNNER,
        workflow_failure_exception_types=FAILURES,
    )


def request(**changes: object) -> NoticeRequest:
    """Return a valid request, with some of it changed."""
    recipient = Recipient(id="user-1", email="anna@example.test", phone="+4915112345678", sms_consent=True)
    fields = {"kind": "password_reset", "event_id": "reset-1", "recipient": recipient}
    return NoticeRequest.model_validate(fields | changes)


ASKED = request()


async def start(client: Client, asked: NoticeRequest = ASKED, queue: str = QUEUE) -> Handle:
    """Start a notice as every starter must (decision 20)."""
    return await client.start_workflow(
        Notice.run,
        asked,
        id=workflow_id(asked.key),
        task_queue=queue,
        id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        static_summary=telling.title(asked.key),
    )


async def soon(awaited: Awaitable[T]) -> T:
    """Await what must come within the patience of a test."""
    return await asyncio.wait_for(awaited, PATIENCE)


async def finish(handle: Handle) -> Result:
    """Await the end of a notice; on the time-skipping server this skips time."""
    return await soon(handle.result())


async def play(engine: WorkflowEnvironment, world: World, asked: NoticeRequest = ASKED) -> Result:
    """See one notice through from start to end."""
    async with worker(engine.client, world):
        return await finish(await start(engine.client, asked))


def running(engine: WorkflowEnvironment, asked: NoticeRequest = ASKED) -> Handle:
    """Return the notice by its key, as the receiver and the console reach it."""
    return engine.client.get_workflow_handle_for(Notice.run, workflow_id(asked.key))


async def report(
    engine: WorkflowEnvironment,
    word: Word,
    asked: NoticeRequest = ASKED,
    *,
    event_id: str = "callback",
) -> None:
    """Signal a provider's callback about the email, as the receiver does."""
    key, at = attempt_key(asked.key, Channel.EMAIL), await engine.get_current_time()
    seen = observation(key, word, Source.CALLBACK, at, event_id=event_id)
    await running(engine, asked).signal(Notice.observe, seen)


async def withdraw(engine: WorkflowEnvironment, asked: NoticeRequest = ASKED) -> None:
    """Signal that the caller no longer needs the notice."""
    await running(engine, asked).signal(Notice.withdraw)


async def ask(engine: WorkflowEnvironment, asked: NoticeRequest = ASKED) -> Evidence:
    """Query the notice; the answer comes after it has acted on every signal before."""
    return await soon(running(engine, asked).query(Notice.evidence))
