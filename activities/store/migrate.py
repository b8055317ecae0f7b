"""Migrations by the Python API: a URL is all they need, from a checkout and from a wheel alike."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from activities.store.database import new_engine, reading, writing

_LOCK = 7_826_353_412_279
"""Any number, the same in every release: whoever migrates a PostgreSQL database holds it."""

_ONE_AT_A_TIME = asyncio.Lock()
"""Alembic keeps its context in module globals: two migrations in one process would share it."""


@dataclass(frozen=True, slots=True)
class Migration:
    """Which revision the ledger had and has; None is an empty database."""

    before: str | None
    after: str

    @property
    def changed(self) -> bool:
        """Whether there was anything to do."""
        return self.before != self.after


async def migrate(url: str) -> Migration:
    """Bring a ledger up to this code, in one transaction; raises StoreError.

    Several at once take turns, and all but the first find nothing to do. A ledger that is newer than
    this code is left as it is.
    """
    engine = new_engine(url)
    try:
        async with _ONE_AT_A_TIME, writing(engine) as connection:
            await _take_turns(connection)
            return await connection.run_sync(_upgrade)
    finally:
        await engine.dispose()


async def is_current(engine: AsyncEngine) -> bool:
    """Whether a ledger has all that this code needs: migrations only add, so a newer one has it too."""
    async with reading(engine) as connection:
        revision = await connection.run_sync(_revision)
    return revision is not None and revision >= _head(_config())


async def _take_turns(connection: AsyncConnection) -> None:
    """Wait for other migrations; SQLite's transaction has the write lock already."""
    if connection.dialect.name == "postgresql":
        await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})


def _upgrade(connection: Connection) -> Migration:
    config = _config()
    head, before = _head(config), _revision(connection)
    if before is not None and before >= head:
        return Migration(before, before)
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    return Migration(before, head)


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _head(config: Config) -> str:
    """Return the newest revision: they are numbered, so that their order is that of their names."""
    return ScriptDirectory.from_config(config).get_current_head() or ""


def _config() -> Config:
    config = Config()
    folder = str(Path(__file__).parent / "migrations")
    config.set_main_option("script_location", folder.replace("%", "%%"))
    return config
