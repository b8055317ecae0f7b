"""Spans leave where OpenTelemetry's own variables say so, and nobody suffers where nobody takes them."""

import logging
import re
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from activities import trace_export
from activities.trace_export import PAUSE, Seldom, TracesError, processor

AT = "http://127.0.0.1:4318"


@pytest.fixture(autouse=True)
def talkers() -> Iterator[None]:
    """The exporter's loggers, put back as they were."""
    loggers = [logging.getLogger(name) for name in trace_export._TALKERS]
    before = [list(each.filters) for each in loggers]
    yield
    for each, filters in zip(loggers, before, strict=True):
        each.filters = filters


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
        {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": AT},
        {"OTEL_TRACES_EXPORTER": "otlp"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": AT, "OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": AT, "OTEL_TRACES_EXPORTER": "console"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": AT, "OTEL_SDK_DISABLED": "TRUE"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "grpc:4317", "OTEL_SDK_DISABLED": "true"},
    ],
)
def test_nothing_leaves_that_nobody_asked_for(environ: dict[str, str]) -> None:
    assert processor(environ) is None


@pytest.mark.parametrize(
    ("environ", "to"),
    [
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": AT}, f"{AT}/v1/traces"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{AT}/in"}, f"{AT}/in"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": AT, "OTEL_TRACES_EXPORTER": "otlp"}, f"{AT}/v1/traces"),
        (
            {
                "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
                "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4317",
                "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{AT}/v1/traces",
            },
            f"{AT}/v1/traces",
        ),
    ],
)
def test_spans_leave_in_batches_where_a_collector_is_named(
    environ: dict[str, str], to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    made = processor(environ)
    assert isinstance(made, BatchSpanProcessor)
    assert made.span_exporter._endpoint == to
    made.shutdown()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "collector-of-marked:4318"},
            "OTEL_EXPORTER_OTLP_ENDPOINT: must be like http://127.0.0.1:4318",
        ),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": AT, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "OTEL_EXPORTER_OTLP_PROTOCOL: traces go by http/protobuf only",
        ),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": AT, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json"},
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: traces go by http/protobuf only",
        ),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": AT, "OTEL_BSP_MAX_QUEUE_SIZE": "-1"},
            "OTEL_BSP_…: max_queue_size must be a positive integer",
        ),
    ],
)
def test_what_cannot_be_is_one_line_that_names_the_variable(
    environ: dict[str, str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(TracesError, match=re.escape(says)) as caught:
        processor(environ)
    assert "marked" not in str(caught.value)
    assert "\n" not in str(caught.value)


class Talker:
    """Says what an exporter says whose collector is away, by a clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.log = logging.getLogger("tests.talker")
        self.log.filters = [Seldom(lambda: self.now)]

    def retries(self, times: int) -> None:
        for each in range(times):
            self.log.warning("Transient error %s encountered, retrying in %.2fs.", "refused", each)


def test_a_collector_that_is_away_costs_one_line_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    talker = Talker()
    talker.retries(7)
    talker.now += PAUSE.total_seconds() - 1
    talker.retries(2)
    talker.now += 1
    talker.log.error("Failed to export spans batch code: %s", 401)
    said = [(each.name, each.getMessage(), each.__dict__["facts"]["times"]) for each in caplog.records]
    event = "traces do not reach the collector"
    assert said == [("standby", event, 1), ("standby", event, 9)]
    assert caplog.records[1].__dict__["facts"]["why"] == "Failed to export spans batch code: 401"


def test_what_is_no_trouble_is_not_said_at_all(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    Talker().log.info("Shutdown called, ignoring Span.")
    assert not caplog.records
