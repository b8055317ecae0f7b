"""Reports of nobody, or of nobody yet: kept aside and counted, until a receipt brings the id that they name.

A receipt looks for strays and a stray for its receipt, each in its own transaction. They take turns by the
provider's id, or each could look before the other is there.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, Protocol

from sqlalchemy import delete, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from activities.store import tables
from activities.store.database import reading, writing
from activities.store.pruning import prune
from activities.store.turns import take_turns
from workflows.policy.models import Instant, Observation, Payload
from workflows.policy.words import Source, Status, SuppressionReason

KEPT: Final = timedelta(days=7)
"""From the last time that it came: longer than any provider repeats itself."""


class Told(Protocol):
    """What a report says, whoever's it is: an adapter's word, or an observation."""

    @property
    def status(self) -> Status:
        """The provider's word, normalised."""

    @property
    def is_final(self) -> bool:
        """Whether the provider has stopped trying."""

    @property
    def raw(self) -> str:
        """The provider's own word, cleaned."""

    @property
    def code(self) -> str | None:
        """Its code, cleaned."""

    @property
    def provider_at(self) -> datetime | None:
        """When it happened, by the provider's clock (UTC)."""

    @property
    def opt_out(self) -> SuppressionReason | None:
        """The person's own choice, if it was one."""


class _Kept(Payload):
    """A report as its row has it."""

    status: Status
    is_final: bool
    raw: str
    code: str | None = None
    provider_at: Instant | None = None
    opt_out: SuppressionReason | None = None
    at: Instant
    """When it came first."""


class Aside(Payload):
    """What is kept aside of one provider, and for how long it has been coming; nothing of any report."""

    provider: str
    reports: int
    """Different ones."""
    times: int
    """How often one of them came: a provider that repeats them all the time calls the wrong deployment."""
    first_at: Instant
    """When the oldest of them came first, to the second (UTC)."""
    last_at: Instant


class Strays:
    """Keeps strays; times are UTC and come from the caller."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def put(
        self, provider: str, told: Told, *, provider_id: str | None, event_id: str, at: datetime
    ) -> bool:
        """Keep a report aside, or count one more of the same; whether it is new.

        Nothing is kept, nor is it new, where an attempt has that id by now: ask whose it is again afterwards.
        """
        kept = _Kept.model_validate({**{name: getattr(told, name) for name in _SAID}, "at": at})
        values = {
            "provider": provider,
            "event_id": event_id,
            "provider_id": provider_id,
            "report": kept.model_dump(mode="json"),
            "received_at": at,
            "seen": 1,
        }
        async with writing(self._engine) as connection:
            if provider_id is not None:
                await take_turns(connection, _turn(provider, provider_id))
                if await _owner(connection, provider, provider_id) is not None:
                    return False
            seen = await _count(connection, values)
            await prune(connection, tables.strays, tables.strays.c.received_at, at - KEPT)
        return seen == 1

    async def count(self, since: datetime | None = None) -> dict[str, int]:
        """Return how many different reports are kept aside, by provider; those that came since, if asked."""
        table = tables.strays
        statement = select(table.c.provider, func.count()).group_by(table.c.provider)
        if since is not None:
            statement = statement.where(table.c.received_at >= since)
        async with reading(self._engine) as connection:
            return {row[0]: row[1] for row in await connection.execute(statement)}

    async def counted(self) -> tuple[Aside, ...]:
        """Return a line for each provider of which something is kept aside, by name; it changes nothing."""
        table = tables.strays
        statement = select(
            table.c.provider,
            func.count(),
            func.sum(table.c.seen),
            # Written in UTC, and as long as each other but for what is less than a second.
            func.min(func.substr(table.c.report["at"].as_string(), 1, _SECOND)),
            func.max(table.c.received_at),
        ).group_by(table.c.provider)
        async with reading(self._engine) as connection:
            rows = (await connection.execute(statement)).all()
        return tuple(
            Aside(
                provider=provider,
                reports=reports,
                times=times,
                first_at=datetime.fromisoformat(f"{first_at}Z"),
                last_at=last_at,
            )
            for provider, reports, times, first_at, last_at in sorted(rows)
        )


async def adopt(
    connection: AsyncConnection, attempt_key: str, provider: str, provider_id: str
) -> tuple[Observation, ...]:
    """Take the strays that name an attempt off the table, as observations of it, in the order they came.

    Its notice must be held, and its row must have the id by now; an id that two attempts share names neither.
    """
    await take_turns(connection, _turn(provider, provider_id))
    if await _owner(connection, provider, provider_id) != attempt_key:
        return ()
    table = tables.strays
    same = (table.c.provider == provider) & (table.c.provider_id == provider_id)
    found = await connection.execute(delete(table).where(same).returning(table.c.event_id, table.c.report))
    told = [
        Observation(
            attempt_key=attempt_key,
            event_id=row.event_id,
            source=Source.CALLBACK,
            provider_id=provider_id,
            **_Kept.model_validate(row.report).model_dump(),
        )
        for row in found
    ]
    return tuple(sorted(told, key=lambda each: (each.at, each.event_id)))


_SECOND = len("2026-03-01T12:00:00")
_SAID = tuple(name for name in _Kept.model_fields if name != "at")


def _turn(provider: str, provider_id: str) -> str:
    return f"stray:{provider}:{provider_id}"


async def _owner(connection: AsyncConnection, provider: str, provider_id: str) -> str | None:
    """Return the one attempt that has an id of a provider."""
    table = tables.attempts
    same = (table.c.provider_id == provider_id) & (table.c.provider == provider)
    found = (await connection.execute(select(table.c.key).where(same).limit(2))).scalars().all()
    return str(found[0]) if len(found) == 1 else None


async def _count(connection: AsyncConnection, values: Mapping[str, object]) -> int:
    """Insert a row or count it once more, in one statement: it may be deleted between two."""
    table = tables.strays
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = insert(table).values(values)
    again = {"seen": table.c.seen + 1, "received_at": values["received_at"]}
    counted = statement.on_conflict_do_update(index_elements=table.primary_key.columns, set_=again)
    seen: int = (await connection.execute(counted.returning(table.c.seen))).scalar_one()
    return seen
