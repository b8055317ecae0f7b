"""The decisions: each with all that it was made from, so that it can be computed again."""

from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store import rows, tables
from activities.store.database import writing
from workflows.calls import Decision


class Decisions:
    """Keeps decisions; times are UTC and come from the caller."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def put(
        self, run: str, decision: Decision, *, answer: str | None, reason: str | None, at: datetime
    ) -> bool:
        """Keep a decision and what the check answered to it at `at`; the first answer stays.

        False where it was on record. A number counts within one run of the workflow: a reset begins anew.
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
            return await rows.insert_once(connection, tables.decisions, values)
