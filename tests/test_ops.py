"""What stands beside a deployment asks for metrics that there are, and wakes people for what it is for."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are not worth a dependency for one call
from temporalio.runtime import MetricBuffer, Runtime, TelemetryConfig

from activities.discreet_spans import KNOWN
from activities.instruments import Timer
from activities.metrics import Meters
from ops.grafana.draw import BOARDS, HERE, board, written

ROOT = Path(__file__).parent.parent
PROMETHEUS = ROOT / "ops" / "prometheus"
RULES = [
    rule
    for group in yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())["groups"]
    for rule in group["rules"]
]
ALERTS = {rule["alert"]: rule for rule in RULES}
COLLECTOR = yaml.safe_load((ROOT / "ops" / "otel" / "collector.yaml").read_text())
SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]

_METRIC = re.compile(r"\b(standby_\w+|temporal_\w+|up)\b")
_SELECTED = re.compile(r"\b(standby_\w+)(?:\{([^}]*)\})?")


def promtool(*arguments: str) -> None:
    """Run Prometheus's own checker; it is part of Debian's package."""
    command = shutil.which("promtool")
    if command is None:
        assert "STANDBY_TEST_REQUIRE_PROMETHEUS" not in os.environ, (
            "promtool is required here and not installed"
        )
        pytest.skip("promtool is not installed")
    ran = subprocess.run(  # noqa: S603  # a fixed command
        [command, *arguments], cwd=PROMETHEUS, check=False, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.fixture(scope="module")
def known() -> Mapping[str, set[str]]:
    """The labels of each metric, by the names that Prometheus has."""
    meters = Meters.of(Runtime(telemetry=TelemetryConfig(metrics=MetricBuffer(100))).metric_meter)
    labels: dict[str, set[str]] = {}
    for each in meters.instruments:
        labels[each.shown] = set(each.labels)
        if isinstance(each, Timer):
            labels |= {f"{each.shown}_{end}": {*each.labels, "le"} for end in ("bucket", "count", "sum")}
    return labels


def expressions() -> Iterator[tuple[str, str]]:
    """Return every expression, by where it stands."""
    yield from ((name, rule["expr"]) for name, rule in ALERTS.items())
    for name in BOARDS:
        for panel in board(name)["panels"]:
            yield from ((f"{name}: {panel['title']}", each["expr"]) for each in panel["targets"])


EXPRESSIONS = [
    pytest.param(expr, id=f"{where} {number}") for number, (where, expr) in enumerate(expressions())
]


def test_prometheus_takes_the_configuration_and_the_rules() -> None:
    promtool("check", "config", "prometheus.yml")
    promtool("check", "rules", "alerts.yml")


def test_each_alert_fires_on_what_it_is_for_and_none_on_a_single_failed_send() -> None:
    promtool("test", "rules", "alerts_test.yml")


def test_each_alert_is_tried_both_ways() -> None:
    tried = yaml.safe_load((PROMETHEUS / "alerts_test.yml").read_text())["tests"]
    quiet = {each["alertname"] for test in tried for each in test.get("alert_rule_test", [])}
    fired = {
        re.search(r'alertname="(\w+)"', sample["labels"])[1]  # type: ignore[index]
        for test in tried
        for each in test.get("promql_expr_test", [])
        for sample in each["exp_samples"]
    }
    assert quiet == fired == set(ALERTS)


def test_prometheus_takes_every_expression_of_a_dashboard(tmp_path: Path) -> None:
    rules = [{"record": f"asked:{number}", "expr": expr} for number, (_, expr) in enumerate(expressions())]
    file = tmp_path / "asked.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "asked", "rules": rules}]}))

    promtool("check", "rules", str(file))


@pytest.mark.parametrize("expr", EXPRESSIONS)
def test_only_metrics_and_labels_that_there_are_are_asked_for(
    known: Mapping[str, set[str]], expr: str
) -> None:
    for name, selected in _SELECTED.findall(expr):
        assert name in known
        assert set(re.findall(r"(\w+)\s*[=!]", selected)) <= known[name]
    asked = set(re.findall(r"[a-z]+", " ".join(re.findall(r"by \(([^)]*)\)", expr))))
    has = set().union(*(known.get(name, {"operation"}) for name in _METRIC.findall(expr)))
    assert asked <= has


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_in_words_what_it_saw_and_where_to_go_on(name: str) -> None:
    said = ALERTS[name]["annotations"]
    page, _, anchor = said["runbook_url"].partition("#")
    headings = re.findall(r"^#+ (.+)$", (ROOT / page).read_text(), re.MULTILINE)

    assert anchor in {re.sub(r"[^a-z0-9 -]", "", each.lower()).replace(" ", "-") for each in headings}
    assert ALERTS[name]["labels"]["severity"] in {"page", "ticket"}
    assert said["summary"]
    assert said["description"]


@pytest.mark.parametrize(
    "name", [each for each, rule in ALERTS.items() if rule["labels"]["severity"] == "page"]
)
def test_nobody_is_woken_by_something_that_lasts_for_a_moment(name: str) -> None:
    assert ALERTS[name]["for"] in {"1m", "2m", "3m", "5m", "10m"}


@pytest.mark.parametrize("name", BOARDS)
def test_a_dashboard_is_drawn_from_its_rows(name: str) -> None:
    assert (HERE / f"{name}.json").read_text() == written(name)


@pytest.mark.parametrize("name", BOARDS)
def test_a_dashboard_has_a_place_a_question_and_a_unit_for_each_panel(name: str) -> None:
    panels = json.loads(written(name))["panels"]

    assert len({each["id"] for each in panels}) == len(panels)
    assert not any(_overlap(one["gridPos"], other["gridPos"]) for one, other in combinations(panels, 2))
    assert all(each["description"] and each["targets"] for each in panels)
    assert all(each["fieldConfig"]["defaults"]["unit"] for each in panels)
    for each in panels:
        assert len({target["refId"] for target in each["targets"]}) == len(each["targets"])


def _overlap(one: Mapping[str, int], other: Mapping[str, int]) -> bool:
    beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
    above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    return not (beside or above)


ACCEPTANCE, COMPLETION = {"accepted"}, {"delivered", "consumed"}


@pytest.mark.parametrize("expr", EXPRESSIONS)
def test_acceptance_and_completion_are_never_one_line(expr: str) -> None:
    for _, selected in _SELECTED.findall(expr):
        words = set(re.findall(r"[a-z_]+", " ".join(re.findall(r'"([^"]*)"', selected))))
        assert not (words & ACCEPTANCE and words & COMPLETION)
    if "standby_notices_closed_total" in expr and "outcome=" not in expr:
        assert "by (outcome" in expr


def test_the_collector_uses_what_it_declares_and_lets_by_what_standby_does() -> None:
    service = COLLECTOR["service"]
    for pipeline in service["pipelines"].values():
        for part in ("receivers", "processors"):
            assert set(pipeline[part]) <= set(COLLECTOR[part])
        assert pipeline["exporters"] == ["${env:TRACES_EXPORTER:-debug}"]
        assert pipeline["processors"][0] == "memory_limiter"
    assert set(service["extensions"]) <= set(COLLECTOR["extensions"])
    assert {"debug", "otlphttp"} == set(COLLECTOR["exporters"])
    assert set(COLLECTOR["processors"]["redaction"]["allowed_keys"]) == KNOWN


def test_the_stack_sends_its_evidence_to_where_it_is_taken() -> None:
    (port,) = {
        address.rpartition(":")[2]
        for name in ("worker", "receiver")
        for address in [SERVICES[name]["environment"]["STANDBY_METRICS_ADDRESS"]]
    }
    scraped: list[dict[str, Any]] = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())[
        "scrape_configs"
    ]
    asked = {
        job["job_name"]: job["dns_sd_configs"][0] for job in scraped if job["job_name"].startswith("standby")
    }
    assert {(each["names"][0], str(each["port"])) for each in asked.values()} == {
        ("worker", port),
        ("receiver", port),
    }
    otlp = COLLECTOR["receivers"]["otlp"]["protocols"]["http"]["endpoint"].rpartition(":")[2]
    for name in ("worker", "receiver"):
        traces = SERVICES[name]["environment"]["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]
        assert traces == f"http://collector:{otlp}/v1/traces"
