"""Draws the dashboards: `python -m ops.grafana.draw` writes them from their rows.

Acceptance by a provider and completion by a person are never one line: what was accepted, delivered and
consumed are series of their own.
"""

import json
from pathlib import Path
from typing import Any

from ops.grafana.finishing import FINISHING
from ops.grafana.outcomes import OUTCOMES
from ops.grafana.panels import drawn

HERE = Path(__file__).parent / "dashboards"

BOARDS = {
    "finishing": ("Standby: can we finish?", FINISHING),
    "outcomes": ("Standby: what became of it", OUTCOMES),
}


def board(name: str) -> dict[str, Any]:
    """Return a dashboard as Grafana reads it."""
    title, panels = BOARDS[name]
    return {
        "uid": f"standby-{name}",
        "title": title,
        "tags": ["standby"],
        "schemaVersion": 41,
        "editable": False,
        "refresh": "15s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "utc",
        "templating": {
            "list": [
                {"name": "source", "label": "Source", "type": "datasource", "query": "prometheus", "hide": 0}
            ]
        },
        "panels": [drawn(each, number) for number, each in enumerate(panels)],
    }


def written(name: str) -> str:
    """Return the file of a dashboard."""
    return json.dumps(board(name), indent=1) + "\n"


if __name__ == "__main__":
    for each in BOARDS:
        (HERE / f"{each}.json").write_text(written(each), encoding="utf-8")
