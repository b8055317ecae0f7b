"""What can be counted is what is documented, in words out of few, and is sent where the settings say."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from temporalio.common import MetricMeter
from temporalio.runtime import OpenTelemetryConfig, PrometheusConfig

from activities.exporting import MetricsError, exporter
from activities.metrics import NOTHING, Meters
from tests.activities.counted import Counted

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def documented() -> dict[str, tuple[str, ...]]:
    """Return the labels of each metric, as the page has them."""
    rows = re.findall(r"^\| `(standby_\w+)` \|([^|]*)\|", PAGE.read_text(), re.MULTILINE)
    return {name: tuple(re.findall(r"`(\w+)`", labels)) for name, labels in rows}


def test_the_page_has_every_metric_with_its_labels_in_their_order(counted: Counted) -> None:
    shown = {each.shown: each.labels for each in counted.meters.instruments}

    assert list(documented().items()) == list(shown.items())


def test_labels_are_bound_in_order_and_counted_apart(counted: Counted) -> None:
    for channel in ("email", "sms", "email"):
        counted.meters.dispatches.add(channel, "sandbox", "submitted")

    assert counted.read() == {
        "dispatches{channel=email,provider=sandbox,result=submitted}": 2,
        "dispatches{channel=sms,provider=sandbox,result=submitted}": 1,
    }


def test_a_gauge_of_what_has_vanished_is_set_to_nothing(counted: Counted) -> None:
    gauge = counted.meters.open_notices
    gauge.set(3, "password_reset", "awaiting", "5m")
    gauge.vanished([])

    assert counted.read() == {"open_notices{kind=password_reset,left=5m,phase=awaiting}": 0}


def test_a_process_whose_metrics_nobody_reads_counts_for_nothing() -> None:
    NOTHING.started.add("password_reset")

    assert not NOTHING.is_on
    assert not Meters.of(MetricMeter.noop).is_on


OTLP = "OTEL_EXPORTER_OTLP_ENDPOINT"
OF_METRICS = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
COLLECTOR = "http://127.0.0.1:4318"


def test_an_address_is_prometheus_and_an_endpoint_is_otlp() -> None:
    by_prometheus = exporter("127.0.0.1:9464", {})
    by_otlp = exporter(None, {OTLP: COLLECTOR})
    own = exporter(None, {OTLP: "http://elsewhere:4318", OF_METRICS: f"{COLLECTOR}/v1/metrics"})

    assert isinstance(by_prometheus, PrometheusConfig)
    assert by_prometheus.bind_address == "127.0.0.1:9464"
    assert isinstance(by_otlp, OpenTelemetryConfig)
    assert (by_otlp.url, by_otlp.http) == (f"{COLLECTOR}/v1/metrics", True)
    assert isinstance(own, OpenTelemetryConfig)
    assert own.url == f"{COLLECTOR}/v1/metrics"


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {OTLP: COLLECTOR, "OTEL_SDK_DISABLED": "true"},
        {OTLP: COLLECTOR, "OTEL_METRICS_EXPORTER": "none"},
        {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{COLLECTOR}/v1/traces"},
    ],
)
def test_nothing_leaves_where_nothing_says_where_to(environ: Mapping[str, str]) -> None:
    assert exporter(None, environ) is None


@pytest.mark.parametrize(
    ("address", "environ", "says"),
    [
        ("127.0.0.1:9464", {OF_METRICS: COLLECTOR}, "STANDBY_METRICS_ADDRESS"),
        (None, {OTLP: COLLECTOR, "OTEL_EXPORTER_OTLP_PROTOCOL": "carrier"}, "OTEL_EXPORTER_OTLP_PROTOCOL"),
    ],
)
def test_what_cannot_be_is_one_line_that_names_the_variable(
    address: str | None, environ: Mapping[str, str], says: str
) -> None:
    with pytest.raises(MetricsError, match=says) as refused:
        exporter(address, environ)

    assert len(str(refused.value).splitlines()) == 1
