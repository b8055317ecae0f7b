"""A real ledger for each test that asks for one; most engines here are fakes, and a few are real."""

import logging
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from activities.store.engine import open_engine
from activities.store.ledger import Ledger
from activities.store.migrate import migrate


@pytest.fixture(scope="session")
async def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger's file with all tables and no rows, to be copied."""
    path = tmp_path_factory.mktemp("ledgers") / "template.db"
    await migrate(f"sqlite:///{path}")
    return path


@pytest.fixture
async def ledger(migrated: Path, tmp_path: Path) -> AsyncIterator[Ledger]:
    path = tmp_path / "ledger.db"
    shutil.copy(migrated, path)
    engine = await open_engine(f"sqlite:///{path}")
    yield Ledger(engine)
    await engine.dispose()


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """Servers set up the logging of their process, and this one is not theirs."""
    level, handlers = logging.root.level, logging.root.handlers
    yield
    logging.root.setLevel(level)
    logging.root.handlers = handlers
