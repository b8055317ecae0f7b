"""One `standby dev` a folder: a lock that dies with its holder, and the engine that a killed one left."""

import asyncio
import fcntl
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

from activities.discreet import PublicError

_LOCK: Final = "lock"
_PROCESSES: Final = Path("/proc")
"""Where it does not exist, nothing is known of what was left behind, and its ports are found taken."""

_STOP: Final = timedelta(seconds=10)
_GLANCE: Final = timedelta(milliseconds=50)


class HeldError(PublicError):
    """The folder is another's; one line that names the process."""


@contextmanager
def held(home: Path) -> Iterator[None]:
    """Hold a folder of state for the block; raises HeldError where another process does.

    The kernel takes the lock back however the process ends, and children do not inherit it.
    """
    home.mkdir(parents=True, exist_ok=True)
    with (home / _LOCK).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise HeldError(
                f"another `standby dev` (pid {file.read().strip() or 'unknown'}) holds {home}/:"
                " stop it, or start this one in another folder"
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


async def end_orphans(database: Path) -> tuple[int, ...]:
    """End every development server on this file, and return their process ids.

    For the holder of the folder only: a server that runs without it was left behind by a killed one, and
    two of them on one file would damage it.
    """
    found = tuple(_servers(database))
    for pid in found:
        _signal(pid, signal.SIGTERM)
    with suppress(TimeoutError):
        async with asyncio.timeout(_STOP.total_seconds()):
            while any(_servers(database)):  # noqa: ASYNC110 - no child of ours: nothing tells of its end
                await asyncio.sleep(_GLANCE.total_seconds())
    for pid in _servers(database):
        _signal(pid, signal.SIGKILL)
    return found


def _servers(database: Path) -> Iterator[int]:
    """Yield the processes that run `temporal server start-dev` on a file, each naming its full path."""
    for process in _PROCESSES.glob("[0-9]*"):
        with suppress(OSError):
            arguments = (process / "cmdline").read_bytes().split(b"\0")
            if b"start-dev" in arguments and os.fsencode(database.resolve()) in arguments:
                yield int(process.name)


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
