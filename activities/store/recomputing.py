"""One notice as its rows have it, for computing its decisions again: no word of theirs is checked here."""

from collections.abc import Sequence

from alembic.migration import MigrationContext
from sqlalchemy import Connection, RowMapping, Select, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from activities.store import tables
from activities.store.database import reading
from workflows.policy.controls import Switch
from workflows.policy.recorded import (
    Record,
    RecordedAttempt,
    RecordedControl,
    RecordedDecision,
    RecordedNotice,
    RecordedReport,
    RecordedSuppression,
    Terms,
)

CHECKED = (Switch.DISPATCH, Switch.FALLBACK)
"""The controls that a check asks."""


class Records:
    """Reads whole notices; each is one transaction. Raises StoreError."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def of(self, key: str) -> Record | None:
        """Return everything on record about a notice; None where there is nothing."""
        async with reading(self._engine) as connection:
            table = tables.notices
            found = (await _all(connection, select(table).where(table.c.key == key)))[:1]
            if not found:
                return None
            (notice,) = (RecordedNotice.model_validate(dict(each)) for each in found)
            return await _filled(connection, notice)

    async def schema(self) -> str:
        """Return the revision of the ledger's tables."""
        async with reading(self._engine) as connection:
            return await connection.run_sync(_revision)


def _revision(connection: Connection) -> str:
    return MigrationContext.configure(connection).get_current_revision() or ""


async def _filled(connection: AsyncConnection, notice: RecordedNotice) -> Record:
    """Gather what belongs to a notice."""
    attempts = await _attempts(connection, notice.key)
    decisions = await _decisions(connection, notice.key)
    digests = {notice.policy_digest, *(each.policy_digest for each in decisions)}
    return Record(
        notice=notice,
        policies=await _policies(connection, digests),
        attempts=tuple(_attempt(each) for each in attempts),
        observations=await _observations(connection, [each["key"] for each in attempts]),
        decisions=decisions,
        suppressions=await _suppressions(connection, notice.key, attempts),
        controls=await _controls(connection, notice),
    )


async def _all(connection: AsyncConnection, statement: Select[tuple[object, ...]]) -> Sequence[RowMapping]:
    return (await connection.execute(statement)).mappings().all()


async def _attempts(connection: AsyncConnection, key: str) -> Sequence[RowMapping]:
    table = tables.attempts
    order = (table.c.first_dispatched_at.is_(None), table.c.first_dispatched_at, table.c.key)
    return await _all(connection, select(table).where(table.c.notice_key == key).order_by(*order))


def _attempt(row: RowMapping) -> RecordedAttempt:
    return RecordedAttempt.model_validate({**row, "has_address": row["address_hash"] is not None})


async def _observations(connection: AsyncConnection, keys: Sequence[str]) -> tuple[RecordedReport, ...]:
    table = tables.observations
    statement = select(table).where(table.c.attempt_key.in_(keys)).order_by(table.c.id)
    return tuple(RecordedReport.model_validate(dict(each)) for each in await _all(connection, statement))


async def _decisions(connection: AsyncConnection, key: str) -> tuple[RecordedDecision, ...]:
    table = tables.decisions
    statement = select(table).where(table.c.notice_key == key)
    ordered = statement.order_by(table.c.answered_at, table.c.run, table.c.number)
    return tuple(RecordedDecision.model_validate(dict(each)) for each in await _all(connection, ordered))


async def _policies(connection: AsyncConnection, digests: set[str]) -> dict[str, Terms]:
    table = tables.policies
    found = await _all(connection, select(table).where(table.c.digest.in_(digests)).order_by(table.c.digest))
    return {each["digest"]: each["terms"] for each in found}


async def _suppressions(
    connection: AsyncConnection, key: str, attempts: Sequence[RowMapping]
) -> tuple[RecordedSuppression, ...]:
    """Return what was ever on record of the addresses of the attempts, or came of this notice."""
    table = tables.suppressions
    hashes = [each["address_hash"] for each in attempts if each["address_hash"] is not None]
    statement = select(table).where(or_(table.c.address_hash.in_(hashes), table.c.source_notice == key))
    found = await _all(connection, statement.order_by(table.c.observed_at, table.c.id))
    return tuple(RecordedSuppression.model_validate(dict(each)) for each in found)


async def _controls(connection: AsyncConnection, notice: RecordedNotice) -> tuple[RecordedControl, ...]:
    table = tables.control_changes
    statement = select(table).where(table.c.name.in_([each.value for each in CHECKED])).order_by(table.c.id)
    if notice.closed_at is not None:
        statement = statement.where(table.c.changed_at <= notice.closed_at)
    return tuple(RecordedControl.model_validate(dict(each)) for each in await _all(connection, statement))
