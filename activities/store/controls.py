"""An operator's controls: data, read at the moment of each effect; each setting is kept with who and why."""

from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store import rows, tables
from activities.store.database import reading, writing
from activities.store.records import ControlChange
from workflows.policy.controls import Control, Controls, Switch


class ControlBoard:
    """Reads and sets controls; times are UTC and come from the caller."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def read(self) -> Controls:
        """Return how every control is set now; nothing is remembered between effects."""
        table = tables.controls
        async with reading(self._engine) as connection:
            found = (await connection.execute(select(table.c.name, table.c.is_on, table.c.percent))).all()
        return Controls(**{row.name: Control(on=row.is_on, percent=row.percent) for row in found})

    async def put(self, switch: Switch, control: Control, *, by: str, why: str, at: datetime) -> None:
        """Set a control, and keep who did it and why, beside every setting before it."""
        table = tables.controls
        values = {
            "is_on": control.on,
            "percent": control.percent,
            "changed_at": at,
            "changed_by": by,
            "why": why,
        }
        async with writing(self._engine) as connection:
            if not await rows.insert_once(connection, table, {"name": switch, **values}):
                await connection.execute(update(table).where(table.c.name == switch).values(values))
            await connection.execute(tables.control_changes.insert().values(name=switch, **values))

    async def board(self) -> dict[Switch, ControlChange]:
        """Return the last setting of each control that was ever set."""
        table = tables.controls
        columns = [table.c[name] for name in ControlChange.model_fields]
        async with reading(self._engine) as connection:
            found = await connection.execute(select(*columns))
            changes = [ControlChange.model_validate(dict(row)) for row in found.mappings()]
        return {each.name: each for each in changes}

    async def changes(self, limit: int | None = None) -> tuple[ControlChange, ...]:
        """Return the latest settings of any control, newest first; without a limit all of them."""
        table = tables.control_changes
        columns = [table.c[name] for name in ControlChange.model_fields]
        statement = select(*columns).order_by(table.c.id.desc()).limit(limit)
        async with reading(self._engine) as connection:
            found = await connection.execute(statement)
            return tuple(ControlChange.model_validate(dict(row)) for row in found.mappings())
