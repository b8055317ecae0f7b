"""One trace from the backend that starts a notice to the call of a provider.

Nothing is recorded unless somebody is there to read it; the trace of a caller is passed on in any case.
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from http import HTTPStatus
from threading import Thread
from typing import Final

from opentelemetry import context, trace
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue
from temporalio.client import Interceptor, OutboundInterceptor, Plugin
from temporalio.contrib.opentelemetry import (
    OpenTelemetryInterceptor,
    OpenTelemetryPlugin,
    ReplaySafeTracerProvider,
    create_tracer_provider,
)
from temporalio.plugin import SimplePlugin
from typing_extensions import override

from activities import trace_export
from activities.discreet import redact
from activities.discreet_spans import ATTEMPT, Discreet, described
from activities.span_facts import Facts
from workflows.policy.words import Channel

FLUSH: Final = timedelta(seconds=3)
"""How long a process that leaves waits for its last spans to be taken."""

_SERVICE: Final = "standby"
_TRACER: Final = trace.get_tracer(_SERVICE)
_W3C: Final = TraceContextTextMapPropagator()


class _Carrying(Interceptor):
    """Gives calls of the engine the trace that they are made in, and makes no span of them."""

    @override
    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        return OpenTelemetryInterceptor(add_temporal_spans=False).intercept_client(next)


CARRYING: Final[Plugin] = SimplePlugin("standby.Carrying", interceptors=[_Carrying()])
"""For clients in the processes of others, whose spans are their own affair."""


@cache
def plugins() -> tuple[Plugin, ...]:
    """Return what the client of a process of ours needs; its spans leave as OTEL_* say, if they say so.

    Raises TracesError.
    """
    processor = trace_export.processor(os.environ)
    return (CARRYING,) if processor is None else tracing(processor)


def tracing(*processors: SpanProcessor) -> tuple[Plugin, ...]:
    """Record the spans of this process for processors, and return the plugins of its client.

    May be called again: the processors are added to those that are already there.
    """
    provider = trace.get_tracer_provider()
    if not isinstance(provider, ReplaySafeTracerProvider):
        # Processes of ours leave without running any exit handler: see `close`.
        provider = create_tracer_provider(resource=_resource(), shutdown_on_exit=False)
        trace.set_tracer_provider(provider)
        # It tells of every workflow that a worker still had when it stopped, with a stack.
        logging.getLogger("opentelemetry.context").setLevel(logging.CRITICAL)
    for each in processors:
        provider.add_span_processor(Discreet(each))
    facts = SimplePlugin("standby.Facts", interceptors=[Facts()])
    return OpenTelemetryPlugin(add_temporal_spans=True), facts


def close(bound: timedelta = FLUSH) -> None:
    """Send the spans that are left, and wait for that no longer than `bound`; later ones are dropped."""
    provider = trace.get_tracer_provider()
    if isinstance(provider, ReplaySafeTracerProvider):
        # Its own bound is thirty seconds and cannot be changed.
        _awaited(provider.shutdown, bound)


def _awaited(leave: Callable[[], None], bound: timedelta) -> None:
    leaving = Thread(target=leave, daemon=True)
    leaving.start()
    leaving.join(bound.total_seconds())


@contextmanager
def joined(carrier: Mapping[str, str]) -> Iterator[None]:
    """Go on in a caller's trace for the block: of its headers, `traceparent` and `tracestate` are taken."""
    token = context.attach(_W3C.extract(carrier))
    try:
        yield
    finally:
        context.detach(token)


@contextmanager
def served(method: str, route: str, carrier: Mapping[str, str]) -> Iterator["Served"]:
    """Trace the answer to a request, in the trace that its headers name; the route has no values."""
    attributes = {"http.request.method": method, "http.route": route}
    with joined(carrier), _span(f"{method} {route}", SpanKind.SERVER, attributes) as span:
        yield Served(span)


class Served:
    """A request that is being answered."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def answered(self, status: int) -> None:
        """Note the status of the answer."""
        self._span.set_attribute("http.response.status_code", status)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self._span.set_status(StatusCode.ERROR)


@contextmanager
def called_back(provider: str) -> Iterator[None]:
    """Trace the taking of a callback that was verified; it belongs to nobody's trace yet."""
    with _span(f"callback {provider}", SpanKind.SERVER, {"standby.provider": provider}):
        yield


@contextmanager
def calling(verb: str, provider: str, attempt_key: str, channel: Channel) -> Iterator[None]:
    """Trace a call of a provider; `mark` says what came of it."""
    attributes = {
        ATTEMPT: redact(attempt_key),
        "standby.provider": provider,
        "standby.channel": channel.value,
    }
    with _span(f"{provider} {verb}", SpanKind.CLIENT, attributes):
        yield


def mark(**facts: str) -> None:
    """Set `standby.*` on the span at work: words out of few, and opaque keys."""
    span = trace.get_current_span()
    for name, word in facts.items():
        span.set_attribute(f"standby.{name}", word)


@contextmanager
def _span(name: str, kind: SpanKind, attributes: Mapping[str, AttributeValue]) -> Iterator[Span]:
    """Begin a span for the block; of an error it keeps the class, never the message."""
    with _TRACER.start_as_current_span(
        name, kind=kind, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield span
        except BaseException as error:
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(StatusCode.ERROR)
            raise


def _resource() -> Resource:
    """Say of this process what OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say, and a name in any case."""
    found = Resource.create()
    is_named = not str(found.attributes[SERVICE_NAME]).startswith("unknown_service")
    return described(found if is_named else found.merge(Resource({SERVICE_NAME: _SERVICE})))
