"""Whatever a span was given, what leaves is opaque ids and known words."""

import json

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from activities.discreet_spans import KNOWN, Discreet, described

MARKED = "anna.marked@example.test"
NUMBER = "+4915112345678"
LINK = "https://shop.example/reset/marked-token"
TEXTS = (MARKED, f"no reply from {NUMBER}", LINK)
CONTEXT = SpanContext(
    1, 2, is_remote=True, trace_flags=TraceFlags(1), trace_state=TraceState([("v", "marked")])
)


def span(**changes: object) -> ReadableSpan:
    given = {"name": "RunActivity:send", "context": CONTEXT, "resource": Resource({}), **changes}
    return ReadableSpan(**given)  # type: ignore[arg-type]


def left(given: ReadableSpan) -> ReadableSpan:
    """Return what an exporter sees of a span."""
    kept = InMemorySpanExporter()
    Discreet(SimpleSpanProcessor(kept)).on_end(given)
    (seen,) = kept.get_finished_spans()
    return seen


def whole(seen: ReadableSpan) -> str:
    return json.dumps([json.loads(seen.to_json()), str(seen.context), str(seen.parent), str(seen.links)])


PLACES = {
    "its name": lambda text: span(name=f"HandleSignal:{text}"),
    "a known attribute": lambda text: span(attributes={"temporalWorkflowID": text}),
    "a list of a known attribute": lambda text: span(attributes={"standby.rule": (text, "a")}),
    "an attribute's name": lambda text: span(attributes={text: "a"}),
    "the words of its status": lambda text: span(status=Status(StatusCode.ERROR, f"RPCError: {text}")),
    "the name of an event": lambda text: span(events=[Event(text)]),
    "the message of an exception": lambda text: span(
        events=[Event("exception", {"exception.message": text, "exception.stacktrace": text})]
    ),
    "an attribute of a link": lambda text: span(links=[Link(CONTEXT, {"about": text, "http.route": text})]),
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("place", PLACES)
def test_no_personal_text_leaves(place: str, text: str) -> None:
    given = PLACES[place](text)
    assert text in whole(given), "it is there before"
    assert "marked" not in whole(left(given))
    assert NUMBER not in whole(left(given))


def test_an_attribute_that_nobody_knows_does_not_leave_however_harmless() -> None:
    seen = left(span(attributes={"temporalUpdateID": "once-1", "temporalRunID": "run-1"}))
    assert dict(seen.attributes or {}) == {"temporalRunID": "run-1"}


def test_of_a_tracestate_nothing_leaves() -> None:
    seen = left(span(parent=CONTEXT, links=[Link(CONTEXT)]))
    assert "marked" not in whole(seen)
    assert seen.parent is not None
    assert (seen.parent.trace_id, seen.parent.span_id, seen.parent.is_remote) == (1, 2, True)
    assert seen.links[0].context.span_id == 2


def test_everything_else_stays_as_it_was() -> None:
    given = span(
        kind=SpanKind.CLIENT,
        status=Status(StatusCode.ERROR, MARKED),
        events=[Event("exception", {"exception.type": "RPCError", "exception.message": MARKED}, 7)],
        start_time=5,
        end_time=9,
    )
    seen = left(given)
    assert (seen.name, seen.kind, seen.start_time, seen.end_time) == (
        "RunActivity:send",
        SpanKind.CLIENT,
        5,
        9,
    )
    assert (seen.status.status_code, seen.status.description) == (StatusCode.ERROR, None)
    [event] = seen.events
    assert (event.name, event.timestamp, event.attributes) == ("exception", 7, {"exception.type": "RPCError"})
    assert seen.context is not None
    assert seen.context.trace_flags.sampled


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"temporalWorkflowID": "password_reset:e:u"}, "password_reset"),
        ({"standby.attempt_key": "password_reset:e:u:sms:1"}, "password_reset"),
        ({"temporalWorkflowID": "verification:c1"}, None),
        ({"temporalWorkflowID": "verification:c1", "standby.kind": "verify_address"}, "verify_address"),
        ({}, None),
    ],
)
def test_a_span_says_the_kind_of_its_notice(attributes: dict[str, str], kind: str | None) -> None:
    assert (left(span(attributes=attributes)).attributes or {}).get("standby.kind") == kind


def test_what_a_process_says_of_itself_is_the_operator_s_but_no_address() -> None:
    said = described(Resource({"service.name": "standby", "team": f"call {MARKED}", "replicas": 2}))
    assert dict(said.attributes) == {"service.name": "standby", "team": "call [address]", "replicas": 2}


def test_no_known_attribute_is_one_that_holds_texts() -> None:
    texts = {"exception.message", "exception.stacktrace", "temporalUpdateID", "url.full", "url.path"}
    assert not texts & KNOWN
