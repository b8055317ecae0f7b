"""Panels, and how each is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

WIDTH, HEIGHT = 12, 8
"""Of a panel, in the grid of 24 columns."""


@dataclass(frozen=True)
class Panel:
    """One question, and the series that answer it."""

    title: str
    asks: str
    unit: str
    series: Sequence[tuple[str, str]]
    """Expression and legend of each."""
    kind: str = "timeseries"
    stacked: bool = False


def rate(metric: str, by: str, which: str = "") -> str:
    """Return events a minute, by label."""
    return f"sum by ({by}) (rate({metric}{{{which}}}[5m])) * 60"


def share(metric: str, part: str, by: str) -> str:
    """Return which share of a counter has certain labels."""
    return f"sum by ({by}) (rate({metric}{{{part}}}[30m])) / sum by ({by}) (rate({metric}[30m]))"


def quantile(metric: str, part: float, by: str = "channel") -> str:
    """Return a quantile of a histogram, by label."""
    return f"histogram_quantile({part}, sum by (le, {by}) (rate({metric}_bucket[15m])))"


def summed(metric: str, which: str = "") -> str:
    """Return events a second, by channel."""
    return f"sum by (channel) (rate({metric}{{{which}}}[30m]))"


def drawn(panel: Panel, number: int) -> dict[str, Any]:
    """Return a panel as Grafana reads it; two stand beside each other."""
    names = (chr(letter) for letter in count(ord("A")))
    source = {"type": "prometheus", "uid": "${source}"}
    custom = {"stacking": {"mode": "normal" if panel.stacked else "none"}, "fillOpacity": 20 * panel.stacked}
    return {
        "id": number + 1,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.asks,
        "datasource": source,
        "gridPos": {"x": number % 2 * WIDTH, "y": number // 2 * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0, "custom": custom}, "overrides": []},
        "options": {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        "targets": [
            {"refId": name, "datasource": source, "expr": expr, "legendFormat": legend}
            for name, (expr, legend) in zip(names, panel.series, strict=False)
        ],
    }
