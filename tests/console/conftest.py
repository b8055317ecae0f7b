"""A real engine, workers on scripted worlds, each on a queue of its own, and a shell to run commands in."""

import logging
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from temporalio.client import Client

from activities.connect import connect
from activities.keyring import Keyring
from activities.store.engine import open_engine
from activities.store.ledger import Ledger
from activities.store.migrate import migrate
from console.engine import EngineAt, development_engine, free_port
from tests.console.shell import Shell
from tests.workflows.fakes import World
from tests.workflows.policies import EMAIL_ONLY
from tests.workflows.scripts import BLOCKED, DELIVERED, EMAIL
from tests.workflows.stage import worker

DELIVERING, BLOCKING, REFUSING, SILENT = "delivering", "blocking", "refusing", "silent"
"""Task queues, each named for what its worker's world does."""
DESERTED = "deserted"
"""A task queue without a worker."""

REFUSAL = "kind: must be one of the folders in notices/"


@dataclass(frozen=True)
class Town:
    """The engine, its keys, and an empty ledger."""

    client: Client
    environ: dict[str, str]
    ledger: Path


@pytest.fixture(scope="session")
async def town(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Town]:
    home = tmp_path_factory.mktemp("console")
    worlds = {
        DELIVERING: World(EMAIL_ONLY, sends={EMAIL: [DELIVERED]}),
        BLOCKING: World(EMAIL_ONLY, sends={EMAIL: [BLOCKED]}),
        REFUSING: World(EMAIL_ONLY, refusal=REFUSAL),
        SILENT: World(EMAIL_ONLY),
    }
    keys, ledger = home / "keys.toml", home / "ledger.db"
    keyring = Keyring.create(keys)
    await migrate(f"sqlite:///{ledger}")
    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(development_engine(home, EngineAt(free_port(), free_port())))
        environ = {
            "STANDBY_DATABASE_URL": f"sqlite:///{ledger}",
            "STANDBY_KEY_FILE": str(keys),
            "STANDBY_TASK_QUEUE": DELIVERING,
            "TEMPORAL_ADDRESS": engine.address,
        }
        client = await connect(keyring, environ=environ)
        for queue, world in worlds.items():
            await stack.enter_async_context(worker(client, world, queue))
        yield Town(client, environ, ledger)


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """Commands set up the logging of their process, and this one is not theirs."""
    level, handlers = logging.root.level, logging.root.handlers
    yield
    logging.root.setLevel(level)
    logging.root.handlers = handlers


@pytest.fixture
def shell(
    town: Town,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Shell:
    return Shell(town.environ, tmp_path, capsys, monkeypatch)


@pytest.fixture
def alone(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Shell:
    """A shell without an engine or a ledger."""
    Keyring.create(tmp_path / "alone.toml")
    environ = {
        "STANDBY_DATABASE_URL": f"sqlite:///{tmp_path / 'nowhere' / 'ledger.db'}",
        "STANDBY_KEY_FILE": str(tmp_path / "alone.toml"),
        "TEMPORAL_ADDRESS": f"127.0.0.1:{free_port()}",
    }
    return Shell(environ, tmp_path, capsys, monkeypatch)


@pytest.fixture
def own(town: Town, tmp_path: Path) -> dict[str, str]:
    """What names a ledger of its own to commands."""
    shutil.copy(town.ledger, tmp_path / "own.db")
    return {"STANDBY_DATABASE_URL": f"sqlite:///{tmp_path / 'own.db'}"}


@pytest.fixture
async def ledger(own: dict[str, str]) -> AsyncIterator[Ledger]:
    engine = await open_engine(own["STANDBY_DATABASE_URL"])
    yield Ledger(engine)
    await engine.dispose()
