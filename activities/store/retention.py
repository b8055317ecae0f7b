"""What the ledger no longer needs: the evidence of notices, and the messages of challenges, long closed.

What stays is one row each, with its outcome: a key is used once for ever, so what says that it was used is
never deleted; nor are suppressions and the settings of controls.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import Column, Table, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from activities.store import challenge_tables, tables
from activities.store.database import reading, writing

AT_ONCE: Final = 200
"""Notices and challenges in one transaction: nobody waits long for it, and each run ends whole."""


class Pruned(NamedTuple):
    """How many were pruned, or could be."""

    notices: int
    challenges: int


class Retention:
    """Prunes in small transactions; times are UTC and come from the caller."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def outdated(self, before: datetime) -> Pruned:
        """Count what closed before an instant and still has its evidence."""
        async with reading(self._engine) as connection:
            return Pruned(
                await _count(connection, tables.notices, tables.notices.c.closed_at, before),
                await _count(connection, _CHALLENGES, _CHALLENGES.c.ended_at, before),
            )

    async def prune(self, before: datetime, *, at: datetime) -> Pruned:
        """Prune the oldest of what closed before an instant, a small number at once; zeros when done."""
        async with writing(self._engine) as connection:
            notices = await _oldest(connection, tables.notices, tables.notices.c.closed_at, before)
            await _strip_notices(connection, notices, at)
        async with writing(self._engine) as connection:
            challenges = await _oldest(connection, _CHALLENGES, _CHALLENGES.c.ended_at, before)
            await _strip_challenges(connection, challenges, at)
        return Pruned(len(notices), len(challenges))


_CHALLENGES = challenge_tables.challenges


async def _count(
    connection: AsyncConnection, table: Table, closed_at: Column[datetime], before: datetime
) -> int:
    counted = select(func.count()).select_from(table).where(table.c.pruned_at.is_(None), closed_at < before)
    return int((await connection.execute(counted)).scalar_one())


async def _oldest(
    connection: AsyncConnection, table: Table, closed_at: Column[datetime], before: datetime
) -> Sequence[str]:
    """Return the keys of the oldest, held; those that others hold are left for the next time."""
    (key,) = table.primary_key.columns
    wanted = select(key).where(table.c.pruned_at.is_(None), closed_at < before)
    held = wanted.order_by(closed_at).limit(AT_ONCE).with_for_update(skip_locked=True)
    return (await connection.execute(held)).scalars().all()


async def _strip_notices(connection: AsyncConnection, keys: Sequence[str], at: datetime) -> None:
    # First: the database lets only the evidence of a notice go that says so.
    pruned = update(tables.notices).where(tables.notices.c.key.in_(keys)).values(pruned_at=at)
    await connection.execute(pruned)
    attempts, observations, decisions = tables.attempts, tables.observations, tables.decisions
    of_them = select(attempts.c.key).where(attempts.c.notice_key.in_(keys))
    await connection.execute(delete(observations).where(observations.c.attempt_key.in_(of_them)))
    await connection.execute(delete(attempts).where(attempts.c.notice_key.in_(keys)))
    await connection.execute(delete(decisions).where(decisions.c.notice_key.in_(keys)))


async def _strip_challenges(connection: AsyncConnection, ids: Sequence[str], at: datetime) -> None:
    """A link of a pruned challenge is that of none, and its id stays used."""
    for table in (challenge_tables.tries, challenge_tables.deliveries):
        await connection.execute(delete(table).where(table.c.challenge_id.in_(ids)))
    gone = {"link_digest": None, "code_digest": None, "pruned_at": at}
    await connection.execute(update(_CHALLENGES).where(_CHALLENGES.c.id.in_(ids)).values(**gone))
