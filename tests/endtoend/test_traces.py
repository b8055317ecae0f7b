"""One trace from the backend that starts a notice to the call of a provider, and nothing personal in it."""

import asyncio
import gc
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import JsonValue
from temporalio import activity
from temporalio.activity import Info
from temporalio.client import Client, WorkflowFailureError
from temporalio.plugin import SimplePlugin
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor
from typing_extensions import override

from activities.tracing import tracing
from client.runs import handle_of
from console.engine import free_port
from receiver import hosting as receiving
from receiver.serving import Address
from sandbox.callbacks import signature
from sandbox.fates import Fate
from tests.endtoend import marks
from tests.endtoend.deployment import Manner, Town, send
from tests.endtoend.scenes import PATIENCE, ended, notice, until
from tests.endtoend.shop import wanted
from tests.endtoend.spans import Collector, Seen, Uncached, Woven, collecting, woven
from workflows import calls
from workflows.notice import Notice
from workflows.policy.keys import attempt_key, verification_id
from workflows.policy.models import NoticeRequest
from workflows.policy.words import Channel, Phase
from workflows.verification import Verification

API_KEY, SECRET = "key-of-the-backends", "a-secret-of-this-test"
FIELDS: Mapping[str, JsonValue] = MappingProxyType(
    {"name": marks.NAME, "valid_minutes": 10, "reset_url": marks.LINK}
)
CALLER, BESIDE = 0x4BF92F3577B34DA6A3CE929D0E0E4736, 0x5BF92F3577B34DA6A3CE929D0E0E4736
PARENT = 0x00F067AA0BA902B7


def marked(name: str, email: Fate, phone: Fate | None = None) -> NoticeRequest:
    """Return a notice to the marked person; its ids are opaque."""
    request = notice(name, email, phone, fields=dict(FIELDS))
    recipient = request.recipient.model_copy(update={"email": email.email(marks.MAILBOX)})
    return request.model_copy(update={"recipient": recipient})


def named(trace_id: int) -> dict[str, str]:
    """Return the headers of a caller with a trace of its own, and with things that it should not send."""
    return {
        "Authorization": f"Bearer {API_KEY}",
        "traceparent": f"00-{trace_id:032x}-{PARENT:016x}-01",
        "tracestate": f"vendor={marks.PATH}",
        "baggage": f"customer={marks.MAILBOX}",
    }


@dataclass(frozen=True)
class Office:
    """A deployment with its receiver, all in this process, and the spans that it makes."""

    manner: Manner
    client: Client
    http: httpx.AsyncClient
    exporter: InMemorySpanExporter
    keys: dict[str, str] = field(default_factory=dict)

    @property
    def spans(self) -> Woven:
        return woven(self.exporter.get_finished_spans())

    async def order(self) -> None:
        """Start one as a backend in Python does, in its own span; its email bounces."""
        asked = marked("ordered", Fate.BOUNCED, Fate.DELIVERED)
        with trace.get_tracer("backend").start_as_current_span("order"):
            handle = await send(self.client, self.manner, asked)
        self.keys["ordered"] = asked.key
        await ended(handle)

    async def call_back(self) -> None:
        """Start one over HTTP, and let its provider call."""
        asked = marked("called", Fate.SILENT)
        document = asked.model_dump(mode="json", exclude_none=True)
        answer = await self.http.post("/notices", json=document, headers=named(CALLER))
        assert answer.status_code == 201
        key = self.keys["called"] = asked.key
        handle = handle_of(self.client, key)

        async def waits() -> bool:
            return (await handle.query(Notice.evidence)).phase is Phase.AWAITING

        await until(waits)
        await self._report(attempt_key(key, Channel.EMAIL), "delivered")
        await ended(handle)

    async def _report(self, key: str, status: str) -> None:
        said = {"id": "m-1", "key": key, "status": status, "to": marks.MAILBOX}
        body = json.dumps({"event_id": "e-1", "message": said}).encode()
        at = str(int(datetime.now(UTC).timestamp()))
        headers = {"Sandbox-Timestamp": at, "Sandbox-Signature": signature(SECRET, at, body)}
        url = "/callbacks/sandbox"
        assert (await self.http.post(url, content=body, headers=headers)).status_code == 200
        forged = headers | {"Sandbox-Signature": "forged"} | named(BESIDE)
        assert (await self.http.post(url, content=body, headers=forged)).status_code == 403

    async def verify(self) -> None:
        """Ask for a verification over HTTP, and give it up once its message has left."""
        asked = wanted("a-1", f"+1{marks.AREA}182", return_url=f"https://shop.example.test/{marks.PATH}")
        answer = await self.http.post("/verifications", json=asked, headers=named(BESIDE))
        assert answer.status_code == 201, answer.text
        name = self.keys["verified"] = verification_id(answer.json()["id"])
        handle = self.client.get_workflow_handle_for(Verification.run, name)
        await self.manner.submitted(f"signup_verification:{answer.json()['id']}:a-1")
        await handle.signal(Verification.withdraw)
        async with asyncio.timeout(PATIENCE.total_seconds()):
            await handle.result()

    async def misunderstand(self) -> None:
        """Start what no worker can read: the errors of libraries repeat what they were given."""
        person = {"id": "1", "email": [Fate.ODD.email(marks.MAILBOX)]}
        asked = {"kind": "password_reset", "event_id": "1", "recipient": person, "fields": dict(FIELDS)}
        queue = self.manner.queue
        handle = await self.client.start_workflow("Notice", asked, id="unreadable", task_queue=queue)
        with pytest.raises(WorkflowFailureError):
            await handle.result()


class Repeating(SimplePlugin):
    """Lets the first check of every notice fail as libraries do, which repeat what they were given."""

    def __init__(self) -> None:
        super().__init__("tests.Repeating", interceptors=[self.Interceptor()])

    class Interceptor(Interceptor):
        @override
        def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
            return Repeating.Inbound(next)

    class Inbound(ActivityInboundInterceptor):
        @override
        async def execute_activity(self, input: ExecuteActivityInput) -> object:
            match input.args, activity.info():
                case [calls.Check(recipient=person, is_fallback=False)], Info(
                    attempt=1, activity_type="check"
                ):
                    raise ConnectionError(f"no route for {person.email}") from ValueError(person.phone)
            return await super().execute_activity(input)


@asynccontextmanager
async def opened(town: Town) -> AsyncIterator[Office]:
    at = Address(port=free_port())
    choices = {
        "STANDBY_API_KEY": API_KEY,
        "STANDBY_PUBLIC_URL": at.url,
        "STANDBY_RETURN_URLS": "https://shop.example.test",
        "STANDBY_SANDBOX_SECRET": SECRET,
    }
    exporter = InMemorySpanExporter()
    async with (
        town.deployment(choices=choices) as manner,
        manner.worker(*tracing(SimpleSpanProcessor(exporter)), Repeating()) as client,
        receiving.hosted(client, manner.parts, at),
        httpx.AsyncClient(base_url=at.url, trust_env=False) as http,
    ):
        yield Office(manner, client, http, exporter)


@pytest.fixture(scope="module")
async def office(town: Town) -> AsyncIterator[Office]:
    """An office that has seen a day's work."""
    async with opened(town) as office:
        await asyncio.gather(office.order(), office.call_back(), office.verify(), office.misunderstand())
        await handle_of(office.client, office.keys["ordered"]).query(Notice.evidence)
        yield office


def test_one_trace_holds_the_caller_the_workflow_its_activities_and_both_providers(office: Office) -> None:
    order = office.spans.only("order")
    mine = office.spans.of(order.trace)
    assert mine.spans == tuple(each for each in office.spans.spans if each.trace == order.trace)
    assert {each.name for each in office.spans.about(office.keys["ordered"]).of(order.trace).spans} == {
        each.name for each in mine.spans if each != order
    }
    upwards = ["RunWorkflow:Notice", "StartWorkflow:Notice", "order"]
    for call, channel in (("send", "email"), ("send", "sms"), ("look_up", "email"), ("look_up", "sms")):
        spans = [s for s in mine.named(f"sandbox {call}") if s.attributes["standby.channel"] == channel]
        assert spans
        for span in spans:
            assert mine.line(span) == [
                f"sandbox {call}",
                f"RunActivity:{call}",
                f"StartActivity:{call}",
                *upwards,
            ]


def test_spans_say_the_kind_the_attempt_the_phase_and_the_end(office: Office) -> None:
    key = office.keys["ordered"]
    mine = office.spans.of(office.spans.only("order").trace)
    assert mine.only("RunWorkflow:Notice").attributes["standby.outcome"] == "delivered"
    assert mine.only("RunWorkflow:Notice").attributes["standby.kind"] == "password_reset"
    assert [each.attributes["standby.attempt_key"] for each in mine.named("RunActivity:send")] == [
        attempt_key(key, Channel.EMAIL),
        attempt_key(key, Channel.SMS),
    ]
    assert mine.only("RunActivity:admit").attributes["standby.phase"] == "queued"
    assert mine.only("RunActivity:close").attributes["standby.phase"] == "closed"
    assert {each.attributes["standby.kind"] for each in mine.spans if each.name != "order"} == {
        "password_reset"
    }


def test_a_verification_says_its_kind_and_its_end(office: Office) -> None:
    said = office.spans.only("RunWorkflow:Verification").attributes
    assert (said["standby.kind"], said["standby.outcome"]) == ("signup_verification", "withdrawn")


@pytest.mark.parametrize(
    ("route", "trace_id", "workflow"),
    [("/notices", CALLER, "Notice"), ("/verifications", BESIDE, "Verification")],
)
def test_a_backend_that_speaks_http_has_one_trace_too(
    office: Office, route: str, trace_id: int, workflow: str
) -> None:
    mine = office.spans.of(trace_id)
    request = mine.only(f"POST {route}")
    assert request.parent == PARENT
    assert request.attributes["http.response.status_code"] == 201
    (sent, *_) = mine.named("sandbox send")
    above = ["RunWorkflow:Notice", "StartChildWorkflow:Notice"] if workflow == "Verification" else []
    assert mine.line(sent) == [
        "sandbox send",
        "RunActivity:send",
        "StartActivity:send",
        *above,
        f"RunWorkflow:{workflow}",
        f"StartWorkflow:{workflow}",
        f"POST {route}",
    ]


def test_a_callback_and_the_notice_that_it_is_about_point_at_each_other(office: Office) -> None:
    spans = office.spans
    called, run = spans.only("callback sandbox"), spans.of(CALLER).only("RunWorkflow:Notice")
    heard = spans.of(called.trace).only("HandleSignal:observe")
    assert called.parent is None, "nobody's trace but its own: also a provider may not join ours"
    assert spans.line(heard) == ["HandleSignal:observe", "SignalWorkflow:observe", "callback sandbox"]
    assert run.span in heard.links
    assert heard.span in run.links


def test_what_is_not_believed_makes_no_span(office: Office) -> None:
    assert len(office.spans.named("callback sandbox")) == 1
    assert not [each for each in office.spans.of(BESIDE).spans if "callback" in each.name]


async def test_strangers_join_no_trace(office: Office) -> None:
    headers = named(CALLER + 1) | {"Authorization": "Bearer a-guess"}
    for route in ("/notices", "/verifications", "/verifications/c/consume", "/verifications/c/resend"):
        assert (await office.http.post(route, headers=headers)).status_code == 401
    assert not office.spans.of(CALLER + 1).spans


def test_nothing_personal_is_in_any_span(office: Office) -> None:
    spans = office.exporter.get_finished_spans()
    told = [each.to_json() for each in spans]
    told += [f"{each.context} {each.parent} {[link.context for link in each.links]}" for each in spans]
    text = "\n".join(told)
    assert marks.found_in(text.encode()) == []
    failures = {
        (each.name, event.name, *(event.attributes or {}).items()) for each in spans for event in each.events
    }
    assert failures == {("RunActivity:check", "exception", ("exception.type", "ConnectionError"))}
    assert all(each.status.description is None for each in spans)


def repeated(spans: Woven) -> list[Seen]:
    return [each for each in spans.spans if [s.span for s in spans.spans].count(each.span) > 1]


async def test_a_worker_that_replays_every_task_makes_no_span_twice(town: Town) -> None:
    exporter = InMemorySpanExporter()
    plugins = (*tracing(SimpleSpanProcessor(exporter)), Uncached())
    asked = marked("forgotten", Fate.BOUNCED, Fate.DELIVERED)
    async with town.deployment() as manner, manner.worker(*plugins) as client:
        await ended(await send(client, manner, asked))
    spans = woven(exporter.get_finished_spans()).about(asked.key)
    assert repeated(spans) == []
    run = spans.only("RunWorkflow:Notice")
    begun, done = (
        sorted(
            each.name.partition(":")[2] for each in spans.spans if each.name.startswith(f"{which}Activity:")
        )
        for which in ("Start", "Run")
    )
    assert begun == done
    assert begun.count("send") == 2
    assert all(each.parent == run.span for each in spans.spans if each.name.startswith("StartActivity:"))


async def test_a_notice_that_changes_workers_goes_on_in_its_spans(town: Town) -> None:
    exporter = InMemorySpanExporter()
    plugins = tracing(SimpleSpanProcessor(exporter))
    asked = marked("handed-over", Fate.SILENT)
    async with town.deployment() as manner:

        async def begin() -> None:
            async with manner.worker(*plugins) as client:
                await send(client, manner, asked)
                await manner.submitted(asked.key)

        # A loop of its own, so that all of the first worker is gone with it.
        await asyncio.to_thread(asyncio.run, begin())
        gc.collect()
        assert not woven(exporter.get_finished_spans()).named("RunWorkflow:Notice"), "it is not over"
        async with manner.worker(*plugins) as client:
            handle = handle_of(client, asked.key)
            await handle.signal(Notice.withdraw)
            await ended(handle)
    spans = woven(exporter.get_finished_spans()).about(asked.key)
    assert repeated(spans) == []
    run = spans.only("RunWorkflow:Notice")
    (sent,) = spans.named("StartActivity:send")
    assert sent.parent == run.span, "the same span, though two workers had it"


@asynccontextmanager
async def working(manner: Manner, **environ: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run `worker.py` as people do, until the block is left."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "worker.py"),
        env=os.environ | manner.environ | {"NO_PROXY": "127.0.0.1"} | environ,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield child
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


async def stopped(child: asyncio.subprocess.Process) -> list[dict[str, object]]:
    """Tell a worker to stop, and return its log once it has."""
    child.send_signal(signal.SIGTERM)
    async with asyncio.timeout(PATIENCE.total_seconds()):
        _, log = await child.communicate()
    assert child.returncode == 0, log.decode()
    return [json.loads(line) for line in log.splitlines()]


async def start_by_command(manner: Manner, asked: NoticeRequest, **environ: str) -> None:
    """Start a notice as a script does."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "starter.py", "send", "-"),
        env=os.environ | manner.environ | {"NO_PROXY": "127.0.0.1"} | environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    document = asked.model_dump_json(exclude_none=True).encode()
    async with asyncio.timeout(PATIENCE.total_seconds()):
        told, problems = await child.communicate(document)
    assert child.returncode == 0, told + problems


def exporting(to: Address) -> dict[str, str]:
    """Return the standard variables, with a pause between batches that no test waits for."""
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": to.url,
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20of-the-collector",
        "OTEL_BSP_SCHEDULE_DELAY": "3600000",
        "OTEL_METRICS_EXPORTER": "none",
    }


@pytest.fixture(scope="module")
async def collector(town: Town) -> AsyncIterator[Collector]:
    """A collector that a worker and a command, each a process of its own, have sent their spans to."""
    async with collecting() as collector, town.deployment() as manner:
        environ = exporting(collector.at) | {"OTEL_RESOURCE_ATTRIBUTES": "stage=blue"}
        async with working(manner, **environ, OTEL_SERVICE_NAME="workers") as worker:
            asked = marked("by-command", Fate.BOUNCED, Fate.DELIVERED)
            trace_parent = named(CALLER)["traceparent"]
            await start_by_command(manner, asked, **environ, TRACEPARENT=trace_parent)
            await manner.submitted(asked.key)
            log = await stopped(worker)
            assert not [line for line in log if "traces" in str(line["event"])], log
        yield collector


def test_spans_of_every_process_reach_the_collector_in_one_trace(collector: Collector) -> None:
    mine = collector.woven.of(CALLER)
    started = mine.only("StartWorkflow:Notice")
    assert started.parent == PARENT
    (sent, *_) = mine.named("sandbox send")
    assert sent.attributes["standby.kind"] == "password_reset"
    assert mine.line(sent)[:3] == ["sandbox send", "RunActivity:send", "StartActivity:send"]
    assert {each.parent for each in mine.named("StartActivity:send")} != {None}


def test_they_come_as_protobuf_with_the_headers_that_were_asked_for(collector: Collector) -> None:
    assert len(collector.headers) >= 2
    for headers in collector.headers:
        assert headers["content-type"] == "application/x-protobuf"
        assert headers["authorization"] == "Bearer of-the-collector"


def test_each_process_says_who_it_is(collector: Collector) -> None:
    said = [{a.key: a.value.string_value for a in each.resource.attributes} for each in collector.resources]
    assert {each["service.name"] for each in said} == {"standby", "workers"}
    assert {each["stage"] for each in said} == {"blue"}


def test_nothing_personal_reaches_the_collector(collector: Collector) -> None:
    raw = b"\n".join(collector.raw)
    assert b"password_reset:event:by-command" in raw, "it is about the marked person"
    assert marks.found_in(raw) == []


async def test_without_a_collector_s_answer_notices_go_on_and_the_log_says_so_once(town: Town) -> None:
    nowhere = Address(port=free_port())
    environ = exporting(nowhere) | {"OTEL_BSP_SCHEDULE_DELAY": "100"}
    async with town.deployment() as manner, working(manner, **environ) as worker:
        asked = marked("unobserved", Fate.BOUNCED, Fate.DELIVERED)
        await start_by_command(manner, asked, **environ)
        await manner.submitted(asked.key)
        log = await stopped(worker)
    said = [line for line in log if line["event"] == "traces do not reach the collector"]
    assert len(said) == 1
    assert not [line for line in log if str(line["logger"]).startswith("opentelemetry")]
