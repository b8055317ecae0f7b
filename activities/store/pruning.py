"""What is kept for a while only goes in passing, with the next row that comes."""

from datetime import datetime
from typing import Final

from sqlalchemy import Column, Table, delete, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

AT_ONCE: Final = 100
"""Rows: far more than come with one write, and no long wait for whoever writes it."""


async def prune(connection: AsyncConnection, table: Table, age: Column[datetime], before: datetime) -> None:
    """Delete the oldest of the rows from before an instant; `age` has an index.

    Rows that others hold are passed over: who prunes waits for nobody, and so for nobody in a circle.
    """
    old = select(*table.primary_key.columns).where(age < before).order_by(age).limit(AT_ONCE)
    found = await connection.execute(old.with_for_update(skip_locked=True))
    keys = [tuple(row) for row in found]
    if keys:
        await connection.execute(delete(table).where(tuple_(*table.primary_key.columns).in_(keys)))
