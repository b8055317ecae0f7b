"""Log lines: one event each, to stderr, as JSON or text, and nothing in them that identifies a person."""

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, TextIO

from temporalio import activity, workflow
from temporalio.exceptions import ApplicationError
from typing_extensions import override

from activities.discreet import PUBLIC, PublicError, chain, frames, redact, tell
from activities.settings import LogFormat, LogLevel

Fact = str | int | float | bool | None

_EVENTS: Final = logging.getLogger("standby")

_TALKATIVE = ("httpx", "httpcore", "hpack", "h2", "aiosqlite", "sqlalchemy", "psycopg", "urllib3", "alembic")
"""Below WARNING these log URLs, headers, statements with their parameters, or what nobody asked for."""

_CORE = "temporalio.core"
_ACTIVATING = "temporalio.worker._workflow"
_PYTHON_FRAME = 'stack_trace: "  File '

_FROM_ENGINE = ("workflow_id", "workflow_type", "activity_type", "attempt", "run_id", "workflow_run_id")


def configure(form: LogFormat, level: LogLevel, stream: TextIO | None = None) -> None:
    """Send every log line of this process to one stream (stderr by default), and replace what was set up."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(Json() if form is LogFormat.JSON else Text())
    handler.addFilter(_is_news)
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
    """One JSON object a line; of an error its class, its causes and, if it was not foreseen, its frames."""

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
            line |= {"error": chain(error)} | (
                {} if _is_foreseen(error) else {"stack": redact(frames(error))}
            )
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
        if _is_foreseen(error):
            return f"{head}: {tell(error)}"
        return f"{head}\n{redact(frames(error))}{' <- '.join(chain(error))}"


def _at(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _error(record: logging.LogRecord) -> BaseException | None:
    return record.exc_info[1] if record.exc_info else None


def _is_news(record: logging.LogRecord) -> bool:
    """Whether no other line says it: Python's errors come back from the SDK's core, as one long text."""
    if record.name != _CORE:
        return True
    told = getattr(record, "temporal_log", None)
    return _PYTHON_FRAME not in str(getattr(told, "fields", {}).get("failure", ""))


def _is_foreseen(error: BaseException) -> bool:
    """Whether its words say all, and it is no fault of the code that it came through."""
    ours = isinstance(error, PublicError) or (isinstance(error, ApplicationError) and error.type in PUBLIC)
    return ours and len(chain(error)) == 1


def _activated(record: logging.LogRecord) -> dict[str, Fact]:
    """Name the workflow whose task failed: the SDK's words name the run alone, its frame knows more."""
    if record.name != _ACTIVATING or record.exc_info is None or record.exc_info[2] is None:
        return {}
    known = record.exc_info[2].tb_frame.f_locals.get("workflow_id")
    return {"workflow_id": known} if isinstance(known, str) else {}


def _facts(record: logging.LogRecord) -> dict[str, Fact]:
    """Return our facts and, in a workflow or an activity, the engine's ids."""
    given = (getattr(record, name, None) for name in ("temporal_activity", "temporal_workflow"))
    engine: Mapping[str, Fact] = next((each for each in given if each), _activated(record))
    ours: Mapping[str, Fact] = getattr(record, "facts", {})
    known = {name: engine[name] for name in _FROM_ENGINE if name in engine}
    return {
        name: redact(value) if isinstance(value, str) else value
        for name, value in (known | dict(ours)).items()
    }
