"""One notice with all that is known of it, for a person to read."""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from activities.store import rows, tables
from activities.store.database import reading
from activities.store.records import AttemptRow, DecisionRow, NoticeRow, ObservationRow, Story


async def story(engine: AsyncEngine, key: str) -> Story | None:
    """Read everything on record about a notice; None where there is nothing."""
    async with reading(engine) as connection:
        table = tables.notices
        found = await connection.execute(select(table).where(table.c.key == key))
        row = found.mappings().one_or_none()
        if row is None:
            return None
        attempts = await rows.find_all(connection, key)
        return _told(
            NoticeRow.model_validate(dict(row)),
            attempts,
            await _observations(connection, attempts),
            await _decisions(connection, key),
        )


def _told(
    notice: NoticeRow,
    attempts: tuple[AttemptRow, ...],
    observations: tuple[ObservationRow, ...],
    decisions: tuple[DecisionRow, ...],
) -> Story:
    return Story(
        key=notice.key,
        kind=notice.kind,
        phase=notice.phase,
        channel=notice.channel,
        outcome=notice.outcome,
        expires_at=notice.expires_at,
        next_at=notice.next_at,
        attempts=attempts,
        observations=observations,
        decisions=decisions,
        notice=notice,
    )


async def _observations(
    connection: AsyncConnection, attempts: tuple[AttemptRow, ...]
) -> tuple[ObservationRow, ...]:
    table = tables.observations
    statement = select(table).where(table.c.attempt_key.in_([each.key for each in attempts]))
    found = await connection.execute(statement.order_by(table.c.id))
    return tuple(ObservationRow.model_validate(dict(row)) for row in found.mappings())


async def _decisions(connection: AsyncConnection, key: str) -> tuple[DecisionRow, ...]:
    table = tables.decisions
    statement = select(table).where(table.c.notice_key == key)
    found = await connection.execute(statement.order_by(table.c.answered_at, table.c.run, table.c.number))
    return tuple(DecisionRow.model_validate(dict(row)) for row in found.mappings())
