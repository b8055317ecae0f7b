"""Single rows of a verification inside a transaction.

Whoever writes to a challenge holds its row first, and takes the turns of the limits after it.
"""

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from activities.store import challenge_tables
from activities.store.challenge_rows import ChallengeRow, DeliveryRow
from activities.store.errors import Missing


async def held(connection: AsyncConnection, challenge_id: str) -> ChallengeRow:
    """Return a challenge that no other transaction can write before this one ends; raises Missing."""
    row = await find(connection, challenge_id, held=True)
    if row is None:
        raise Missing(f"ledger: there is no verification {challenge_id}")
    return row


async def find(connection: AsyncConnection, challenge_id: str, *, held: bool = False) -> ChallengeRow | None:
    """Return a challenge, if there is one; held, it waits as `held` does."""
    table = challenge_tables.challenges
    statement = select(table).where(table.c.id == challenge_id)
    found = await connection.execute(statement.with_for_update() if held else statement)
    values = found.mappings().one_or_none()
    return None if values is None else ChallengeRow.model_validate(dict(values))


async def change(connection: AsyncConnection, challenge_id: str, changes: dict[str, object]) -> None:
    """Write to a challenge that is held."""
    table = challenge_tables.challenges
    await connection.execute(update(table).where(table.c.id == challenge_id).values(**changes))


async def delivery(connection: AsyncConnection, challenge_id: str, asked_id: str) -> DeliveryRow | None:
    """Return the message of a challenge that was asked for under an id."""
    table = challenge_tables.deliveries
    same = (table.c.challenge_id == challenge_id) & (table.c.asked_id == asked_id)
    values = (await connection.execute(select(table).where(same))).mappings().one_or_none()
    return None if values is None else DeliveryRow.model_validate(dict(values))


async def tried(connection: AsyncConnection, challenge_id: str, attempt_id: str) -> bool | None:
    """Return what came of presenting a secret, if that was tried."""
    table = challenge_tables.tries
    same = (table.c.challenge_id == challenge_id) & (table.c.attempt_id == attempt_id)
    return (await connection.execute(select(table.c.consumed).where(same))).scalar_one_or_none()
