"""What would have been sent while only observing, beside what became known of it all the same."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from pydantic import Field
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store import challenge_tables, tables
from activities.store.database import reading
from workflows.policy.models import Payload
from workflows.policy.words import AttemptState, ChallengeState, Channel, Status


class Seen(Payload):
    """One kind on one channel; `would_have_sent` is what all the others are parts of."""

    kind: str
    channel: Channel
    would_have_sent: int = 0
    accepted: int = 0
    """By the strongest word of callbacks, as are the next two."""
    delivered: int = 0
    failed: int = 0
    silent: int = 0
    """Of which no callback said anything that decides."""
    challenges: int | None = Field(default=None)
    """How many of them carried a challenge; None where the kind has none."""
    consumed: int | None = Field(default=None)
    """How many of those were consumed: evidence that somebody was reached, by whatever message."""


class _Found(NamedTuple):
    """One attempt, and its challenge if there is one."""

    kind: str
    channel: str
    state: str
    status: str | None
    challenge: str | None


async def observed(engine: AsyncEngine, observer: str, since: datetime | None = None) -> tuple[Seen, ...]:
    """Return a line for each kind and channel, of attempts whose provider is the observer's name.

    `since` (UTC) counts from the dispatch.
    """
    attempts, notices = tables.attempts, tables.notices
    deliveries, challenges = challenge_tables.deliveries, challenge_tables.challenges
    statement = (
        select(notices.c.kind, attempts.c.channel, attempts.c.state, attempts.c.status, challenges.c.state)
        .join(notices, attempts.c.notice_key == notices.c.key)
        .outerjoin(deliveries, deliveries.c.notice_key == notices.c.key)
        .outerjoin(challenges, challenges.c.id == deliveries.c.challenge_id)
        .where(attempts.c.provider == observer)
    )
    if since is not None:
        statement = statement.where(attempts.c.first_dispatched_at >= since)
    async with reading(engine) as connection:
        rows = (await connection.execute(statement)).all()
    return _counted([_Found(*row) for row in rows])


def _counted(found: Iterable[_Found]) -> tuple[Seen, ...]:
    lines: dict[tuple[str, Channel], Seen] = {}
    for kind, channel, state, status, challenge in found:
        at = (kind, Channel(channel))
        line = lines.get(at) or Seen(kind=kind, channel=Channel(channel))
        came = _came_of(AttemptState(state), Status(status) if status else None)
        changes = {"would_have_sent": line.would_have_sent + 1, came: getattr(line, came) + 1}
        if challenge is not None:
            changes["challenges"] = (line.challenges or 0) + 1
            changes["consumed"] = (line.consumed or 0) + (challenge == ChallengeState.CONSUMED)
        lines[at] = line.model_copy(update=changes)
    return tuple(lines[at] for at in sorted(lines))


def _came_of(state: AttemptState, status: Status | None) -> str:
    """Name what callbacks showed: nobody else can have said anything of a message that never left here."""
    match state, status:
        case AttemptState.FAILED, _:
            return "failed"
        case _, Status.DELIVERED:
            return "delivered"
        case _, Status.ACCEPTED:
            return "accepted"
        case _:
            return "silent"
