"""Marked addresses come through neither logs nor spans."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator

import httpx
import pytest
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from temporalio import activity
from temporalio.contrib.opentelemetry import OpenTelemetryPlugin
from temporalio.testing import ActivityEnvironment

from activities import logs, telemetry
from activities.providers.errors import Misconfigured
from activities.settings import LogFormat, LogLevel
from workflows.policy.words import Channel, Status

MARKED = "anna.marked@example.test"
NUMBER = "+4915112345678"
LINK = "https://shop.example/reset/marked-token?user=marked"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """A process that logs to a string, and is put back as it was."""
    root, raising = logging.root, logging.raiseExceptions
    handlers, level = root.handlers, root.level
    written = io.StringIO()
    logs.configure(LogFormat.JSON, LogLevel.DEBUG, written)
    yield written
    root.handlers, logging.raiseExceptions = handlers, raising
    root.setLevel(level)


def broken() -> httpx.ConnectError:
    """Return an error as a library raises it: with frames, a cause, and texts that repeat their input."""
    with pytest.raises(httpx.ConnectError) as caught:
        raise httpx.ConnectError(f"no route for {MARKED}") from ValueError(MARKED)
    return caught.value


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_json_object_with_its_facts(stream: io.StringIO) -> None:
    logs.event("sent", attempt="password_reset:reset-1:user-1:email:1", reads=2)
    [line] = lines(stream)
    assert str(line.pop("at")).endswith("Z")
    assert line == {
        "level": "info",
        "logger": "standby",
        "event": "sent",
        "attempt": "password_reset:reset-1:user-1:email:1",
        "reads": 2,
    }


@pytest.mark.parametrize("form", list(LogFormat))
def test_no_line_holds_a_marked_address(stream: io.StringIO, form: LogFormat) -> None:
    logs.configure(form, LogLevel.DEBUG, stream)
    log = logging.getLogger("anything")
    log.warning("to %s and %s", MARKED, NUMBER)
    log.warning("see %s", LINK)
    logs.event("sent", to=MARKED)
    error = broken()
    log.error("failed", exc_info=error)
    text = stream.getvalue()
    assert "anna" not in text
    assert "reset" not in text
    assert NUMBER not in text
    assert "ConnectError" in text
    assert "ValueError" in text
    assert "test_telemetry.py" in text, "the frames stay"


async def test_http_requests_are_not_logged_even_at_debug(stream: io.StringIO) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200))
    async with httpx.AsyncClient(transport=transport) as client:
        await client.get(LINK)
    assert stream.getvalue() == ""


def test_a_line_that_cannot_be_formatted_does_not_print_its_arguments(
    stream: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    two = "%s and %s"
    logging.getLogger("anything").warning(two, MARKED)
    assert "marked" not in stream.getvalue() + capsys.readouterr().err


async def test_a_line_of_an_activity_carries_the_engine_s_ids_as_facts(stream: io.StringIO) -> None:
    def probe() -> None:
        activity.logger.info("working")

    await asyncio.to_thread(ActivityEnvironment().run, probe)
    [line] = [each for each in lines(stream) if each["logger"] == "temporalio.activity"]
    assert (line["event"], line["workflow_id"], line["attempt"]) == ("working", "test", 1)


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    kept = InMemorySpanExporter()
    telemetry.tracing(SimpleSpanProcessor(kept))
    return kept


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> InMemorySpanExporter:
    exporter.clear()
    return exporter


def whole(span: ReadableSpan) -> str:
    return str(span.to_json())


def test_a_call_is_a_span_with_its_classified_answer(spans: InMemorySpanExporter) -> None:
    with telemetry.provider_call(
        "send", attempt_key="k:e:r:email:1", provider="sandbox", channel=Channel.EMAIL
    ) as call:
        call.answered(Status.ACCEPTED)
    [span] = spans.get_finished_spans()
    assert span.name == "sandbox send"
    assert dict(span.attributes or {}) == {
        "standby.attempt_key": "k:e:r:email:1",
        "standby.provider": "sandbox",
        "standby.channel": "email",
        "standby.status": "accepted",
    }


def test_of_an_exception_the_span_keeps_the_class_alone(spans: InMemorySpanExporter) -> None:
    with (
        pytest.raises(httpx.ReadTimeout),
        telemetry.provider_call(
            "send", attempt_key=f"k:e:{MARKED}:sms:1", provider="sandbox", channel=Channel.SMS
        ),
    ):
        raise httpx.ReadTimeout(f"no reply about {MARKED}")
    [span] = spans.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR
    assert dict(span.attributes or {})["error.type"] == "ReadTimeout"
    assert not span.events
    assert "marked" not in whole(span)


def test_tracing_may_be_set_up_twice(spans: InMemorySpanExporter) -> None:
    """A second set-up adds its processors, and takes nothing from the first."""
    later = InMemorySpanExporter()
    assert isinstance(telemetry.tracing(SimpleSpanProcessor(later)), OpenTelemetryPlugin)
    with telemetry.provider_call("look_up", attempt_key="k:e:r:sms:1", provider="p", channel=Channel.SMS):
        pass
    assert [len(each.get_finished_spans()) for each in (spans, later)] == [1, 1]


async def test_each_provider_call_is_counted_by_what_came_of_it() -> None:
    reader = InMemoryMetricReader()
    metrics.set_meter_provider(MeterProvider([reader]))
    facts = {"attempt_key": "k:e:u:email:1", "provider": "sandbox", "channel": Channel.EMAIL}
    with telemetry.provider_call("send", **facts) as call:  # type: ignore[arg-type]
        call.answered(Status.PENDING)
    with pytest.raises(Misconfigured), telemetry.provider_call("send", **facts):  # type: ignore[arg-type]
        raise Misconfigured("HTTP 401")

    data = json.loads(reader.get_metrics_data().to_json())  # type: ignore[union-attr]
    [counted] = data["resource_metrics"][0]["scope_metrics"][0]["metrics"]
    found = {point["attributes"]["outcome"]: point["value"] for point in counted["data"]["data_points"]}
    assert counted["name"] == "standby.provider.calls"
    assert (found["pending"], found["Misconfigured"]) == (1, 1)
    assert "k:e:u" not in json.dumps(data)
