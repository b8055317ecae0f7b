"""Moments of the ledger: always UTC, whatever the database makes of time zones."""

from datetime import UTC, datetime

from sqlalchemy import DateTime, Dialect, TypeDecorator
from typing_extensions import override


class Instant(TypeDecorator[datetime]):
    """A moment in UTC; SQLite forgets time zones, so they are put back here."""

    impl = DateTime(timezone=True)
    cache_ok = True

    @override
    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is not None and value.tzinfo is None:
            raise ValueError("an instant of the ledger must have a time zone")
        return value and value.astimezone(UTC)

    @override
    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
