"""The claim: what makes sure that an attempt goes to the wire once.

It is committed before the wire, on a row that is written as `ambiguous`: a process that dies has filed its
own case correctly. No connection is held while the provider is asked.
"""

from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from activities.store import rows, tables
from activities.store.carrying import Bar, Bearer, bar
from activities.store.database import reading, writing
from activities.store.errors import Missing
from activities.store.records import AttemptRow, NoticeRow
from workflows.policy.keys import attempted, parts
from workflows.policy.words import AttemptState, Outcome, Phase

__all__ = ["AttemptRow", "Attempts", "Barred", "Claim", "Closed", "Fresh", "Settled", "Standing"]


@dataclass(frozen=True, slots=True)
class Fresh:
    """The wire is yours, once."""

    dispatch: int
    """Counts the dispatches of the attempt: with it the claim can be given back."""
    was: Phase = field(default=Phase.QUEUED, compare=False)
    """Where the notice was before."""


@dataclass(frozen=True, slots=True)
class Standing:
    """It was claimed earlier and has no outcome: it may have left, or may be leaving now."""

    provider: str | None
    first_dispatched_at: datetime
    """A provider that honours the key counts its window from here."""
    last_dispatched_at: datetime


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of it is known."""

    row: AttemptRow


@dataclass(frozen=True, slots=True)
class Closed:
    """The notice has closed: nothing may be sent for it any more."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Barred:
    """It would carry a challenge, and may not."""

    bar: Bar


Claim = Fresh | Standing | Settled | Closed | Barred


class Attempts:
    """Reads and writes attempts; times are UTC and come from the caller."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def find(self, key: str) -> AttemptRow | None:
        """Return what is on record of an attempt."""
        async with reading(self._engine) as connection:
            return await rows.find(connection, key)

    async def of_notice(self, notice_key: str) -> tuple[AttemptRow, ...]:
        """Return what is on record of a notice's attempts, in the order of their first dispatch."""
        async with reading(self._engine) as connection:
            return await rows.find_all(connection, notice_key)

    async def whose(self, *providers: str, digest: str | None, provider_id: str | None) -> str | None:
        """Return the key of the attempt that a callback means, by the digest of its key, else by its id.

        Only those count that one of the providers took.
        """
        table = tables.attempts
        names = ((table.c.digest, digest), (table.c.provider_id, provider_id))
        async with reading(self._engine) as connection:
            for column, name in names:
                if not name:
                    continue
                statement = (
                    select(table.c.key).where(column == name, table.c.provider.in_(providers)).limit(2)
                )
                found = (await connection.execute(statement)).scalars().all()
                # An id that two attempts share names neither.
                if len(found) == 1:
                    return str(found[0])
        return None

    async def claim(
        self, key: str, *, provider: str, address_hash: str, at: datetime, carries: bool = False
    ) -> Claim:
        """Ask for the right to dispatch; exactly one of many that race gets Fresh. Raises Missing.

        What carries a challenge is claimed with the challenge held: whoever asks for another message
        meanwhile sees this claim, or this one sees that message.
        """
        async with writing(self._engine) as connection:
            notice = await rows.hold(connection, attempted(key).notice_key)
            row = await rows.find(connection, key)
            match row:
                case AttemptRow(state=AttemptState.AMBIGUOUS):
                    return Standing(row.provider, row.first_dispatched_at or at, row.last_dispatched_at or at)
                case AttemptRow(state=state) if state is not AttemptState.PLANNED:
                    return Settled(row)
            if notice.outcome is not None:
                return Closed(notice.outcome)
            barred = await bar(connection, _bearer(key, address_hash), at) if carries else None
            if barred is not None:
                return Barred(barred)
            row = row or await rows.plan(connection, key)
            await rows.change(connection, tables.notices, notice, phase=Phase.CLAIMED, channel=row.channel)
            await rows.change(
                connection,
                tables.attempts,
                row,
                state=AttemptState.AMBIGUOUS,
                provider=provider,
                address_hash=address_hash,
                **_dispatched(row, at),
            )
        return Fresh(row.dispatches + 1, notice.phase)

    async def repeat(self, key: str, *, at: datetime) -> bool:
        """Count a further dispatch of a standing claim; False, and no right to send, where it stands no more.

        Only for a provider that honours the key. Raises Missing.
        """
        async with writing(self._engine) as connection:
            _, row = await _held(connection, key)
            if row.state is not AttemptState.AMBIGUOUS:
                return False
            await rows.change(connection, tables.attempts, row, **_dispatched(row, at))
        return True

    async def release(self, key: str, claim: Fresh, *, note: str) -> bool:
        """Give a claim back: only where it is proven that its own dispatch was not accepted.

        False, and nothing written, where it was repeated since or where a report says that something
        arrived. Raises Missing.
        """
        async with writing(self._engine) as connection:
            _, row = await _held(connection, key)
            stands = row.state is AttemptState.AMBIGUOUS and row.dispatches == claim.dispatch
            if not stands or await _reported(connection, key):
                return False
            await rows.change(connection, tables.attempts, row, state=AttemptState.PLANNED, note=note)
        return True

    async def doubt(self, key: str, *, note: str | None = None) -> Phase | None:
        """Say why a dispatch ended without a result: its evidence is awaited from now on. Raises Missing.

        Returns where the notice was; None where it stays there. Without a note, the one on record stands.
        """
        async with writing(self._engine) as connection:
            notice, row = await _held(connection, key)
            if row.state is not AttemptState.AMBIGUOUS:
                return None
            moves = notice.channel is row.channel and notice.phase is Phase.CLAIMED
            if moves:
                await rows.change(connection, tables.notices, notice, phase=Phase.AWAITING)
            if note is not None:
                await rows.change(connection, tables.attempts, row, note=note)
        return notice.phase if moves else None


async def _held(connection: AsyncConnection, key: str) -> tuple[NoticeRow, AttemptRow]:
    notice = await rows.hold(connection, attempted(key).notice_key)
    row = await rows.find(connection, key)
    if row is None:
        raise Missing(f"ledger: there is no attempt {key}")
    return notice, row


def _bearer(key: str, address_hash: str) -> Bearer:
    of = attempted(key)
    return Bearer(of.notice_key, parts(of.notice_key).event_id, {of.channel: address_hash})


def _dispatched(row: AttemptRow, at: datetime) -> dict[str, object]:
    return {
        "dispatches": row.dispatches + 1,
        "first_dispatched_at": row.first_dispatched_at or at,
        "last_dispatched_at": at,
    }


async def _reported(connection: AsyncConnection, key: str) -> bool:
    table = tables.observations
    found = await connection.execute(select(table.c.id).where(table.c.attempt_key == key).limit(1))
    return found.first() is not None
