"""How spans leave the process: by OTLP over HTTP, where OpenTelemetry's own variables name a collector.

Endpoint, headers, timeout, certificates, compression, sampling and batching are read by OpenTelemetry's SDK.
"""

import logging
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from logging import WARNING
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from typing_extensions import override

from activities.discreet import PublicError
from activities.logs import event

PAUSE: Final = timedelta(minutes=1)

_OTLP: Final = "OTEL_EXPORTER_OTLP"
_PROTOCOL: Final = "http/protobuf"
_TALKERS: Final = (
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.sdk._shared_internal",
)


class TracesError(PublicError):
    """Traces cannot leave as they were asked to: one line that names the variable, never its value."""


class Seldom(logging.Filter):
    """Keeps the exporter's own lines off the log, and says instead what is wrong, once a minute at most."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._said: float | None = None
        self._times = 0

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < WARNING:
            return False
        self._times += 1
        now = self._clock()
        if self._said is None or now - self._said >= PAUSE.total_seconds():
            times, self._times, self._said = self._times, 0, now
            event("traces do not reach the collector", level=WARNING, why=record.getMessage(), times=times)
        return False


def processor(environ: Mapping[str, str]) -> SpanProcessor | None:
    """Return what sends the spans of this process, in batches; None where nobody asked for them.

    Call it once in a process, with the process's own environment. Raises TracesError.
    """
    variable = _endpoint(environ)
    if variable is None:
        return None
    _demand_http(variable, environ)
    try:
        made = BatchSpanProcessor(OTLPSpanExporter())
    except ValueError as error:
        # Its words are about numbers: "max_queue_size must be a positive integer."
        raise TracesError(f"OTEL_BSP_…: {error}") from None
    seldom = Seldom()
    for name in _TALKERS:
        logging.getLogger(name).addFilter(seldom)
    return made


def _endpoint(environ: Mapping[str, str]) -> str | None:
    """Return the variable that names a collector for traces, if any does."""
    is_off = environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if is_off or environ.get("OTEL_TRACES_EXPORTER", "").strip() not in {"", "otlp"}:
        return None
    names = (f"{_OTLP}_TRACES_ENDPOINT", f"{_OTLP}_ENDPOINT")
    return next((name for name in names if environ.get(name)), None)


def _demand_http(variable: str, environ: Mapping[str, str]) -> None:
    """Raise TracesError for another protocol: metrics may go by it, traces cannot."""
    if not environ[variable].startswith(("http://", "https://")):
        raise TracesError(f"{variable}: must be like http://127.0.0.1:4318")
    names = (f"{_OTLP}_TRACES_PROTOCOL", f"{_OTLP}_PROTOCOL")
    asked = next((name for name in names if environ.get(name)), None)
    if asked is not None and environ[asked] != _PROTOCOL:
        raise TracesError(
            f"{asked}: traces go by {_PROTOCOL} only; set {names[0]}={_PROTOCOL} and {_OTLP}_TRACES_ENDPOINT,"
            " or OTEL_TRACES_EXPORTER=none"
        )
