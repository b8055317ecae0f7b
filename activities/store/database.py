"""How the ledger's database is reached, and how every transaction on it begins.

SQLite is opened for durability: a write-ahead log that is synced at each commit, since a claim that a
power cut takes back is a second message (0.3 ms a commit against 0.03 ms unsynced). Writing transactions
take its one write lock when they begin: one that took it later could not wait for it.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path

from sqlalchemy import Connection, event
from sqlalchemy.engine import URL, Dialect, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError, TimeoutError  # noqa: A004 - the pool's
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from activities.settings import DATABASE_URL
from activities.store.errors import StoreError, explained

_DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
}

PATIENCE = timedelta(seconds=10)
"""How long to wait for a connection or for SQLite's write lock: half of what an activity has."""

CONNECT = timedelta(seconds=5)

_PRAGMAS = (
    f"PRAGMA busy_timeout = {PATIENCE // timedelta(milliseconds=1)}",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
)
_READING = "standby_reading"


def new_engine(url: str, *, creates: bool = True) -> AsyncEngine:
    """Return an engine that has connected to nothing yet; raises StoreError for a URL of no use.

    Where it does not create, a file that is not there stays so. Dispose of it in the event loop that used it.
    """
    where = parsed(url)
    if where.get_backend_name() == "sqlite":
        return _sqlite(where, creates=creates)
    return create_async_engine(
        where,
        hide_parameters=True,
        isolation_level="READ COMMITTED",
        pool_pre_ping=True,
        pool_size=10,
        pool_timeout=PATIENCE.total_seconds(),
        connect_args={
            "connect_timeout": int(CONNECT.total_seconds()),
            "prepare_threshold": None,  # a pooler in between may hand each transaction to another server
        },
    )


def parsed(url: str) -> URL:
    """Return a URL with the driver that is installed; raises StoreError, which never repeats the URL."""
    try:
        given = make_url(url)
        driver = _DRIVERS[given.drivername.partition("+")[0]]
    except (ArgumentError, ValueError, KeyError):
        raise StoreError(f"STANDBY_DATABASE_URL: {DATABASE_URL}") from None
    if driver.startswith("sqlite") and given.database in {None, "", ":memory:"}:
        raise StoreError(f"STANDBY_DATABASE_URL: names no file; it {DATABASE_URL}")
    if driver.startswith("postgresql") and url.count("@") > 1:
        # The host would begin within the password, and be told in every message.
        raise StoreError(
            f"STANDBY_DATABASE_URL: has more than one @; it {DATABASE_URL}, with %40 for an @ in the password"
        )
    return given.set(drivername=driver)


def writing(engine: AsyncEngine) -> AbstractAsyncContextManager[AsyncConnection]:
    """Return one transaction that is committed as a whole or not at all; raises StoreError."""
    return _transaction(engine)


def reading(engine: AsyncEngine) -> AbstractAsyncContextManager[AsyncConnection]:
    """Return one transaction that only reads, and waits for no writer; raises StoreError."""
    return _transaction(engine.execution_options(**{_READING: True}))


@asynccontextmanager
async def _transaction(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    try:
        async with engine.begin() as connection:
            yield connection
    except (DBAPIError, TimeoutError) as error:
        raise explained(error, engine.url) from None


def _sqlite(where: URL, *, creates: bool) -> AsyncEngine:
    engine = create_async_engine(
        where,
        hide_parameters=True,
        pool_size=4,  # one writes at a time: more would only wait for each other
        max_overflow=0,
        pool_timeout=PATIENCE.total_seconds(),
    )
    if not creates:
        event.listen(engine.sync_engine, "do_connect", _only_what_is_there)
    event.listen(engine.sync_engine, "connect", _prepare)
    event.listen(engine.sync_engine, "begin", _begin)
    return engine


def _only_what_is_there(
    _dialect: Dialect, _: ConnectionPoolEntry, arguments: list[str], options: dict[str, object]
) -> None:
    """Name the file to SQLite in the one form that can say so; a URI of the operator's own stays as it is."""
    if not options.get("uri"):
        arguments[0] = f"{Path(arguments[0]).as_uri()}?mode=rw"
        options["uri"] = True
    elif "mode=" not in arguments[0]:
        arguments[0] += f"{'&' if '?' in arguments[0] else '?'}mode=rw"


def _prepare(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # the driver begins nothing by itself
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _begin(connection: Connection) -> None:
    reads = connection.get_execution_options().get(_READING, False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")
