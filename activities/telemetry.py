"""Provider calls, traced and counted: whose attempt, which provider, and the classified answer; nothing else.

The engine's own spans stay off (they record exception texts); only the trace's context travels through it, so
that a provider call belongs to the trace of the backend that started the notice. Exporters are processors
handed to `tracing`; without one nothing leaves the process.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from opentelemetry import metrics, trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode
from temporalio.contrib.opentelemetry import (
    OpenTelemetryPlugin,
    ReplaySafeTracerProvider,
    create_tracer_provider,
)

from activities.discreet import redact
from workflows.policy.words import Channel, Status

_TRACER = trace.get_tracer("standby")
_CALLS = metrics.get_meter("standby").create_counter(
    "standby.provider.calls",
    description="Calls of providers by what came of them: a status, or an error's class.",
)


def tracing(*processors: SpanProcessor) -> OpenTelemetryPlugin:
    """Set up tracing for this process, and return the plugin that a worker's client needs.

    May be called again: the processors are added to the provider that is already there.
    """
    provider = trace.get_tracer_provider()
    if not isinstance(provider, ReplaySafeTracerProvider):
        provider = create_tracer_provider(resource=Resource.create({"service.name": "standby"}))
        trace.set_tracer_provider(provider)
    for each in processors:
        provider.add_span_processor(each)
    return OpenTelemetryPlugin(add_temporal_spans=False)


@dataclass(slots=True)
class Call:
    """A provider call that is under way."""

    span: Span
    outcome: str = "nothing"

    def answered(self, status: Status) -> None:
        """Note the normalised word that the provider gave."""
        self.outcome = status.value
        self.span.set_attribute("standby.status", status.value)


@contextmanager
def provider_call(verb: str, *, attempt_key: str, provider: str, channel: Channel) -> Iterator[Call]:
    """Trace and count one call (`send`, `look_up`); of an error the class is kept, never the message."""
    attributes = {
        "standby.attempt_key": redact(attempt_key),
        "standby.provider": provider,
        "standby.channel": channel.value,
    }
    with _TRACER.start_as_current_span(
        f"{provider} {verb}",
        kind=SpanKind.CLIENT,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        call = Call(span)
        try:
            yield call
        except BaseException as error:
            call.outcome = type(error).__name__
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(StatusCode.ERROR)
            raise
        finally:
            counted = {"verb": verb, "provider": provider, "channel": channel.value, "outcome": call.outcome}
            _CALLS.add(1, counted)
