"""Who may not be written to, by the keyed hash of the address; lifted by a person, never forgotten."""

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from pydantic import Field
from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from activities.store import rows, tables
from activities.store.database import reading, writing
from workflows.policy.models import Payload
from workflows.policy.words import Channel, SuppressionReason

AT_ONCE: Final = 500
"""Rows a statement: both databases bound its values."""


class Suppression(Payload):
    """One reason why an address is not written to, or was not; every instant is UTC."""

    address_hash: str = Field(repr=False)
    channel: Channel
    reason: SuppressionReason
    source_notice: str | None = None
    """The notice whose report said so, or who else did."""
    observed_at: datetime
    lifted_at: datetime | None = None
    lifted_by: str | None = None
    lifted_why: str | None = None


class Suppressions:
    """Reads and writes suppressions; times are UTC and come from the caller."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def put(
        self,
        address_hash: str,
        channel: Channel,
        reason: SuppressionReason,
        *,
        source_notice: str,
        observed_at: datetime,
    ) -> bool:
        """Suppress an address for a reason; False where that holds already."""
        async with writing(self._engine) as connection:
            return await suppress(
                connection,
                address_hash,
                channel,
                reason,
                source_notice=source_notice,
                observed_at=observed_at,
            )

    async def put_all(self, given: Sequence[Suppression]) -> int:
        """Suppress all or, where anything goes wrong, none; return how many did not hold already."""
        new = 0
        async with writing(self._engine) as connection:
            for some in _batches(given):
                new += await _suppress_all(connection, some)
        return new

    async def active(self, address_hash: str, channel: Channel) -> frozenset[SuppressionReason]:
        """Return every reason for which an address is not written to on a channel now."""
        table = tables.suppressions
        statement = select(table.c.reason).where(
            table.c.address_hash == address_hash,
            table.c.channel == channel,
            table.c.lifted_at.is_(None),
        )
        async with reading(self._engine) as connection:
            found = (await connection.execute(statement)).scalars()
            return frozenset(SuppressionReason(each) for each in found)

    async def of(self, address_hash: str, channel: Channel) -> tuple[Suppression, ...]:
        """Return all that was ever on record of an address on a channel, oldest first."""
        table = tables.suppressions
        where = (table.c.address_hash == address_hash) & (table.c.channel == channel)
        statement = select(*_KEPT).where(where).order_by(table.c.observed_at, table.c.id)
        async with reading(self._engine) as connection:
            found = await connection.execute(statement)
            return tuple(Suppression.model_validate(dict(row)) for row in found.mappings())

    async def every(self) -> AsyncIterator[Suppression]:
        """Yield every suppression that holds, in the order in which they were written."""
        table, last = tables.suppressions, 0
        statement = select(table.c.id, *_KEPT).where(table.c.lifted_at.is_(None)).order_by(table.c.id)
        async with reading(self._engine) as connection:
            while True:
                found = await connection.execute(statement.where(table.c.id > last).limit(AT_ONCE))
                batch = found.mappings().all()
                for row in batch:
                    yield Suppression.model_validate(dict(row))
                if len(batch) < AT_ONCE:
                    return
                last = batch[-1]["id"]

    async def lift(
        self,
        address_hash: str,
        channel: Channel,
        reason: SuppressionReason,
        *,
        by: str,
        at: datetime,
        why: str | None = None,
    ) -> bool:
        """End a suppression, on a person's word; False where there is none."""
        ended = {"lifted_at": at, "lifted_by": by, "lifted_why": why}
        async with writing(self._engine) as connection:
            return await _lift(connection, _Held(address_hash, channel, reason), ended)

    async def lift_all(self, given: Sequence[Suppression], *, by: str, at: datetime, why: str) -> int:
        """End all or, where anything goes wrong, none; return how many there were to end."""
        ended = {"lifted_at": at, "lifted_by": by, "lifted_why": why}
        async with writing(self._engine) as connection:
            return sum([await _lift(connection, _named(each), ended) for each in given])


async def suppress(
    connection: AsyncConnection,
    address_hash: str,
    channel: Channel,
    reason: SuppressionReason,
    *,
    source_notice: str,
    observed_at: datetime,
) -> bool:
    """Suppress an address within a transaction; False where that holds already.

    A report that is no newer than the last lifting changes nothing: a person knew better since.
    """
    given = Suppression(
        address_hash=address_hash,
        channel=channel,
        reason=reason,
        source_notice=source_notice,
        observed_at=observed_at,
    )
    return await _suppress_all(connection, (given,)) > 0


class _Held(NamedTuple):
    """What a suppression is identified by."""

    address_hash: str
    channel: str
    reason: str


async def _suppress_all(connection: AsyncConnection, given: Sequence[Suppression]) -> int:
    lifted = await _lifted(connection, {each.address_hash for each in given})
    newer = {
        _named(each): each
        for each in given
        if (since := lifted.get(_named(each))) is None or each.observed_at > since
    }
    if not newer:
        return 0
    values = [each.model_dump(include=_GIVEN) for each in newer.values()]
    return await rows.insert_new(connection, tables.suppressions, values)


async def _lift(connection: AsyncConnection, held: _Held, ended: Mapping[str, object]) -> bool:
    table = tables.suppressions
    by_name = (table.c[name] == value for name, value in held._asdict().items())
    statement = update(table).where(*by_name, table.c.lifted_at.is_(None)).values(ended)
    return (await connection.execute(statement)).rowcount > 0


async def _lifted(connection: AsyncConnection, hashes: Collection[str]) -> dict[_Held, datetime]:
    """Return when each suppression of these addresses was lifted last."""
    table = tables.suppressions
    by = (table.c.address_hash, table.c.channel, table.c.reason)
    statement = (
        select(*by, func.max(table.c.lifted_at, type_=table.c.lifted_at.type))
        .where(table.c.address_hash.in_(hashes), table.c.lifted_at.is_not(None))
        .group_by(*by)
    )
    found = (await connection.execute(statement)).all()
    return {_Held(address_hash, channel, reason): at for address_hash, channel, reason, at in found}


def _named(each: Suppression) -> _Held:
    return _Held(each.address_hash, each.channel, each.reason)


def _batches(given: Sequence[Suppression]) -> Iterator[Sequence[Suppression]]:
    return (given[start : start + AT_ONCE] for start in range(0, len(given), AT_ONCE))


_GIVEN: Final = {"address_hash", "channel", "reason", "source_notice", "observed_at"}
_KEPT: Final[tuple[ColumnElement[object], ...]] = tuple(
    tables.suppressions.c[name] for name in Suppression.model_fields
)
