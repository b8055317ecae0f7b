"""Spans as they may leave the process: names that are known, classified words, and of an error its class.

The engine's own spans record what exceptions say and where they came through, which can hold anything.
"""

from collections.abc import Mapping, Sequence
from typing import Final, overload

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import Link, SpanContext, Status
from opentelemetry.util.types import Attributes, AttributeValue
from temporalio import workflow
from typing_extensions import override

from activities.discreet import redact
from workflows.policy.keys import attempted, parts

ATTEMPT: Final = "standby.attempt_key"
KIND: Final = "standby.kind"
_WORKFLOW: Final = "temporalWorkflowID"
_INSIDE: Final = "standby.inside"
"""Marks spans that only a workflow can end."""

KNOWN: Final = frozenset(
    {
        ATTEMPT,
        KIND,
        _WORKFLOW,
        "error.type",
        "exception.type",
        "http.request.method",
        "http.response.status_code",
        "http.route",
        "standby.channel",
        "standby.outcome",
        "standby.phase",
        "standby.provider",
        "standby.rule",
        "standby.status",
        "temporalActivityID",
        "temporalRunID",
    }
)
"""The attributes that leave: opaque ids and words out of few."""


class Discreet(SpanProcessor):
    """Hands copies of spans on to a processor, which sees nothing else of them."""

    def __init__(self, inner: SpanProcessor) -> None:
        self._inner = inner

    @override
    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        if workflow.in_workflow():
            span.set_attribute(_INSIDE, value=True)

    @override
    def on_end(self, span: ReadableSpan) -> None:
        # Of a workflow that a worker still had when it stopped, the garbage collector ends the span; the next
        # worker goes on in it.
        if _INSIDE not in (span.attributes or {}) or workflow.in_workflow():
            self._inner.on_end(discreet(span))

    @override
    def shutdown(self) -> None:
        self._inner.shutdown()

    @override
    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)


def discreet(span: ReadableSpan) -> ReadableSpan:
    """Return a copy without texts of errors, unknown attributes, and what looks like personal data."""
    return ReadableSpan(
        name=redact(span.name),
        context=_bare(span.context),
        parent=_bare(span.parent),
        resource=span.resource,
        attributes=_kind(_known(span.attributes)),
        events=[Event(redact(each.name), _known(each.attributes), each.timestamp) for each in span.events],
        links=[Link(_bare(each.context), _known(each.attributes)) for each in span.links],
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def described(resource: Resource) -> Resource:
    """Return what a process says of itself: the names are the operator's, and no value is an address."""
    return Resource({name: _said(value) for name, value in resource.attributes.items()}, resource.schema_url)


def _known(attributes: Attributes) -> dict[str, AttributeValue]:
    return {name: _said(value) for name, value in (attributes or {}).items() if name in KNOWN}


def _said(value: AttributeValue) -> AttributeValue:
    match value:
        case str():
            return redact(value)
        case Sequence():
            return [redact(each) if isinstance(each, str) else each for each in value]
        case _:
            return value


def _kind(attributes: Mapping[str, AttributeValue]) -> Mapping[str, AttributeValue]:
    """Add the kind of the notice that a span is about, if its keys say it."""
    try:
        if ATTEMPT in attributes:
            key = attempted(str(attributes[ATTEMPT])).notice_key
        else:
            key = str(attributes.get(_WORKFLOW))
        return {KIND: parts(key).kind, **attributes}
    except ValueError:
        return attributes


@overload
def _bare(context: SpanContext) -> SpanContext: ...
@overload
def _bare(context: None) -> None: ...
def _bare(context: SpanContext | None) -> SpanContext | None:
    """Leave out the tracestate, where a caller's vendor can write what it likes."""
    if context is None:
        return None
    return SpanContext(context.trace_id, context.span_id, context.is_remote, context.trace_flags)
