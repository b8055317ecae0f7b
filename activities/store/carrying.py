"""Whether a notice may carry a challenge, now: whose message it is, where to, and whether it is the last.

The engine starts any notice for whoever may reach it: nothing that a notice says of itself counts here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from activities.store import challenge_finding as finding
from activities.store import challenge_tables
from activities.store.challenge_rows import ChallengeRow, DeliveryRow
from workflows.policy.words import ChallengeState, Channel


class Bar(StrEnum):
    """Why a message that would carry a challenge is not sent."""

    OVER = "challenge_over"
    SUPERSEDED = "superseded"
    """A later message of the challenge was asked for."""
    FOREIGN = "not_its_message"
    """The ledger knows no such message of a challenge, or knows it for another address."""


@dataclass(frozen=True, slots=True)
class Bearer:
    """A notice that says it is a message of a challenge."""

    notice_key: str
    event_id: str
    hashes: Mapping[Channel, str]
    """The keyed hashes of where it goes."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A message of a challenge, as it was asked for."""

    challenge: ChallengeRow
    message: DeliveryRow
    latest: int
    """The number of the challenge's last message."""

    def belongs_to(self, bearer: Bearer) -> bool:
        """Whether it is this message: of its name, and to the addresses that it was asked for."""
        asked = {Channel.EMAIL: self.message.email_hash, Channel.SMS: self.message.phone_hash}
        to_no_other = all(asked[channel] == hashed for channel, hashed in bearer.hashes.items())
        return to_no_other and self.message.notice_key == bearer.notice_key

    def bar(self, now: datetime) -> Bar | None:
        """Return why it is not sent any more (`now` is UTC); None where it may be."""
        if self.challenge.state is not ChallengeState.ACTIVE or now >= self.challenge.expires_at:
            return Bar.OVER
        return Bar.SUPERSEDED if self.message.number < self.latest else None


async def carried(connection: AsyncConnection, bearer: Bearer, *, held: bool = False) -> Carried | None:
    """Return what a notice carries, if it does; held, nobody changes the challenge before this ends."""
    table = challenge_tables.deliveries
    found = await connection.execute(select(table).where(table.c.event_id == bearer.event_id))
    values = found.mappings().one_or_none()
    if values is None:
        return None
    message = DeliveryRow.model_validate(dict(values))
    challenge = await finding.find(connection, message.challenge_id, held=held)
    latest = await connection.execute(
        select(func.max(table.c.number)).where(table.c.challenge_id == message.challenge_id)
    )
    if challenge is None:
        return None
    kept = Carried(challenge, message, latest.scalar_one())
    return kept if kept.belongs_to(bearer) else None


async def bar(connection: AsyncConnection, bearer: Bearer, at: datetime) -> Bar | None:
    """Return why a message is not sent, with its challenge held until this transaction ends."""
    kept = await carried(connection, bearer, held=True)
    return Bar.FOREIGN if kept is None else kept.bar(at)
