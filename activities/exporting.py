"""Where metrics go: to Prometheus, which comes for them, or to a collector, by OpenTelemetry's own variables.

One process does one of them. What was not asked for is neither listened on nor sent anywhere.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final
from urllib.parse import unquote

from temporalio.runtime import OpenTelemetryConfig, PrometheusConfig, TelemetryConfig

from activities.discreet import PublicError
from activities.metrics import BUCKETS

Exporter = PrometheusConfig | OpenTelemetryConfig

SERVICE: Final = "standby"
"""The name of the service, where OTEL_SERVICE_NAME gives it no other."""

_ADDRESS: Final = "STANDBY_METRICS_ADDRESS"
_OTLP: Final = "OTEL_EXPORTER_OTLP"
_PATH: Final = "/v1/metrics"
_EVERY: Final = timedelta(seconds=15)
_PROTOCOLS: Final = ("http/protobuf", "grpc")


class MetricsError(PublicError):
    """Metrics cannot be had as they were asked for: one line that names the variable, never its value."""


def exporter(address: str | None, environ: Mapping[str, str]) -> Exporter | None:
    """Return how metrics leave this process; None where nobody asked for them. Raises MetricsError."""
    otlp = _endpoint(environ)
    match address, otlp:
        case None, None:
            return None
        case str(), None:
            return _prometheus(address)
        case None, str(variable):
            return _collector(variable, environ)
        case _:
            raise MetricsError(
                f"{_ADDRESS}: cannot go with {otlp}; choose one: unset one of them,"
                " or set OTEL_METRICS_EXPORTER=none where only traces go to the collector"
            )


def telemetry(exported: Exporter, environ: Mapping[str, str]) -> TelemetryConfig:
    """Return the SDK's settings for metrics that leave this way."""
    by_otlp = isinstance(exported, OpenTelemetryConfig)
    name = {"service.name": environ.get("OTEL_SERVICE_NAME") or SERVICE}
    return TelemetryConfig(
        logging=None, metrics=exported, attach_service_name=False, global_tags=name if by_otlp else {}
    )


def refused(exported: Exporter, error: ValueError) -> MetricsError:
    """Return what is told where the SDK cannot do as it was asked."""
    if isinstance(exported, OpenTelemetryConfig):
        return MetricsError(f"{_OTLP}_ENDPOINT: must be like http://127.0.0.1:4318")
    taken = "in use" in str(error).lower()
    reason = "another process has it" if taken else "this host cannot"
    remedy = "give each process of a host its own"
    return MetricsError(f"{_ADDRESS}: cannot listen at {exported.bind_address} ({reason}): {remedy}")


def _prometheus(address: str) -> PrometheusConfig:
    return PrometheusConfig(
        bind_address=address,
        counters_total_suffix=True,
        unit_suffix=True,
        durations_as_seconds=True,
        histogram_bucket_overrides={name: [*map(float, bounds)] for name, bounds in BUCKETS.items()},
    )


def _collector(variable: str, environ: Mapping[str, str]) -> OpenTelemetryConfig:
    by_http = _protocol(environ) != "grpc"
    url = environ[variable]
    if by_http and "METRICS" not in variable:
        url = url.rstrip("/") + _PATH
    return OpenTelemetryConfig(
        url=url,
        headers=_headers(environ),
        metric_periodicity=_EVERY,
        durations_as_seconds=True,
        http=by_http,
        histogram_bucket_overrides={name: [*map(float, bounds)] for name, bounds in BUCKETS.items()},
    )


def _endpoint(environ: Mapping[str, str]) -> str | None:
    """Return the variable that names a collector for metrics, if any does."""
    is_off = environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if is_off or environ.get("OTEL_METRICS_EXPORTER", "otlp") not in {"", "otlp"}:
        return None
    names = (f"{_OTLP}_METRICS_ENDPOINT", f"{_OTLP}_ENDPOINT")
    return next((name for name in names if environ.get(name)), None)


def _protocol(environ: Mapping[str, str]) -> str:
    for name in (f"{_OTLP}_METRICS_PROTOCOL", f"{_OTLP}_PROTOCOL"):
        if spoken := environ.get(name):
            if spoken not in _PROTOCOLS:
                raise MetricsError(f"{name}: must be {' or '.join(_PROTOCOLS)}")
            return spoken
    return _PROTOCOLS[0]


def _headers(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the headers, percent-encoded in their variables; those for metrics alone win."""
    headers: dict[str, str] = {}
    for variable in (f"{_OTLP}_HEADERS", f"{_OTLP}_METRICS_HEADERS"):
        for each in filter(None, environ.get(variable, "").split(",")):
            name, given, value = each.partition("=")
            if not given or not name.strip():
                raise MetricsError(f"{variable}: must be like name=value,name=value")
            headers[name.strip().lower()] = unquote(value.strip())
    return headers
