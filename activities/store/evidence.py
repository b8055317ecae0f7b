"""The evidence: each report is kept for ever, and moves its attempt in the same transaction.

A report may come before the receipt of its own send, even before the claim: the attempt's row is written
then, and the claim finds it settled. A refused report and one after the close are kept as well.
"""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from activities.store import rows, tables
from activities.store.database import writing
from activities.store.records import AttemptRow, NoticeRow
from activities.store.suppressions import suppress
from workflows.policy import hygiene, state
from workflows.policy.keys import attempted
from workflows.policy.models import Observation
from workflows.policy.state import Transition
from workflows.policy.words import AttemptState, Phase, Source, Verdict


class Evidence:
    """Keeps observations; times are UTC and come from the caller."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def observe(
        self, seen: Observation, *, at: datetime, next_at: datetime | None = None
    ) -> Transition:
        """Keep a report, apply it, and return what it did; the same one again writes nothing.

        `next_at` is when something is due next; a callback leaves that as it is. Raises Missing.
        """
        async with writing(self._engine) as connection:
            notice = await rows.hold(connection, attempted(seen.attempt_key).notice_key)
            row = await rows.find(connection, seen.attempt_key) or await rows.plan(
                connection, seen.attempt_key
            )
            if await _is_known(connection, seen):
                return Transition(row.state, Verdict.REPEATED, "it is on record already")
            did = _judge(notice, row, seen)
            if did.verdict is Verdict.APPLIED:
                await rows.change(connection, tables.attempts, row, **_moved(row, seen, did.state, at))
            await _append(connection, seen, did)
            await _clean(connection, row, seen)
            if notice.outcome is None:
                due = {} if seen.source is Source.CALLBACK else {"next_at": next_at}
                await rows.change(connection, tables.notices, notice, **_news(notice, row, seen, at), **due)
        return did


async def _is_known(connection: AsyncConnection, seen: Observation) -> bool:
    table = tables.observations
    same = (table.c.attempt_key == seen.attempt_key) & (table.c.event_id == seen.event_id)
    return (await connection.execute(select(table.c.id).where(same))).first() is not None


def _judge(notice: NoticeRow, row: AttemptRow, seen: Observation) -> Transition:
    if notice.outcome is not None:
        return Transition(row.state, Verdict.LATE, "the notice had closed")
    return state.transition(row.state, seen.status, is_final=seen.is_final)


def _moved(row: AttemptRow, seen: Observation, new: AttemptState, at: datetime) -> dict[str, object]:
    status, is_final = state.prevailing((row.status, row.is_final), (seen.status, seen.is_final), new)
    return {
        "state": new,
        "status": status,
        "is_final": is_final,
        "provider_id": seen.provider_id or row.provider_id,
        "settled_at": at if new in state.TERMINAL else None,
    }


def _news(notice: NoticeRow, row: AttemptRow, seen: Observation, at: datetime) -> dict[str, object]:
    """Return what a report changes about its notice: word of a channel that was left moves nothing."""
    news: dict[str, object] = {
        "last_evidence_at": at,
        "reads": notice.reads + (seen.source is Source.POLL),
    }
    if notice.channel in {None, row.channel} or row.state is AttemptState.PLANNED:
        news |= {"phase": Phase.AWAITING, "channel": row.channel}
    return news


async def _clean(connection: AsyncConnection, row: AttemptRow, seen: Observation) -> None:
    """Suppress with the evidence: a worker that dies next takes nobody's choice with it."""
    reason = hygiene.suppression(seen, row.channel)
    if reason is not None and row.address_hash is not None:
        await suppress(
            connection,
            row.address_hash,
            row.channel,
            reason,
            source_notice=row.notice_key,
            observed_at=seen.at,
        )


async def _append(connection: AsyncConnection, seen: Observation, did: Transition) -> None:
    values = seen.model_dump() | {"verdict": did.verdict, "reason": did.reason}
    await connection.execute(tables.observations.insert().values(values))
