"""Every test of the ledger runs twice: on SQLite and on a real PostgreSQL, and begins with empty tables."""

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path
from typing import Protocol

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from typing_extensions import override

from activities.store.database import new_engine
from activities.store.ledger import Ledger
from activities.store.migrate import migrate
from activities.store.schema import metadata
from tests.postgres import REQUIRED, NoPostgresError, server

_NUMBERS = count(1)
_LEFT_OPEN = text(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
"""Ends what a test that failed has left: its locks would hold up every test after it."""


class Databases(Protocol):
    async def empty(self) -> str:
        """Return the URL of a new database without tables."""

    async def migrated(self) -> str:
        """Return the URL of a new database with all tables."""


class Files(Databases):
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._template = folder / "template.db"

    async def prepare(self) -> None:
        await migrate(f"sqlite:///{self._template}")

    @override
    async def empty(self) -> str:
        file = self._folder / f"{next(_NUMBERS)}.db"
        file.touch()
        return f"sqlite:///{file}"

    @override
    async def migrated(self) -> str:
        url = await self.empty()
        shutil.copy(self._template, url.removeprefix("sqlite:///"))
        return url


class Server(Databases):
    def __init__(self, url: str) -> None:
        self._url = make_url(url).set(drivername="postgresql+psycopg")
        self._admin = create_async_engine(self._url, isolation_level="AUTOCOMMIT")
        self._made: list[str] = []

    async def prepare(self) -> None:
        self._shared = await self.empty()
        await migrate(self._shared)
        self._sweeper = new_engine(self._shared)

    async def clear(self) -> None:
        await self._sweeper.dispose()
        async with self._admin.connect() as connection:
            for name in self._made:
                await connection.execute(text(f"DROP DATABASE {name} (FORCE)"))
        await self._admin.dispose()

    @override
    async def empty(self) -> str:
        name = f"standby_test_{os.getpid()}_{next(_NUMBERS)}"
        async with self._admin.connect() as connection:
            await connection.execute(text(f"CREATE DATABASE {name}"))
        self._made.append(name)
        url = self._url.set(database=name, drivername="postgresql")
        return url.render_as_string(hide_password=False)

    @override
    async def migrated(self) -> str:
        """Sweep one database again and again: making one takes longer than most tests."""
        async with self._sweeper.begin() as connection:
            await connection.execute(_LEFT_OPEN)
            for table in reversed(metadata.sorted_tables):
                await connection.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER USER"))
                await connection.execute(table.delete())
                await connection.execute(text(f"ALTER TABLE {table} ENABLE TRIGGER USER"))
        return self._shared


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    try:
        with server() as url:
            yield url
    except NoPostgresError as missing:
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(str(missing))
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
async def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    files = Files(tmp_path_factory.mktemp("ledgers"))
    await files.prepare()
    return files


@pytest.fixture(scope="session")
async def databases_of_postgres(postgres: str) -> AsyncIterator[Server]:
    databases = Server(postgres)
    await databases.prepare()
    yield databases
    await databases.clear()


@pytest.fixture(params=["sqlite", "postgresql"])
def databases(request: pytest.FixtureRequest) -> Databases:
    name = {"sqlite": "files", "postgresql": "databases_of_postgres"}[request.param]
    found: Databases = request.getfixturevalue(name)
    return found


@pytest.fixture
async def url(databases: Databases) -> str:
    return await databases.migrated()


@pytest.fixture
async def engine(url: str) -> AsyncIterator[AsyncEngine]:
    engine = new_engine(url)
    yield engine
    await engine.dispose()


@pytest.fixture
def ledger(engine: AsyncEngine) -> Ledger:
    return Ledger(engine)


@pytest.fixture
async def ledgers(url: str) -> AsyncIterator[tuple[Ledger, Ledger]]:
    """Yield two ledgers on one database, as two workers have them."""
    engines = new_engine(url), new_engine(url)
    yield Ledger(engines[0]), Ledger(engines[1])
    for engine in engines:
        await engine.dispose()
