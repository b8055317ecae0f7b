"""The decisions: each with all that it was made from, so that it can be computed again."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from activities.store import rows, tables
from activities.store.database import writing
from workflows.calls import Decision


class Answered(NamedTuple):
    """What a check answered, and when."""

    answer: str | None
    reason: str | None
    at: datetime
    is_new: bool = False
    """Whether this call has put it on record."""


class Decisions:
    """Keeps decisions; times are UTC and come from the caller."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def put(
        self, run: str, decision: Decision, *, answer: str | None, reason: str | None, at: datetime
    ) -> Answered:
        """Keep a decision and what the check answered to it at `at`; return the answer that stands.

        The first one stays. A number counts within one run of the workflow: a reset begins anew.
        """
        values = {
            "notice_key": decision.progress.key,
            "run": run,
            "number": decision.number,
            "rule": decision.rule,
            "action": decision.action,
            "channel": decision.channel,
            "at": decision.at,
            "inputs": decision.progress.model_dump(mode="json"),
            "answer": answer,
            "reason": reason,
            "answered_at": at,
            "policy_digest": decision.policy_digest,
        }
        async with writing(self._engine) as connection:
            if await rows.insert_once(connection, tables.decisions, values):
                return Answered(answer, reason, at, is_new=True)
            return await _standing(connection, decision, run)


async def _standing(connection: AsyncConnection, decision: Decision, run: str) -> Answered:
    table = tables.decisions
    same = (
        (table.c.notice_key == decision.progress.key)
        & (table.c.run == run)
        & (table.c.number == decision.number)
    )
    columns = select(table.c.answer, table.c.reason, table.c.answered_at)
    found = (await connection.execute(columns.where(same))).one()
    return Answered(found.answer, found.reason, found.answered_at)
