"""Everything on record about one verification: four facts, each with its own clock."""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from activities.store import challenge_tables, tables
from activities.store.challenge_rows import ChallengeStory, Delivered
from activities.store.database import reading

_OWN = (
    *("account_id", "purpose", "method", "state", "created_at"),
    *("consumed_at", "expires_at", "ended_at"),
)


async def challenge_story(engine: AsyncEngine, challenge_id: str) -> ChallengeStory | None:
    """Read a verification; None where there is nothing."""
    table = challenge_tables.challenges
    async with reading(engine) as connection:
        found = await connection.execute(select(table).where(table.c.id == challenge_id))
        values = found.mappings().one_or_none()
        if values is None:
            return None
        deliveries = await _deliveries(connection, challenge_id)
    facts = {name: values[name] for name in _OWN}
    facts |= {"challenge_id": challenge_id, "wrong_codes": values["wrong"], "deliveries": deliveries}
    return ChallengeStory.model_validate(facts)


async def _deliveries(connection: AsyncConnection, challenge_id: str) -> tuple[Delivered, ...]:
    table, notices = challenge_tables.deliveries, tables.notices
    statement = (
        select(
            *(table.c.number, table.c.notice_key, table.c.is_automatic, table.c.asked_at),
            *(notices.c.phase, notices.c.outcome, notices.c.closed_at),
        )
        .outerjoin(notices, notices.c.key == table.c.notice_key)
        .where(table.c.challenge_id == challenge_id)
        .order_by(table.c.number)
    )
    found = await connection.execute(statement)
    return tuple(Delivered.model_validate(dict(row)) for row in found.mappings())
