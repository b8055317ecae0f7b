"""The ledger's door: an engine that is known to be of use."""

from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store.database import new_engine
from activities.store.errors import StoreError, Unmigrated, place
from activities.store.migrate import is_current


async def open_engine(url: str) -> AsyncEngine:
    """Open a ledger; raises StoreError where it cannot be reached or has not been migrated.

    Dispose of the engine in the event loop that used it.
    """
    engine = new_engine(url)
    try:
        ready = await is_current(engine)
    except StoreError:
        await engine.dispose()
        raise
    if not ready:
        await engine.dispose()
        raise Unmigrated(f"ledger: {place(engine.url)} has not been migrated; run: standby migrate")
    return engine
