"""Spans of ours: what they say, whose trace they are in, and what is kept out of them."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from threading import Event

import httpx
import pytest
from opentelemetry import baggage, trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from activities import tracing
from activities.metrics import NOTHING
from activities.telemetry import Called, provider_call
from workflows.policy.words import Channel, Status

MARKED = "anna.marked@example.test"
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
HEADERS = {
    "traceparent": f"00-{TRACE}-{PARENT}-01",
    "tracestate": "vendor=marked",
    "baggage": f"customer={MARKED}",
}


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    kept = InMemorySpanExporter()
    tracing.tracing(SimpleSpanProcessor(kept))
    return kept


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> Iterator[InMemorySpanExporter]:
    exporter.clear()
    yield exporter
    assert "marked" not in "".join(each.to_json() for each in exporter.get_finished_spans())


def only(spans: InMemorySpanExporter) -> ReadableSpan:
    [span] = spans.get_finished_spans()
    return span


def called(verb: str = "send", key: str = "k:e:r:email:1") -> Called:
    return Called(verb, key, "sandbox", Channel.EMAIL)


def test_a_call_is_a_span_with_its_classified_answer(spans: InMemorySpanExporter) -> None:
    with provider_call(called(), NOTHING) as call:
        call.answered(Status.ACCEPTED)
    span = only(spans)
    assert (span.name, span.kind) == ("sandbox send", trace.SpanKind.CLIENT)
    assert dict(span.attributes or {}) == {
        "standby.kind": "k",
        "standby.attempt_key": "k:e:r:email:1",
        "standby.provider": "sandbox",
        "standby.channel": "email",
        "standby.status": "accepted",
    }


def test_of_an_exception_the_span_keeps_the_class_alone(spans: InMemorySpanExporter) -> None:
    with pytest.raises(httpx.ReadTimeout), provider_call(called(key=f"k:e:{MARKED}:email:1")):
        raise httpx.ReadTimeout(f"no reply about {MARKED}")
    span = only(spans)
    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes or {})["error.type"] == "ReadTimeout"
    assert not span.events


def test_tracing_may_be_set_up_twice(spans: InMemorySpanExporter) -> None:
    """A second set-up adds its processors, and takes nothing from the first."""
    later = InMemorySpanExporter()
    tracing.tracing(SimpleSpanProcessor(later))
    with provider_call(called("look_up")):
        pass
    assert [len(each.get_finished_spans()) for each in (spans, later)] == [1, 1]


def test_a_request_goes_on_in_its_caller_s_trace(spans: InMemorySpanExporter) -> None:
    with tracing.served("POST", "/notices", HEADERS) as request, provider_call(called()):
        request.answered(201)
    inner, outer = spans.get_finished_spans()
    assert (outer.name, outer.kind) == ("POST /notices", trace.SpanKind.SERVER)
    assert (outer.attributes or {})["http.response.status_code"] == 201
    assert outer.parent is not None
    assert outer.context is not None
    assert inner.parent is not None
    assert f"{outer.context.trace_id:032x}" == TRACE
    assert f"{outer.parent.span_id:016x}" == PARENT
    assert inner.parent.span_id == outer.context.span_id
    assert outer.status.status_code is StatusCode.UNSET


@pytest.mark.parametrize(("status", "word"), [(422, StatusCode.UNSET), (503, StatusCode.ERROR)])
def test_only_a_failure_of_ours_is_an_error(
    spans: InMemorySpanExporter, status: int, word: StatusCode
) -> None:
    with tracing.served("POST", "/notices", {}) as request:
        request.answered(status)
    assert only(spans).status.status_code is word


@pytest.mark.parametrize("broken", ["", "00-0-0-01", "marked", f"ff-{TRACE}-{PARENT}-01"])
def test_a_header_that_names_no_trace_begins_one(spans: InMemorySpanExporter, broken: str) -> None:
    with tracing.served("POST", "/notices", {"traceparent": broken}):
        pass
    assert only(spans).parent is None


def test_of_a_caller_s_headers_no_baggage_is_taken() -> None:
    with tracing.joined(HEADERS):
        assert f"{trace.get_current_span().get_span_context().trace_id:032x}" == TRACE
        assert not baggage.get_all()
    assert not trace.get_current_span().get_span_context().is_valid


async def test_requests_that_are_answered_at_once_do_not_mix(spans: InMemorySpanExporter) -> None:
    async def answer(number: int) -> None:
        trace_id = f"{number:032x}"
        with tracing.served("POST", "/notices", {"traceparent": f"00-{trace_id}-{PARENT}-01"}):
            await asyncio.sleep(0)
            assert f"{trace.get_current_span().get_span_context().trace_id:032x}" == trace_id

    await asyncio.gather(*(answer(number) for number in range(1, 6)))
    found = {span.context.trace_id for span in spans.get_finished_spans() if span.context is not None}
    assert found == {1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({}, "standby"),
        ({"OTEL_SERVICE_NAME": "notices"}, "notices"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=ours,stage=blue"}, "ours"),
        ({"OTEL_RESOURCE_ATTRIBUTES": f"stage=blue,owner={MARKED}"}, "standby"),
    ],
)
def test_a_process_is_named_by_the_standard_variables(
    environ: dict[str, str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in environ.items():
        monkeypatch.setenv(variable, value)
    said = tracing._resource().attributes
    assert said["service.name"] == name
    assert said.get("stage") == ("blue" if "blue" in str(environ) else None)
    assert "marked" not in str(dict(said))


def test_a_collector_that_takes_nothing_holds_nobody_up_who_leaves() -> None:
    let_go, left = Event(), Event()

    def leave() -> None:
        let_go.wait()
        left.set()

    tracing._awaited(leave, timedelta(milliseconds=10))
    assert not left.is_set(), "it was not waited for"
    let_go.set()
    assert left.wait(10)
