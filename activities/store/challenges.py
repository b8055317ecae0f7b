"""The challenge: made once, consumed once, and every message for it counted.

All that decides is read and written in one transaction, with the challenge's row held: of many that present
a secret at once exactly one succeeds, whatever became of the workflows that asked.
"""

from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store import challenge_finding as finding
from activities.store import challenge_tables
from activities.store.carrying import Bearer, Carried, carried
from activities.store.challenge_rows import ChallengeRow, DeliveryRow
from activities.store.counting import gather
from activities.store.database import reading, writing
from activities.store.errors import Missing
from activities.store.turns import take_turns
from workflows.policy import resend
from workflows.policy.controls import Control
from workflows.policy.keys import delivery_event
from workflows.policy.resend import Denied
from workflows.policy.terms import ChallengeTerms
from workflows.policy.verification import Presented
from workflows.policy.words import ChallengeState

FIRST = ""
"""Who asked for the first message: the verification itself. Callers name their updates, and none is empty."""


@dataclass(frozen=True, slots=True)
class Destinations:
    """The keyed hashes of where a challenge goes."""

    email: str | None
    phone: str | None


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Another workflow has this challenge, perhaps one that the engine has forgotten."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of presenting a secret."""

    consumed: bool
    state: ChallengeState
    is_new: bool = field(default=False, compare=False)
    """Whether this very call has changed the challenge."""


class Challenges:
    """Reads and writes challenges; times are UTC and come from the caller."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def open(
        self, new: ChallengeRow, to: Destinations, terms: ChallengeTerms, *, at: datetime
    ) -> ChallengeRow | Denied | Duplicate:
        """Write a challenge and its first message, if the limits allow; the one on record stands."""
        async with writing(self._engine) as connection:
            await take_turns(connection, f"challenge:{new.id}", *_counted_by(new.account_id, to))
            standing = await finding.find(connection, new.id)
            if standing is not None:
                return standing if standing.chain == new.chain else Duplicate()
            first = _message(new, to, number=1, asked_id=FIRST, at=at)
            facts = await gather(connection, new, first, since=at - resend.reach(terms))
            denied = resend.judge(facts.asked(new, Control(), at), terms)
            if denied is not None:
                return denied
            await connection.execute(challenge_tables.challenges.insert().values(new.model_dump()))
            await connection.execute(challenge_tables.deliveries.insert().values(first.model_dump()))
        return new

    async def ask(
        self,
        challenge_id: str,
        asked_id: str,
        terms: ChallengeTerms,
        control: Control,
        *,
        is_automatic: bool,
        at: datetime,
    ) -> DeliveryRow | Denied:
        """Count another message, if the facts allow; the same `asked_id` gets the same. Raises Missing."""
        async with writing(self._engine) as connection:
            row = await finding.held(connection, challenge_id)
            first = await finding.delivery(connection, challenge_id, FIRST)
            if first is None:
                raise Missing(f"ledger: verification {challenge_id} has no first message")
            same = await finding.delivery(connection, challenge_id, asked_id)
            if same is not None:
                return same
            to = Destinations(first.email_hash, first.phone_hash)
            await take_turns(connection, *_counted_by(row.account_id, to))
            facts = await gather(connection, row, first, since=at - resend.reach(terms))
            denied = resend.judge(facts.asked(row, control, at), terms)
            if denied is not None:
                return denied
            next_one = _message(row, to, number=facts.sent + 1, asked_id=asked_id, at=at).model_copy(
                update={"is_automatic": is_automatic}
            )
            await connection.execute(challenge_tables.deliveries.insert().values(next_one.model_dump()))
        return next_one

    async def consume(
        self, challenge_id: str, presented: Presented, attempt_id: str, *, at: datetime
    ) -> Trial | None:
        """Try a secret, and consume in the same transaction; None where there is no such challenge.

        The same `attempt_id` gets the same answer, so that a retry neither counts twice nor fails after it
        succeeded.
        """
        async with writing(self._engine) as connection:
            row = await finding.find(connection, challenge_id, held=True)
            if row is None:
                return None
            earlier = await finding.tried(connection, challenge_id, attempt_id)
            if earlier is not None:
                return Trial(earlier, row.state)
            if row.state is not ChallengeState.ACTIVE or at >= row.expires_at:
                return Trial(consumed=False, state=row.state)
            consumed = row.matches(presented)
            if not consumed and not _is_guess(row, presented):
                return Trial(consumed=False, state=row.state)
            changes = _after(row, at, consumed=consumed)
            await finding.change(connection, row.id, changes)
            values = {"challenge_id": row.id, "attempt_id": attempt_id, "consumed": consumed, "at": at}
            await connection.execute(challenge_tables.tries.insert().values(values))
        return Trial(consumed, ChallengeState(str(changes.get("state", row.state))), is_new=True)

    async def end(self, challenge_id: str, state: ChallengeState, *, at: datetime) -> ChallengeRow | None:
        """Write that a challenge is over, and return it as it stands: the first terminal state stays."""
        async with writing(self._engine) as connection:
            row = await finding.find(connection, challenge_id, held=True)
            if row is None:
                return None
            if row.state is ChallengeState.ACTIVE:
                await finding.change(connection, row.id, {"state": state, "ended_at": at})
                return row.model_copy(update={"state": state, "ended_at": at})
        return row

    async def find(self, challenge_id: str) -> ChallengeRow | None:
        """Return a challenge."""
        async with reading(self._engine) as connection:
            return await finding.find(connection, challenge_id)

    async def tried(self, challenge_id: str, attempt_id: str) -> bool | None:
        """Return whether an attempt consumed; None where it is not on record."""
        async with reading(self._engine) as connection:
            return await finding.tried(connection, challenge_id, attempt_id)

    async def carried(self, bearer: Bearer) -> Carried | None:
        """Return the message of a challenge that a notice is; None where it is none."""
        async with reading(self._engine) as connection:
            return await carried(connection, bearer)

    async def of_message(self, event_id: str) -> tuple[ChallengeRow, DeliveryRow] | None:
        """Return the challenge that a notice's event carries, and the message that it is."""
        table = challenge_tables.deliveries
        async with reading(self._engine) as connection:
            found = await connection.execute(select(table).where(table.c.event_id == event_id))
            values = found.mappings().one_or_none()
            if values is None:
                return None
            message = DeliveryRow.model_validate(dict(values))
            row = await finding.find(connection, message.challenge_id)
        return None if row is None else (row, message)

    async def by_link(self, digest: str) -> ChallengeRow | None:
        """Return the challenge that a link's secret belongs to."""
        return await self._where("link_digest", digest)

    async def by_result(self, digest: str) -> ChallengeRow | None:
        """Return the challenge whose consumption an opaque word stands for; None before it is consumed."""
        row = await self._where("result_digest", digest)
        return row if row is not None and row.state is ChallengeState.CONSUMED else None

    async def _where(self, column: str, digest: str) -> ChallengeRow | None:
        table = challenge_tables.challenges
        async with reading(self._engine) as connection:
            found = await connection.execute(select(table).where(table.c[column] == digest))
            values = found.mappings().one_or_none()
        return None if values is None else ChallengeRow.model_validate(dict(values))


def _counted_by(account_id: str, to: Destinations) -> tuple[str, ...]:
    """Name what the limits count by: who counts by one of these waits for who does already."""
    hashes = [f"destination:{each}" for each in (to.email, to.phone) if each is not None]
    return (f"account:{account_id}", *hashes)


def _message(row: ChallengeRow, to: Destinations, *, number: int, asked_id: str, at: datetime) -> DeliveryRow:
    event_id = delivery_event(row.id, number)
    return DeliveryRow(
        event_id=event_id,
        challenge_id=row.id,
        notice_key=f"{row.kind}:{event_id}:{row.account_id}",
        number=number,
        asked_id=asked_id,
        account_id=row.account_id,
        email_hash=to.email,
        phone_hash=to.phone,
        asked_at=at,
    )


def _is_guess(row: ChallengeRow, presented: Presented) -> bool:
    """Whether a wrong secret brings anybody nearer: what a challenge does not have cannot be guessed.

    Nor can a link, so that a stranger who knows an id cannot end the challenge of a link.
    """
    return row.code_digest is not None and presented.code is not None


def _after(row: ChallengeRow, at: datetime, *, consumed: bool) -> dict[str, object]:
    """Return what a try changes about its challenge."""
    if consumed:
        return {"state": ChallengeState.CONSUMED, "consumed_at": at, "ended_at": at}
    wrong = row.wrong + 1
    if wrong < row.wrong_codes:
        return {"wrong": wrong}
    return {"wrong": wrong, "state": ChallengeState.DEAD, "ended_at": at}
