"""Personal data that can be told apart from anything else, and the places where it might be left behind."""

import logging
import sqlite3
import traceback
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import StringIO
from pathlib import Path

from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.client import Client
from typing_extensions import override

from activities.logs import configure
from activities.settings import LogFormat, LogLevel

NAME = "Ophelia Quist"
MAILBOX = "ophelia-quist"
PATH = "for-her-alone"
LINK = f"https://shop.example.test/reset/{PATH}"
AREA = "2025550"
"""How the numbers of all fates begin, without country or plus."""

MARKS = {"name": NAME, "address": MAILBOX, "number": AREA, "link": PATH}


def found_in(text: bytes) -> list[str]:
    """Return which of the marks occur, however they are written."""
    lowered = text.lower()
    return [what for what, mark in MARKS.items() if mark.lower().encode() in lowered]


async def histories(client: Client) -> bytes:
    """Return all that an engine tells about every workflow of the namespace."""
    told = []
    async for execution in client.list_workflows():
        handle = client.get_workflow_handle(execution.id, run_id=execution.run_id)
        told += [event.SerializeToString() for event in (await handle.fetch_history()).events]
        told.append((await handle.describe()).raw_description.SerializeToString())
        told.append(execution.raw_info.SerializeToString())
    return b"\n".join(told)


async def details(client: Client, workflow_id: str) -> bytes:
    """Return what the UI shows of one workflow as its current details."""
    handle = client.get_workflow_handle(workflow_id)
    shown: WorkflowMetadata = await handle.query("__temporal_workflow_metadata", result_type=WorkflowMetadata)
    return shown.SerializeToString()


def rows(ledger: Path) -> bytes:
    """Return every column of every row of a ledger in SQLite."""
    with closing(sqlite3.connect(ledger)) as connection:
        named = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        tables = [connection.execute(f'SELECT * FROM "{name}"').fetchall() for (name,) in named]  # noqa: S608
    return repr(tables).encode()


def files(folder: Path) -> bytes:
    """Return the raw bytes of all files below a folder."""
    return b"\n".join(each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file())


class Heard(logging.Handler):
    """Every record that reached the root, with all that hangs on it."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[str] = []

    @override
    def emit(self, record: logging.LogRecord) -> None:
        error = "".join(traceback.format_exception(*record.exc_info)) if record.exc_info else ""
        self.records.append(f"{record.getMessage()} {record.__dict__!r} {error}")


@contextmanager
def listening() -> Iterator[tuple[StringIO, Heard]]:
    """Log as a worker at DEBUG does, and keep the lines and what they were made from."""
    root, stream, heard = logging.root, StringIO(), Heard()
    before = (root.handlers, root.level, logging.raiseExceptions)
    configure(LogFormat.JSON, LogLevel.DEBUG, stream)
    root.addHandler(heard)
    try:
        yield stream, heard
    finally:
        root.handlers, level, logging.raiseExceptions = before
        root.setLevel(level)
