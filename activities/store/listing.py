"""Many at a time, newest first: notices, verifications and suppressions, by what an operator asks for."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

from sqlalchemy import ColumnElement, Select, and_, exists, func, literal, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from activities.store import challenge_tables, tables
from activities.store.database import reading
from activities.store.fallbacks import past_fallback
from activities.store.records import NoticeRow
from activities.store.suppressions import Suppression
from workflows.policy.models import Payload
from workflows.policy.words import (
    AttemptState,
    ChallengeState,
    Channel,
    Method,
    Outcome,
    Phase,
    SuppressionReason,
)

COUNTED: Final = 10_000
"""Rows beyond a page are counted up to here: nobody waits for the exact number of millions."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """The newest rows, and how many more there are."""

    rows: tuple[T, ...]
    more: int = 0
    """Where this is COUNTED, there may be more than that."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """What is late: due before one instant, or claimed before another (UTC)."""

    due_before: datetime
    claimed_before: datetime


@dataclass(frozen=True, slots=True)
class Notices:
    """Which notices are wanted: all that is given must hold."""

    phase: Phase | None = None
    kind: str | None = None
    outcome: Outcome | None = None
    recipients: tuple[str, ...] = ()
    """The id, in each spelling that may be meant."""
    since: datetime | None = None
    due_before: datetime | None = None
    stuck: Stuck | None = None
    past_fallback_at: datetime | None = None
    """Those whose fallback deadline has passed at this moment."""

    @property
    def is_open(self) -> bool:
        """Whether only open ones can be meant: they are few, and have an index of their own."""
        is_open = self.phase not in {None, Phase.CLOSED}
        asks_when = (self.due_before, self.stuck, self.past_fallback_at)
        return is_open or any(each is not None for each in asks_when)


@dataclass(frozen=True, slots=True)
class Verifications:
    """Which challenges are wanted."""

    state: ChallengeState | None = None
    kind: str | None = None
    accounts: tuple[str, ...] = ()
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Suppressed:
    """Which suppressions are wanted; lifted ones only where they are asked for."""

    channel: Channel | None = None
    reason: SuppressionReason | None = None
    since: datetime | None = None
    lifted: bool = False


class ListedChallenge(Payload):
    """One challenge without what could be guessed from; every instant is UTC."""

    id: str
    account_id: str
    kind: str
    purpose: str
    method: Method
    state: ChallengeState
    wrong: int
    wrong_codes: int
    messages: int
    """How many were asked for."""
    created_at: datetime
    expires_at: datetime
    consumed_at: datetime | None = None
    ended_at: datetime | None = None


class Listing:
    """Reads pages; each is one transaction that waits for no writer."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def notices(self, wanted: Notices, limit: int) -> Page[NoticeRow]:
        """Return the newest notices."""
        statement = select(tables.notices).where(*_of_notices(wanted))
        async with reading(self._engine) as connection:
            match wanted.past_fallback_at:
                case None:
                    return await _page(connection, statement, limit, _NOTICES)
                case now:
                    return await _overdue(connection, statement, limit, now)

    async def verifications(self, wanted: Verifications, limit: int) -> Page[ListedChallenge]:
        """Return the newest challenges."""
        table, deliveries = challenge_tables.challenges, challenge_tables.deliveries
        of_it = select(func.count()).where(deliveries.c.challenge_id == table.c.id)
        messages = of_it.correlate(table).scalar_subquery().label("messages")
        own = [table.c[name] for name in ListedChallenge.model_fields if name != messages.name]
        statement = select(*own, messages).where(*_of_challenges(wanted))
        async with reading(self._engine) as connection:
            return await _page(connection, statement, limit, _CHALLENGES)

    async def suppressions(self, wanted: Suppressed, limit: int) -> Page[Suppression]:
        """Return the newest suppressions."""
        kept = [tables.suppressions.c[name] for name in Suppression.model_fields]
        statement = select(*kept).where(*_of_suppressions(wanted))
        async with reading(self._engine) as connection:
            return await _page(connection, statement, limit, _SUPPRESSIONS)


R = TypeVar("R", bound=Payload)


@dataclass(frozen=True, slots=True)
class _Reading(Generic[R]):
    """What rows become, and the columns by which the newest come first."""

    model: type[R]
    at: ColumnElement[datetime]
    key: ColumnElement[Any]


_NOTICES: Final = _Reading(NoticeRow, tables.notices.c.created_at, tables.notices.c.key)
_CHALLENGES: Final = _Reading(
    ListedChallenge, challenge_tables.challenges.c.created_at, challenge_tables.challenges.c.id
)
_SUPPRESSIONS: Final = _Reading(Suppression, tables.suppressions.c.observed_at, tables.suppressions.c.id)


async def _page(connection: AsyncConnection, wanted: Select[Any], limit: int, read: _Reading[R]) -> Page[R]:
    newest = wanted.order_by(read.at.desc(), read.key.desc()).limit(limit)
    found = (await connection.execute(newest)).mappings().all()
    rows = tuple(read.model.model_validate(dict(row)) for row in found)
    if len(rows) < limit:
        return Page(rows)
    # In order as well, so that the database walks the same index and stops.
    every = wanted.with_only_columns(literal(1), maintain_column_froms=True).order_by(read.at.desc())
    beyond = every.offset(limit).limit(COUNTED).subquery()
    counted = await connection.execute(select(func.count()).select_from(beyond))
    return Page(rows, counted.scalar_one())


async def _overdue(
    connection: AsyncConnection, wanted: Select[Any], limit: int, now: datetime
) -> Page[NoticeRow]:
    """Return those past their fallback deadline: it is policy, and takes more than the database knows."""
    overdue, table = await past_fallback(connection, now), tables.notices
    newest = wanted.with_only_columns(table.c.key).order_by(table.c.created_at.desc(), table.c.key.desc())
    keys = [each for each in (await connection.execute(newest)).scalars() if each in overdue]
    page = await _page(connection, wanted.where(table.c.key.in_(keys[:limit])), limit, _NOTICES)
    return replace(page, more=len(keys) - len(page.rows))


def _of_notices(wanted: Notices) -> Iterator[ColumnElement[bool]]:
    table = tables.notices
    for column, value in ((table.c.kind, wanted.kind), (table.c.outcome, wanted.outcome)):
        if value is not None:
            yield column == value
    if wanted.recipients:
        yield table.c.recipient_id.in_(wanted.recipients)
    if wanted.since is not None:
        yield table.c.created_at >= wanted.since
    if wanted.phase is not None:
        yield table.c.phase == wanted.phase
    if wanted.due_before is not None:
        yield table.c.next_at < wanted.due_before
    if wanted.stuck is not None:
        yield _is_stuck(wanted.stuck)
    if wanted.is_open:
        yield table.c.outcome.is_(None)


def _is_stuck(stuck: Stuck) -> ColumnElement[bool]:
    notices, attempts = tables.notices, tables.attempts
    dispatched = and_(
        attempts.c.notice_key == notices.c.key,
        attempts.c.state == AttemptState.AMBIGUOUS,
        attempts.c.last_dispatched_at < stuck.claimed_before,
    )
    claimed = and_(notices.c.phase == Phase.CLAIMED, exists().where(dispatched))
    return or_(notices.c.next_at < stuck.due_before, claimed)


def _of_challenges(wanted: Verifications) -> Iterator[ColumnElement[bool]]:
    table = challenge_tables.challenges
    for column, value in ((table.c.kind, wanted.kind), (table.c.state, wanted.state)):
        if value is not None:
            yield column == value
    if wanted.accounts:
        yield table.c.account_id.in_(wanted.accounts)
    if wanted.since is not None:
        yield table.c.created_at >= wanted.since


def _of_suppressions(wanted: Suppressed) -> Iterator[ColumnElement[bool]]:
    table = tables.suppressions
    for column, value in ((table.c.channel, wanted.channel), (table.c.reason, wanted.reason)):
        if value is not None:
            yield column == value
    if wanted.since is not None:
        yield table.c.observed_at >= wanted.since
    if not wanted.lifted:
        yield table.c.lifted_at.is_(None)
