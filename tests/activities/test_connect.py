import asyncio
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import pytest
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from temporalio import activity
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from activities import tracing
from activities.codec import Seal
from activities.connect import EngineUnreachableError, connect, runtime
from tests.activities.probe import Probe
from tests.activities.test_codec import ONE, ring
from tests.servers import test_server as server
from workflows.policy.models import Recipient
from workflows.policy.words import Channel
from workflows.sandbox import RUNNER

KEYS = ring("one", one=ONE)
SOON = timedelta(seconds=0.3)
OUTER = trace.SpanContext(7, 9, is_remote=False, trace_flags=trace.TraceFlags(1))


@pytest.fixture(scope="module")
async def address() -> AsyncIterator[str]:
    env = await WorkflowEnvironment.start_time_skipping(test_server_existing_path=server(), runtime=runtime())
    yield env.client.service_client.config.target_host
    await env.shutdown()
    await asyncio.sleep(0.05)  # the SDK's threads may still be closing (sdk-python issue 300)


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """A port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def at(port: socket.socket) -> str:
    return f"127.0.0.1:{port.getsockname()[1]}"


async def test_the_address_and_the_namespace_come_from_the_temporal_profile(address: str) -> None:
    client = await connect(KEYS, environ={"TEMPORAL_ADDRESS": address, "TEMPORAL_NAMESPACE": "blue"})
    assert client.service_client.config.target_host == address
    assert client.namespace == "blue"


async def test_an_engine_that_is_not_there_is_one_line_with_its_address(listening: socket.socket) -> None:
    where = at(listening)
    listening.close()
    with pytest.raises(EngineUnreachableError) as caught:
        await connect(KEYS, environ={"TEMPORAL_ADDRESS": where})
    assert str(caught.value) == (
        f"no Temporal engine at {where} (connection refused):"
        " start one with `standby dev`, or set TEMPORAL_ADDRESS"
    )


async def test_an_engine_that_does_not_answer_is_given_up_in_time(listening: socket.socket) -> None:
    async with asyncio.timeout(60):
        with pytest.raises(EngineUnreachableError, match="no answer in time"):
            await connect(KEYS, environ={"TEMPORAL_ADDRESS": at(listening)}, patience=SOON)


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        *(
            (
                {"TEMPORAL_ADDRESS": where},
                "TEMPORAL_ADDRESS: is not an address: it must be like 127.0.0.1:7233",
            )
            for where in (
                "no such host",
                "http://127.0.0.1:1",
                "dns:///a:1",
                "::1",
                "a:1/",
                "u@a:1",
                "a\x01:1",
            )
        ),
        ({"TEMPORAL_ADDRESS": "127.0.0.1:99999"}, "(not an address)"),
        (
            {"TEMPORAL_PROFILE": "nowhere"},
            "Temporal profile: Profile 'nowhere' not found; see TEMPORAL_PROFILE",
        ),
    ],
)
async def test_a_mistyped_profile_is_one_line(environ: dict[str, str], says: str) -> None:
    with pytest.raises(EngineUnreachableError, match=re.escape(says)) as caught:
        await connect(KEYS, environ=environ)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("span", "carries"),
    [
        (trace.NonRecordingSpan(OUTER), [{"traceparent": f"00-{7:032x}-{9:016x}-01"}]),
        (trace.INVALID_SPAN, []),
    ],
    ids=["in a span", "in none"],
)
async def test_a_backend_s_start_carries_the_span_that_it_is_made_in_and_nothing_else(
    address: str, span: trace.Span, carries: list[dict[str, str]]
) -> None:
    client = await connect(KEYS, environ={"TEMPORAL_ADDRESS": address})
    with trace.use_span(span):
        handle = await client.start_workflow(
            Probe.run, Recipient(id="u"), id=f"carried-{len(carries)}", task_queue="nobody"
        )
    begun = (await handle.fetch_history()).events[0].workflow_execution_started_event_attributes
    await handle.terminate()
    carried = [json.loads((await Seal(KEYS).decode([each]))[0].data) for each in begun.header.fields.values()]
    assert carried == carries


async def test_a_provider_call_belongs_to_the_caller_s_trace_and_its_baggage_is_sealed(address: str) -> None:
    exporter = InMemorySpanExporter()
    plugins = tracing.tracing(SimpleSpanProcessor(exporter))
    client = await connect(KEYS, environ={"TEMPORAL_ADDRESS": address}, plugins=plugins)

    @activity.defn(name="probe")
    async def probe(person: Recipient) -> Recipient:
        with tracing.calling("send", "sandbox", "k:e:r:sms:1", Channel.SMS):
            return person

    token = context.attach(baggage.set_baggage("customer", "marked"))
    with trace.get_tracer("backend").start_as_current_span("order") as order:
        async with Worker(
            client, task_queue="probe", workflows=[Probe], activities=[probe], workflow_runner=RUNNER
        ):
            handle = await client.start_workflow(
                Probe.run,
                Recipient(id="u"),
                id="traced",
                task_queue="probe",
                execution_timeout=timedelta(seconds=20),
            )
            await handle.result()
    context.detach(token)

    [called] = [span for span in exporter.get_finished_spans() if span.name == "sandbox send"]
    assert called.context is not None
    assert called.context.trace_id == order.get_span_context().trace_id
    kept = "".join(str(event) for event in (await handle.fetch_history()).events)
    assert "_tracer-data" in kept
    assert "marked" not in kept
    assert "traceparent" not in kept


BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
"""As in an ordinary shell: what is printed waits in memory until it is flushed."""


def process(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own interpreter and our own code
        [sys.executable, "-c", code], capture_output=True, text=True, env=BUFFERED, timeout=60, check=False
    )


def test_finish_writes_what_was_printed_and_gives_its_own_exit_code() -> None:
    ended = process("from activities.connect import finish; print('told', end=''); finish(4)")
    assert (ended.returncode, ended.stdout) == (4, "told")


def test_finish_runs_nothing_after_it() -> None:
    ended = process(
        "import atexit; from activities.connect import finish; atexit.register(print, 'late'); finish(0)"
    )
    assert ended.stdout == ""


def test_the_sdk_s_own_log_lines_do_not_reach_stdout(address: str) -> None:
    """They go there by default, and would spoil every answer that is JSON."""
    ended = process(TALKING.format(address=address))
    assert (ended.returncode, ended.stdout) == (0, "{}\n"), ended.stderr
    loggers = {json.loads(line)["logger"] for line in ended.stderr.splitlines()}
    assert "temporalio.worker._workflow_instance" in loggers
    assert "marked" not in ended.stderr


TALKING = """
import asyncio
import logging
from datetime import timedelta
from temporalio.api.enums.v1 import EventType
from temporalio.worker import Worker
from activities import logs
from activities.connect import connect, finish
from activities.keyring import Keyring
from activities.settings import LogFormat, LogLevel
from tests.activities.probe import Probe
from workflows.policy.models import Recipient

logs.configure(LogFormat.JSON, LogLevel.INFO)

async def main():
    core, loop = asyncio.Event(), asyncio.get_running_loop()
    logging.getLogger("temporalio.core").addFilter(lambda _: loop.call_soon_threadsafe(core.set) is None)
    client = await connect(Keyring.plaintext(), environ={{"TEMPORAL_ADDRESS": "{address}"}})
    async with Worker(client, task_queue="talking", workflows=[Probe]):
        handle = await client.start_workflow(
            Probe.run, Recipient(id="breaks", email="anna.marked@example.test"), id="talking",
            task_queue="talking", execution_timeout=timedelta(seconds=20),
        )
        while not any(
            event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
            for event in (await handle.fetch_history()).events
        ):
            await asyncio.sleep(0.02)
        await core.wait()
        await handle.terminate()
    print("{{}}")

asyncio.run(main())
finish(0)
"""
