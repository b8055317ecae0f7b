"""Turns: transactions that go by the same name run one after the other, whatever rows they find."""

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection


async def take_turns(connection: AsyncConnection, *names: str | None) -> None:
    """Wait for every transaction that holds one of these names, and hold them until this one ends.

    A row that is not there yet cannot be locked, and its name can. All take them in one order, so that no
    two wait for each other; who needs a row besides locks it before. SQLite has one writer anyway.
    """
    if connection.dialect.name != "postgresql":
        return
    for name in sorted({each for each in names if each}):
        await connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, 0))))
