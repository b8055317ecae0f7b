"""The evidence: each report is kept for ever, and moves its attempt in the same transaction.

A report may come before the receipt of its own send, even before the claim: the attempt's row is written
then, and the claim finds it settled. A refused report and one after the close are kept as well.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from activities.store import rows, tables
from activities.store.database import reading, writing
from activities.store.filings import Filing, Kept
from activities.store.records import AttemptRow, NoticeRow
from activities.store.strays import adopt
from activities.store.suppressions import suppress
from workflows.policy import hygiene, state
from workflows.policy.keys import attempted
from workflows.policy.models import Observation
from workflows.policy.state import Transition
from workflows.policy.words import AttemptState, Phase, Source, SuppressionReason, Verdict


class Evidence:
    """Keeps observations; times are UTC and come from the caller."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def known(self, attempt_key: str, event_id: str) -> bool:
        """Whether a report is on record already."""
        async with reading(self._engine) as connection:
            return await _is_known(connection, attempt_key, event_id)

    async def observe(self, seen: Observation, *, at: datetime, next_at: datetime | None = None) -> Kept:
        """Keep a report, apply it, and return what it did; the same one again writes nothing.

        Where it brings the provider's id, what came under that id before is filed with it, and the state that
        is returned is the one after all of that. `next_at` is when something is due next; a callback leaves
        that as it is. Raises Missing.
        """
        async with writing(self._engine) as connection:
            before = await _held(connection, seen.attempt_key)
            did, filing = await _file(connection, before, seen, at=at, next_at=next_at)
            filings: tuple[Filing, ...] = () if filing is None else (filing,)
            if _may_name(before.row, seen):
                filings += await _adopt(connection, before.row, seen, at=at)
        state = filings[-1].did.state if filings else did.state
        return Kept(state, did.verdict, did.reason, filings)


@dataclass(frozen=True, slots=True)
class _Held:
    """An attempt and its notice, which nobody else writes now."""

    notice: NoticeRow
    row: AttemptRow


async def _held(connection: AsyncConnection, key: str) -> _Held:
    notice = await rows.hold(connection, attempted(key).notice_key)
    return _Held(notice, await rows.find(connection, key) or await rows.plan(connection, key))


async def _file(
    connection: AsyncConnection,
    of: _Held,
    seen: Observation,
    *,
    at: datetime,
    next_at: datetime | None = None,
) -> tuple[Transition, Filing | None]:
    """Keep one report and apply it, with all that follows from it; nothing is filed twice."""
    notice, row = of.notice, of.row
    if await _is_known(connection, seen.attempt_key, seen.event_id):
        return Transition(row.state, Verdict.REPEATED, "it is on record already"), None
    did = _judge(notice, row, seen)
    changes = _moved(row, seen, did.state, at) if did.verdict is Verdict.APPLIED else _named(row, seen)
    if changes:
        await rows.change(connection, tables.attempts, row, **changes)
    await _append(connection, seen, did)
    suppressed = await _clean(connection, row, seen)
    news = _news(notice, row, seen, at) if notice.outcome is None else {}
    if news:
        due = {} if seen.source is Source.CALLBACK else {"next_at": next_at}
        await rows.change(connection, tables.notices, notice, **news, **due)
    since = notice.model_copy(update=news)
    status = row.model_copy(update=changes).status
    return did, Filing(seen, did, notice, row, since.phase, status, since.reads, suppressed)


async def _adopt(
    connection: AsyncConnection, row: AttemptRow, seen: Observation, *, at: datetime
) -> tuple[Filing, ...]:
    """File what came under the provider's id before anybody knew whose it was."""
    strays = await adopt(connection, row.key, row.provider or "", seen.provider_id or "")
    filed = [await _file(connection, await _held(connection, row.key), each, at=at) for each in strays]
    return tuple(filing for _, filing in filed if filing is not None)


def _may_name(row: AttemptRow, seen: Observation) -> bool:
    """Whether a report may be the first to say under which id its provider knows the attempt."""
    is_news = seen.source is Source.SEND or seen.provider_id != row.provider_id
    return row.provider is not None and seen.provider_id is not None and is_news


async def _is_known(connection: AsyncConnection, attempt_key: str, event_id: str) -> bool:
    table = tables.observations
    same = (table.c.attempt_key == attempt_key) & (table.c.event_id == event_id)
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


def _named(row: AttemptRow, seen: Observation) -> dict[str, object]:
    """Return the id that a report of our own asking brings too late: a bounce may still come under it."""
    is_first = row.provider_id is None and seen.provider_id is not None
    return {"provider_id": seen.provider_id} if is_first and seen.source is not Source.CALLBACK else {}


def _news(notice: NoticeRow, row: AttemptRow, seen: Observation, at: datetime) -> dict[str, object]:
    """Return what a report changes about its notice: word of a channel that was left moves nothing."""
    news: dict[str, object] = {
        "last_evidence_at": at,
        "reads": notice.reads + (seen.source is Source.POLL),
    }
    if notice.channel in {None, row.channel} or row.state is AttemptState.PLANNED:
        news |= {"phase": Phase.AWAITING, "channel": row.channel}
    return news


async def _clean(connection: AsyncConnection, row: AttemptRow, seen: Observation) -> SuppressionReason | None:
    """Suppress with the evidence, and return why, if that is new.

    A worker that dies next takes nobody's choice with it.
    """
    reason = hygiene.suppression(seen, row.channel)
    if reason is None or row.address_hash is None:
        return None
    is_new = await suppress(
        connection,
        row.address_hash,
        row.channel,
        reason,
        source_notice=row.notice_key,
        observed_at=seen.at,
    )
    return reason if is_new else None


async def _append(connection: AsyncConnection, seen: Observation, did: Transition) -> None:
    values = seen.model_dump() | {"verdict": did.verdict, "reason": did.reason}
    await connection.execute(tables.observations.insert().values(values))
