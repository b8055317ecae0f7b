"""Who may not be written to, by the keyed hash of the address; lifted by a person, never forgotten."""

from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from activities.store import rows, tables
from activities.store.database import reading, writing
from workflows.policy.words import Channel, SuppressionReason


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

    async def lift(
        self, address_hash: str, channel: Channel, reason: SuppressionReason, *, by: str, at: datetime
    ) -> bool:
        """End a suppression, on a person's word; False where there is none."""
        table = tables.suppressions
        statement = (
            update(table)
            .where(
                table.c.address_hash == address_hash,
                table.c.channel == channel,
                table.c.reason == reason,
                table.c.lifted_at.is_(None),
            )
            .values(lifted_at=at, lifted_by=by)
        )
        async with writing(self._engine) as connection:
            return (await connection.execute(statement)).rowcount > 0


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
    table = tables.suppressions
    lifted_since = select(table.c.id).where(
        table.c.address_hash == address_hash,
        table.c.channel == channel,
        table.c.reason == reason,
        table.c.lifted_at >= observed_at,
    )
    if (await connection.execute(lifted_since.limit(1))).first() is not None:
        return False
    values = {
        "address_hash": address_hash,
        "channel": channel,
        "reason": reason,
        "source_notice": source_notice,
        "observed_at": observed_at,
    }
    return await rows.insert_once(connection, table, values)
