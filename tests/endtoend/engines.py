"""An engine of a test's own: one that it can kill, or one that forgets without delay."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from console import engine
from console.engine import EngineAt

FORGETFUL = (
    *("--dynamic-config-value", "history.transferProcessorEnsureCloseBeforeDelete=false"),
    *("--dynamic-config-value", "history.visibilityProcessorEnsureCloseBeforeDelete=false"),
)
"""A closed notice that is deleted is gone at once, and not after a minute."""


@asynccontextmanager
async def own_engine(home: Path, at: EngineAt, *flags: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run an engine as `development_engine` does, and hand over its process."""
    with (home / "first.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *engine._command(home, at, None), *flags, stdout=log, stderr=log
        )
    try:
        await engine._answering(process, at, home)
        yield process
    finally:
        await engine._stop(process)
