"""The ledger's door: an engine that is known to be of use."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Final

from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store.database import new_engine
from activities.store.errors import StoreError, Unmigrated, Unreachable, place
from activities.store.migrate import is_current

_LAST_WORD: Final = timedelta(milliseconds=50)


async def open_engine(url: str) -> AsyncEngine:
    """Open a ledger that is there; raises StoreError where it cannot be reached or has not been migrated.

    Only a migration makes one. Dispose of the engine in the event loop that used it.
    """
    engine = new_engine(url, creates=False)
    if _is_missing(engine.url):
        remedy = "run standby migrate, or correct STANDBY_DATABASE_URL"
        raise Unreachable(f"ledger: {place(engine.url)} does not exist: {remedy}")
    try:
        ready = await is_current(engine)
    except StoreError:
        await engine.dispose()
        # A failed connection of aiosqlite leaves its thread with one more word for this loop, which its
        # process may close at once: the thread would then print a traceback after our one line.
        await asyncio.sleep(_LAST_WORD.total_seconds())
        raise
    if not ready:
        await engine.dispose()
        raise Unmigrated(f"ledger: {place(engine.url)} has not been migrated; run: standby migrate")
    return engine


def _is_missing(url: URL) -> bool:
    """Whether a file of SQLite's is known not to exist; what a URI names is for SQLite to say."""
    file = url.database or ""
    return url.get_backend_name() == "sqlite" and not file.startswith("file:") and not Path(file).exists()
