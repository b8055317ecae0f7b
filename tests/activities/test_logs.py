"""What a log line keeps of an error: all of one that nobody foresaw, and one line of the others."""

import asyncio
import io
import json
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment, WorkflowEnvironment
from typing_extensions import override

from activities import logs
from activities.connect import connect, runtime
from activities.settings import LogFormat, LogLevel
from activities.store.errors import Busy
from activities.store.migrate import migrate
from tests.activities.test_codec import ONE, TWO, ring
from tests.servers import test_server as server
from tests.workflows import stage
from tests.workflows.fakes import World
from tests.workflows.policies import RESET

Line = dict[str, object]


class Stream(io.StringIO):
    """A log, line by line."""

    @property
    def lines(self) -> list[Line]:
        return [json.loads(line) for line in self.getvalue().splitlines()]


class Core(logging.Handler):
    """Hears the SDK's core before anything is left out."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._heard: list[str] = []
        self._more = asyncio.Event()

    @override
    def emit(self, record: logging.LogRecord) -> None:
        self._heard.append(record.getMessage())
        self._loop.call_soon_threadsafe(self._more.set)

    async def said(self, text: str) -> None:
        while not any(text in each for each in self._heard):
            self._more.clear()
            await self._more.wait()


@pytest.fixture
async def core() -> AsyncIterator[Core]:
    heard = Core()
    logging.getLogger("temporalio.core").addHandler(heard)
    yield heard
    logging.getLogger("temporalio.core").removeHandler(heard)


@pytest.fixture
def stream() -> Iterator[Stream]:
    """A process that logs to a string, and is put back as it was."""
    root, raising = logging.root, logging.raiseExceptions
    handlers, level = root.handlers, root.level
    written = Stream()
    logs.configure(LogFormat.JSON, LogLevel.INFO, written)
    yield written
    root.handlers, logging.raiseExceptions = handlers, raising
    root.setLevel(level)


def fail_as_the_sdk_tells_it(error: Exception) -> None:
    def fail() -> None:
        try:
            raise error  # noqa: TRY301 - the SDK tells what an activity raised
        except Exception:  # noqa: BLE001 - as the SDK does
            activity.logger.warning("Completing activity as failed", exc_info=True)

    ActivityEnvironment().run(fail)


REFUSED = ApplicationError("HTTP 401", type="Misconfigured")
FORESEEN = {"ours": (REFUSED, "ApplicationError: HTTP 401"), "public": (Busy("busy"), "Busy: busy")}


@pytest.mark.parametrize(("error", "told"), FORESEEN.values(), ids=FORESEEN)
def test_a_failure_that_was_foreseen_is_told_without_the_code_that_it_came_through(
    stream: Stream, error: Exception, told: str
) -> None:
    fail_as_the_sdk_tells_it(error)
    [line] = stream.lines
    assert (line["error"], line["workflow_id"], line["attempt"]) == ([told], "test", 1)
    assert "stack" not in line


@pytest.mark.parametrize(("error", "told"), FORESEEN.values(), ids=FORESEEN)
def test_a_person_reads_it_on_one_line(stream: Stream, error: Exception, told: str) -> None:
    logs.configure(LogFormat.TEXT, LogLevel.INFO, stream)
    fail_as_the_sdk_tells_it(error)
    [line] = stream.getvalue().splitlines()
    assert line.endswith(told.partition(": ")[2])


def caused() -> ApplicationError:
    error = ApplicationError("HTTP 401", type="Misconfigured")
    error.__cause__ = KeyError("x")
    return error


@pytest.mark.parametrize(
    "error", [KeyError("x"), ApplicationError("x", type="Strange"), caused()], ids=["other", "type", "cause"]
)
def test_a_failure_that_nobody_foresaw_keeps_its_frames(stream: Stream, error: Exception) -> None:
    fail_as_the_sdk_tells_it(error)
    [line] = stream.lines
    assert "test_logs.py" in str(line["stack"])


@pytest.fixture
async def engine() -> AsyncIterator[WorkflowEnvironment]:
    env = await WorkflowEnvironment.start_time_skipping(test_server_existing_path=server(), runtime=runtime())
    await stage._register_attributes(env.client)
    yield env
    await env.shutdown()


async def test_a_notice_under_a_key_that_a_worker_lacks_is_one_line_each_time_that_names_it(
    stream: Stream, core: Core, engine: WorkflowEnvironment
) -> None:
    at = {"TEMPORAL_ADDRESS": engine.client.service_client.config.target_host}
    sender, lacking = (
        await connect(ring("one", one=ONE), environ=at),
        await connect(ring("two", two=TWO), environ=at),
    )
    handle = await stage.start(sender)

    async with stage.worker(lacking, World(RESET)):
        await stage.soon(core.said("Failing workflow task"))
        await handle.terminate()

    told = [line for line in stream.lines if "no key" in str(line)]
    assert {line["workflow_id"] for line in told} == {handle.id}
    assert {line["logger"] for line in told} == {"temporalio.worker._workflow"}
    assert not [line for line in told if "stack" in line]


async def test_a_migration_says_nothing_of_its_own_accord(stream: Stream, tmp_path: Path) -> None:
    assert (await migrate(f"sqlite:///{tmp_path}/new.db")).changed
    assert stream.lines == []
