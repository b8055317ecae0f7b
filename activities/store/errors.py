"""What can be wrong with the ledger, in one line that says what to do.

PublicError
└── StoreError          anything the ledger cannot do
    ├── Unreachable     no connection, or it was lost
    ├── Unmigrated      the tables are missing or older than this code
    ├── ReadOnly        it can be read and not written
    ├── DiskFull        there is no room left
    ├── Busy            others held it too long: try again
    ├── Conflict        a row changed while it was being written: try again
    └── Missing         there is no such notice, attempt or verification

A driver's text may repeat a row or a connection string, so none of it is kept but the reason that
a connection failed.
"""

# ruff: noqa: N818 - named by what is wrong, as a person reads them

import sqlite3

import psycopg
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from activities.discreet import PublicError


class StoreError(PublicError):
    """The ledger cannot do what it was asked; one line, without a password or a row."""


class Unreachable(StoreError):
    """There is no connection."""


class Unmigrated(StoreError):
    """The tables are missing, or older than this code."""


class ReadOnly(StoreError):
    """The ledger can be read and not written."""


class DiskFull(StoreError):
    """There is no room left."""


class Busy(StoreError):
    """Others held the ledger too long; trying again is safe."""


class Conflict(StoreError):
    """A row changed while it was being written, and nothing was written; trying again is safe."""


class Missing(StoreError):
    """There is no such notice, attempt or verification."""


_TEXTS: dict[type[StoreError], str] = {
    Unreachable: "cannot be reached ({}); check STANDBY_DATABASE_URL",
    Unmigrated: "has not been migrated; run: standby migrate",
    ReadOnly: "is read-only; give this process the right to write",
    DiskFull: "has no room left; free some disk space",
    Busy: "is busy; trying again is safe",
    StoreError: "refused a statement ({})",
}

_SQLITE: dict[int, type[StoreError]] = {
    sqlite3.SQLITE_BUSY: Busy,
    sqlite3.SQLITE_LOCKED: Busy,
    sqlite3.SQLITE_CANTOPEN: Unreachable,
    sqlite3.SQLITE_NOTADB: Unreachable,
    sqlite3.SQLITE_PERM: Unreachable,
    sqlite3.SQLITE_IOERR: Unreachable,
    sqlite3.SQLITE_READONLY: ReadOnly,
    sqlite3.SQLITE_FULL: DiskFull,
}
_PRIMARY = 0xFF
"""The lowest byte of an SQLite code is its class."""

_POSTGRES: dict[str, type[StoreError]] = {
    "42P01": Unmigrated,  # no such table
    "42703": Unmigrated,  # no such column
    "25006": ReadOnly,
    "53100": DiskFull,
    "53300": Busy,  # too many connections
    "40001": Busy,  # a stricter isolation than ours was forced
    "40P01": Busy,  # deadlock
    "55P03": Busy,  # lock not available
    "57014": Busy,  # statement timeout
}
_LOST = ("08", "28", "3D", "57P")
"""Classes of PostgreSQL's codes: connection, authorisation, no such database, shut down."""


def explained(error: SQLAlchemyError, url: URL) -> StoreError:
    """Return what a database error means to a person."""
    kind = _kind(error)
    orig = error.orig if isinstance(error, DBAPIError) else error
    detail = _reason(orig, url) if kind is Unreachable else _code(orig)
    return kind(f"ledger: {place(url)} {_TEXTS[kind].format(detail)}")


def place(url: URL) -> str:
    """Name a database without user, password or options; what is before an @ may be a password."""
    if url.get_backend_name() == "sqlite":
        return f"SQLite file {(url.database or '').partition('?')[0]}"
    host, name = ((each or "").rpartition("@")[2] for each in (url.host, url.database))
    return f"PostgreSQL {host or 'localhost'}:{url.port or 5432}/{name}"


def _kind(error: SQLAlchemyError) -> type[StoreError]:
    if not isinstance(error, DBAPIError):
        return Busy  # every connection of the pool stayed in use
    match error.orig:
        case sqlite3.Error() as orig:
            return _of_sqlite(orig)
        case psycopg.Error(sqlstate=str(code)):
            return _POSTGRES.get(code, Unreachable if code.startswith(_LOST) else StoreError)
        case psycopg.OperationalError():
            return Unreachable
        case _:
            return StoreError


def _of_sqlite(orig: sqlite3.Error) -> type[StoreError]:
    code = getattr(orig, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY
    if code == sqlite3.SQLITE_ERROR and str(orig).startswith(("no such table", "no such column")):
        return Unmigrated
    return _SQLITE.get(code, StoreError)


def _code(orig: BaseException | None) -> str:
    """Return a driver's own name of an error; its text may repeat a row."""
    named = getattr(orig, "sqlite_errorname", None) or getattr(orig, "sqlstate", None)
    return str(named or type(orig).__name__)


def _reason(orig: BaseException | None, url: URL) -> str:
    """Return why a connection failed, on one line."""
    line = str(orig).strip().partition("\n")[0].removeprefix("connection failed: ")
    for secret in (url.password, url.query.get("password")):
        if isinstance(secret, str) and secret:
            line = line.replace(secret, "***")
    return line
