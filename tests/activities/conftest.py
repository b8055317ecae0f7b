"""A real ledger of its own for each test that asks for one, and one that a table of rows shares."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from activities.store.engine import open_engine
from activities.store.ledger import Ledger
from activities.store.migrate import migrate
from tests.activities.counted import Counted


@pytest.fixture(scope="session")
async def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger's file with all tables and no rows, to be copied."""
    path = tmp_path_factory.mktemp("ledgers") / "template.db"
    await migrate(f"sqlite:///{path}")
    return path


@asynccontextmanager
async def opened(migrated: Path, path: Path) -> AsyncIterator[Ledger]:
    shutil.copy(migrated, path)
    engine = await open_engine(f"sqlite:///{path}")
    yield Ledger(engine)
    await engine.dispose()


@pytest.fixture
async def ledger(migrated: Path, tmp_path: Path) -> AsyncIterator[Ledger]:
    async with opened(migrated, tmp_path / "ledger.db") as ledger:
        yield ledger


@pytest.fixture(scope="module")
async def shared(migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Ledger]:
    """A ledger for rows that each bring a notice of their own."""
    async with opened(migrated, tmp_path_factory.mktemp("shared") / "ledger.db") as ledger:
        yield ledger


@pytest.fixture(scope="session")
def only_meter() -> Counted:
    """One runtime of the SDK's for all tests: each has threads of its own."""
    return Counted()


@pytest.fixture
def counted(only_meter: Counted) -> Counted:
    """A meter by which nothing was counted yet."""
    only_meter.read()
    return only_meter
