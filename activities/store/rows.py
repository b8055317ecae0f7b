"""Single rows inside a transaction: hold, find, insert once, change as it was read.

Writers of one notice queue for its row, which every writing transaction takes first: there is one order,
hence no deadlock, and each sees what the one before has committed. SQLite has one writer at a time
anyway. Each update compares the version besides, and catches a writer that did not queue.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy import Table, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from activities.store import tables
from activities.store.errors import Conflict, Missing
from activities.store.records import AttemptRow, NoticeRow
from workflows.policy.keys import attempt_digest, attempted
from workflows.policy.words import AttemptState


async def hold(connection: AsyncConnection, key: str) -> NoticeRow:
    """Return a notice that no other transaction can write before this one ends; raises Missing."""
    table = tables.notices
    found = await connection.execute(select(table).where(table.c.key == key).with_for_update())
    row = found.mappings().one_or_none()
    if row is None:
        raise Missing(f"ledger: there is no notice {key}")
    return NoticeRow.model_validate(dict(row))


async def find(connection: AsyncConnection, key: str) -> AttemptRow | None:
    """Return an attempt, if there is a row of it."""
    table = tables.attempts
    row = (await connection.execute(select(table).where(table.c.key == key))).mappings().one_or_none()
    return None if row is None else AttemptRow.model_validate(dict(row))


async def find_all(connection: AsyncConnection, notice_key: str) -> tuple[AttemptRow, ...]:
    """Return the attempts of a notice in the order of their first dispatch."""
    table = tables.attempts
    found = await connection.execute(select(table).where(table.c.notice_key == notice_key))
    rows = [AttemptRow.model_validate(dict(row)) for row in found.mappings()]
    return tuple(
        sorted(rows, key=lambda row: (row.first_dispatched_at is None, row.first_dispatched_at, row.key))
    )


async def plan(connection: AsyncConnection, key: str) -> AttemptRow:
    """Write an attempt that nothing is known of yet; the notice must be held."""
    of = attempted(key)
    row = AttemptRow(
        key=key,
        notice_key=of.notice_key,
        channel=of.channel,
        number=of.number,
        state=AttemptState.PLANNED,
    )
    values = row.model_dump() | {"digest": attempt_digest(key)}
    await connection.execute(tables.attempts.insert().values(values))
    return row


async def change(
    connection: AsyncConnection, table: Table, row: NoticeRow | AttemptRow, **changes: object
) -> None:
    """Update a row as it was read; raises Conflict if it has changed since."""
    as_read = (table.c.key == row.key) & (table.c.version == row.version)
    changed = await connection.execute(
        update(table).where(as_read).values(**changes, version=row.version + 1)
    )
    if changed.rowcount != 1:
        raise Conflict(f"ledger: {row.key} changed while it was being written; trying again is safe")


async def insert_once(connection: AsyncConnection, table: Table, values: Mapping[str, object]) -> bool:
    """Insert a row unless one with its key is there; exactly one of many that race returns True."""
    return await insert_new(connection, table, values) == 1


async def insert_new(
    connection: AsyncConnection,
    table: Table,
    values: Mapping[str, object] | Sequence[Mapping[str, object]],
) -> int:
    """Insert one row or several, but for those whose keys are there; return how many are new."""
    statement: postgresql.Insert | sqlite.Insert
    match connection.dialect.name:
        case "postgresql":
            statement = postgresql.insert(table).values(values).on_conflict_do_nothing()
        case _:
            statement = sqlite.insert(table).values(values).on_conflict_do_nothing()
    inserted = await connection.execute(statement.returning(*table.primary_key.columns))
    return len(inserted.all())
