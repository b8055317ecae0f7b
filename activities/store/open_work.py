"""All open work at one moment, counted for the gauges: how much there is, and how long it is still of use."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from sqlalchemy import ColumnElement, and_, case, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from activities.store import challenge_tables, tables
from activities.store.database import reading
from activities.store.fallbacks import past_fallback
from workflows.policy.words import AttemptState, ChallengeState, Phase, Status


class Left(StrEnum):
    """How much time is left until expiry, up to the words' own."""

    PAST = "past"
    MINUTE = "1m"
    FIVE_MINUTES = "5m"
    QUARTER = "15m"
    HOUR = "1h"
    MORE = "more"


class Transport(StrEnum):
    """The best that is known of the messages of a challenge."""

    NONE = "none"
    ACCEPTED = "accepted"
    DELIVERED = "delivered"


@dataclass(frozen=True, slots=True)
class OpenWork:
    """Numbers only; nothing of any notice."""

    at: datetime
    notices: Mapping[tuple[str, str, str], int]
    """By kind, phase and time left."""
    oldest_due: datetime | None
    """When the oldest step that is due was due; None where none is."""
    past_fallback: int
    """Notices past their fallback deadline with nothing sent on a later channel."""
    claimed_without_id: int
    """Attempts of open notices that may have left, and that no provider has named."""
    challenges: Mapping[tuple[str, str, str], int]
    """By kind, time left and transport evidence."""
    strays: int


_WITHIN: Final = (
    (timedelta(), Left.PAST),
    (timedelta(minutes=1), Left.MINUTE),
    (timedelta(minutes=5), Left.FIVE_MINUTES),
    (timedelta(minutes=15), Left.QUARTER),
    (timedelta(hours=1), Left.HOUR),
)

_BEST: Final = (Transport.NONE, Transport.ACCEPTED, Transport.DELIVERED)
"""In the order of their weight."""


async def open_work(engine: AsyncEngine, observer: str, *, at: datetime) -> OpenWork:
    """Count all in one transaction, by indexes; `observer` names what only watched, and gives no ids."""
    async with reading(engine) as connection:
        return OpenWork(
            at=at,
            notices=await _notices(connection, at),
            oldest_due=await _oldest_due(connection, at),
            past_fallback=len(await past_fallback(connection, at)),
            claimed_without_id=await _claimed_without_id(connection, observer),
            challenges=await _challenges(connection, at),
            strays=await _strays(connection),
        )


def _left(expires_at: ColumnElement[datetime], at: datetime) -> ColumnElement[str]:
    return case(*((expires_at <= at + gap, word) for gap, word in _WITHIN), else_=Left.MORE)


async def _notices(connection: AsyncConnection, at: datetime) -> dict[tuple[str, str, str], int]:
    table = tables.notices
    by = (table.c.kind, table.c.phase, _left(table.c.expires_at, at).label("left"))
    statement = select(*by, func.count()).where(table.c.outcome.is_(None)).group_by(*by)
    return {(row[0], row[1], row[2]): row[3] for row in await connection.execute(statement)}


async def _oldest_due(connection: AsyncConnection, at: datetime) -> datetime | None:
    """Return the earliest step that waits; a claimed one is at work, and may have to try for long."""
    table = tables.notices
    waits = table.c.outcome.is_(None) & (table.c.phase != Phase.CLAIMED)
    statement = select(func.min(table.c.next_at)).where(waits, table.c.next_at <= at)
    due: datetime | None = (await connection.execute(statement)).scalar_one()
    return due


async def _claimed_without_id(connection: AsyncConnection, observer: str) -> int:
    notices, attempts = tables.notices, tables.attempts
    nameless = and_(attempts.c.state == AttemptState.SUBMITTED, attempts.c.provider_id.is_(None))
    statement = (
        select(func.count())
        .select_from(notices.join(attempts, attempts.c.notice_key == notices.c.key))
        .where(
            notices.c.outcome.is_(None),
            or_(attempts.c.state == AttemptState.AMBIGUOUS, nameless),
            attempts.c.provider.is_distinct_from(observer),
        )
    )
    counted: int = (await connection.execute(statement)).scalar_one()
    return counted


async def _challenges(connection: AsyncConnection, at: datetime) -> dict[tuple[str, str, str], int]:
    challenges, deliveries = challenge_tables.challenges, challenge_tables.deliveries
    attempts = tables.attempts
    weight = case(
        (attempts.c.status == Status.DELIVERED, 2), (attempts.c.status == Status.ACCEPTED, 1), else_=0
    )
    each = (
        select(challenges.c.kind, challenges.c.expires_at, func.max(weight).label("best"))
        .outerjoin(deliveries, deliveries.c.challenge_id == challenges.c.id)
        .outerjoin(attempts, attempts.c.notice_key == deliveries.c.notice_key)
        .where(challenges.c.state == ChallengeState.ACTIVE)
        .group_by(challenges.c.id)
        .subquery()
    )
    by = (each.c.kind, _left(each.c.expires_at, at).label("left"), each.c.best)
    found = await connection.execute(select(*by, func.count()).group_by(*by))
    return {(row[0], row[1], _BEST[row[2]]): row[3] for row in found}


async def _strays(connection: AsyncConnection) -> int:
    counted: int = (await connection.execute(select(func.count()).select_from(tables.strays))).scalar_one()
    return counted
