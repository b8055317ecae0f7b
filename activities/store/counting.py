"""What the limits count: messages by account and by destination, and those that may still be on their way."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from activities.store import challenge_tables, tables
from activities.store.challenge_rows import ChallengeRow, DeliveryRow
from workflows.policy.controls import Control
from workflows.policy.resend import Asked
from workflows.policy.words import AttemptState


@dataclass(frozen=True, slots=True)
class Facts:
    """What the ledger knows at the moment of asking."""

    sent: int
    last_at: datetime | None
    ambiguous: bool
    of_account: tuple[datetime, ...]
    of_destination: tuple[datetime, ...]

    def asked(self, row: ChallengeRow, resend: Control, now: datetime) -> Asked:
        """Return the facts as the decision takes them."""
        return Asked(
            notice_key=row.notice_key,
            now=now,
            expires_at=row.expires_at,
            state=row.state,
            sent=self.sent,
            last_at=self.last_at,
            ambiguous=self.ambiguous,
            of_account=self.of_account,
            of_destination=self.of_destination,
            resend=resend,
        )


async def gather(
    connection: AsyncConnection, row: ChallengeRow, to: DeliveryRow, *, since: datetime
) -> Facts:
    """Read what a message to these destinations is judged by; the limits count what was asked for since."""
    table = challenge_tables.deliveries
    sent = await _times(connection, table.c.challenge_id == row.id)
    within = table.c.asked_at > since
    account = await _times(connection, (table.c.account_id == row.account_id) & within)
    hashes = ((table.c.email_hash, to.email_hash), (table.c.phone_hash, to.phone_hash))
    same = [column == value for column, value in hashes if value is not None]
    return Facts(
        sent=len(sent),
        last_at=sent[-1] if sent else None,
        ambiguous=await _ambiguous(connection, row),
        of_account=account,
        of_destination=await _times(connection, or_(*same) & within) if same else (),
    )


async def _times(connection: AsyncConnection, which: ColumnElement[bool]) -> tuple[datetime, ...]:
    table = challenge_tables.deliveries
    found: Sequence[datetime] = (
        (await connection.execute(select(table.c.asked_at).where(which).order_by(table.c.asked_at)))
        .scalars()
        .all()
    )
    return tuple(found)


async def _ambiguous(connection: AsyncConnection, row: ChallengeRow) -> bool:
    """Whether a dispatch for this challenge has no result, in a notice that is still waiting for one."""
    deliveries, attempts = challenge_tables.deliveries, tables.attempts
    statement = (
        select(attempts.c.key)
        .join(deliveries, attempts.c.notice_key == deliveries.c.notice_key)
        .where(deliveries.c.challenge_id == row.id, attempts.c.state == AttemptState.AMBIGUOUS)
        .limit(1)
    )
    return (await connection.execute(statement)).first() is not None
