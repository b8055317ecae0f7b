"""The obligation: admitted once for ever, closed once for ever."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store import rows, tables
from activities.store.database import reading, writing
from activities.store.filings import Ending, Lapsed
from activities.store.records import AttemptRow, NoticeRow
from workflows.policy import state
from workflows.policy.keys import parts
from workflows.policy.models import NoticeRequest, Result
from workflows.policy.progress import Attempt
from workflows.policy.terms import Policy
from workflows.policy.words import AttemptState, Phase


class Admitted(StrEnum):
    """What asking for a notice met."""

    FRESH = "fresh"
    SAME = "same"
    """This very workflow has admitted it before: a retried activity, or an operator's reset."""
    DUPLICATE = "duplicate"
    """Another workflow owns it, perhaps one that the engine has forgotten."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a notice was admitted under; the first admission holds, whatever the files say since."""

    policy: Policy
    digest: str
    expires_at: datetime
    chain: str
    """The first run of the workflow that owns the notice: a reset keeps it, a new start does not."""


class Notices:
    """Reads and writes notices; times are UTC and come from the caller."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def admit(self, request: NoticeRequest, terms: Terms, *, at: datetime) -> Admitted:
        """Put a notice on record; exactly one of many that race gets FRESH."""
        row = _begun(request, terms, at)
        async with writing(self._engine) as connection:
            written = {"digest": terms.digest, "terms": terms.policy.model_dump(mode="json")}
            await rows.insert_once(connection, tables.policies, written)
            if await rows.insert_once(connection, tables.notices, row.model_dump()):
                return Admitted.FRESH
            standing = await rows.hold(connection, row.key)
        return Admitted.SAME if standing.chain == terms.chain else Admitted.DUPLICATE

    async def terms(self, key: str) -> Terms | None:
        """Return what a notice was admitted under; None for one that is not on record."""
        notices, policies = tables.notices, tables.policies
        statement = (
            select(policies.c.terms, policies.c.digest, notices.c.expires_at, notices.c.chain)
            .join(notices, notices.c.policy_digest == policies.c.digest)
            .where(notices.c.key == key)
        )
        async with reading(self._engine) as connection:
            found = (await connection.execute(statement)).one_or_none()
        if found is None:
            return None
        return Terms(Policy.model_validate(found.terms), found.digest, found.expires_at, found.chain)

    async def is_closed(self, key: str) -> bool:
        """Whether a notice is on record with its outcome."""
        table = tables.notices
        statement = select(table.c.key).where(table.c.key == key, table.c.outcome.is_not(None))
        async with reading(self._engine) as connection:
            return (await connection.execute(statement)).first() is not None

    async def set_next(self, key: str, next_at: datetime | None) -> None:
        """Note when something is due next; a closed notice has nothing due. Raises Missing."""
        async with writing(self._engine) as connection:
            notice = await rows.hold(connection, key)
            if notice.outcome is None:
                await rows.change(connection, tables.notices, notice, next_at=next_at)

    async def close(self, result: Result, attempts: tuple[Attempt, ...], *, at: datetime) -> Ending:
        """Write the outcome and the last state of each attempt, and return the outcome that stands.

        The first outcome stays, whoever comes later; raises Missing.
        """
        async with writing(self._engine) as connection:
            notice = await rows.hold(connection, result.key)
            if notice.outcome is not None:
                return Ending(notice.outcome)
            await rows.change(connection, tables.notices, notice, **_closing(result))
            told = {each.key: each.state for each in attempts}
            lapsed = []
            for row in await rows.find_all(connection, notice.key):
                last = _last(row, told.get(row.key, row.state), settled=row.channel is result.channel)
                if last is not row.state:
                    await rows.change(connection, tables.attempts, row, state=last, settled_at=at)
                    lapsed.append(Lapsed(row, last))
        return Ending(result.outcome, notice, tuple(lapsed))


def _begun(request: NoticeRequest, terms: Terms, at: datetime) -> NoticeRow:
    # As the key has them: PostgreSQL cannot store every character that an id may have.
    kind, event_id, recipient_id = parts(request.key)
    return NoticeRow(
        key=request.key,
        kind=kind,
        event_id=event_id,
        recipient_id=recipient_id,
        chain=terms.chain,
        occurred_at=request.occurred_at,
        policy_digest=terms.digest,
        route=terms.policy.route,
        phase=Phase.QUEUED,
        expires_at=terms.expires_at,
        fallback_at=request.fallback_at,
        next_at=at,
        created_at=at,
    )


def _closing(result: Result) -> dict[str, object]:
    return {
        "phase": Phase.CLOSED,
        "channel": result.channel,
        "outcome": result.outcome,
        "rule": result.rule,
        "reason": result.reason,
        "closed_at": result.closed_at,
        "next_at": None,
    }


def _last(row: AttemptRow, told: AttemptState, *, settled: bool) -> AttemptState:
    """Return an attempt's last state: what the ledger knows, then the workflow's word, then what lapses."""
    if row.state in state.TERMINAL:
        return row.state
    if row.state is AttemptState.PLANNED:
        # Given back each time: it is proven that nothing was accepted, whatever the workflow had to assume.
        return AttemptState.FAILED if row.dispatches else row.state
    return state.lapse(row.state if told is AttemptState.PLANNED else told, settled=settled)
