"""Log lines: one event each, to stderr, as JSON or text, and nothing in them that identifies a person."""

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, TextIO

from temporalio import activity, workflow
from typing_extensions import override

from activities.discreet import chain, frames, redact
from activities.settings import LogFormat, LogLevel

Fact = str | int | float | bool | None

_EVENTS: Final = logging.getLogger("standby")

_TALKATIVE = ("httpx", "httpcore", "hpack", "h2", "aiosqlite", "sqlalchemy", "psycopg", "urllib3")
"""These log URLs, headers or statements with their parameters below WARNING."""

_FROM_ENGINE = ("workflow_id", "workflow_type", "activity_type", "attempt", "run_id", "workflow_run_id")


def configure(form: LogFormat, level: LogLevel, stream: TextIO | None = None) -> None:
    """Send every log line of this process to one stream (stderr by default), and replace what was set up."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(Json() if form is LogFormat.JSON else Text())
    logging.root.handlers = [handler]
    logging.root.setLevel(level.upper())
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    # The report of a line that cannot be formatted would print its raw arguments.
    logging.raiseExceptions = False
    # The formatters write the engine's ids as facts of their own.
    activity.logger.activity_info_on_message = False
    workflow.logger.workflow_info_on_message = False


def event(name: str, *, level: int = logging.INFO, **facts: Fact) -> None:
    """Log that something happened; facts are opaque ids and classified words only."""
    _EVENTS.log(level, name, extra={"facts": facts})


class Json(logging.Formatter):
    """One JSON object a line; of an error its class, its causes and its frames."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": _at(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": redact(record.getMessage()),
            **_facts(record),
        }
        error = _error(record)
        if error is not None:
            line |= {"error": chain(error), "stack": redact(frames(error))}
        return json.dumps(line, ensure_ascii=False)


class Text(logging.Formatter):
    """The same for people at a terminal."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        facts = "".join(f" {name}={value}" for name, value in _facts(record).items())
        head = f"{_at(record)} {record.levelname:7} {record.name}: {redact(record.getMessage())}{facts}"
        error = _error(record)
        if error is None:
            return head
        return f"{head}\n{redact(frames(error))}{' <- '.join(chain(error))}"


def _at(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _error(record: logging.LogRecord) -> BaseException | None:
    return record.exc_info[1] if record.exc_info else None


def _facts(record: logging.LogRecord) -> dict[str, Fact]:
    """Return our facts and, in a workflow or an activity, the engine's ids."""
    engine = getattr(record, "temporal_activity", None) or getattr(record, "temporal_workflow", None) or {}
    ours: Mapping[str, Fact] = getattr(record, "facts", {})
    known = {name: engine[name] for name in _FROM_ENGINE if name in engine}
    return {
        name: redact(value) if isinstance(value, str) else value
        for name, value in (known | dict(ours)).items()
    }
