"""What would have been sent while only observing, beside what became known of it all the same."""

from collections.abc import Iterable
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from pydantic import Field
from sqlalchemy import and_, select
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store import challenge_tables, tables
from activities.store.database import reading
from workflows.policy.models import Payload
from workflows.policy.state import transition
from workflows.policy.words import AttemptState, ChallengeState, Channel, Source, Status


class Seen(Payload):
    """One kind on one channel; `would_have_sent` is what all the others are parts of."""

    kind: str
    channel: Channel
    would_have_sent: int = 0
    accepted: int = 0
    """By what callbacks said, as are the next two; whatever else is known of an attempt is left out."""
    delivered: int = 0
    failed: int = 0
    silent: int = 0
    """Of which no callback said anything that decides."""
    challenges: int | None = Field(default=None)
    """How many of them carried a challenge; None where the kind has none."""
    consumed: int | None = Field(default=None)
    """How many of those were consumed: evidence that somebody was reached, by whatever message."""


class _Said(NamedTuple):
    """One attempt with one callback about it, if there was any, and its challenge, if it carried one."""

    attempt: str
    kind: str
    channel: str
    challenge: str | None
    status: str | None
    is_final: bool | None


async def observed(engine: AsyncEngine, observer: str, since: datetime | None = None) -> tuple[Seen, ...]:
    """Return a line for each kind and channel, of attempts whose provider is the observer's name.

    `since` (UTC) counts from the dispatch. What came after a notice had closed counts as well: it is what
    became of the message, though it changed nothing.
    """
    attempts, notices, observations = tables.attempts, tables.notices, tables.observations
    deliveries, challenges = challenge_tables.deliveries, challenge_tables.challenges
    called_back = and_(observations.c.attempt_key == attempts.c.key, observations.c.source == Source.CALLBACK)
    statement = (
        select(
            attempts.c.key,
            notices.c.kind,
            attempts.c.channel,
            challenges.c.state,
            observations.c.status,
            observations.c.is_final,
        )
        .join(notices, attempts.c.notice_key == notices.c.key)
        .outerjoin(deliveries, deliveries.c.notice_key == notices.c.key)
        .outerjoin(challenges, challenges.c.id == deliveries.c.challenge_id)
        .outerjoin(observations, called_back)
        .where(attempts.c.provider == observer)
        .order_by(attempts.c.key, observations.c.id)
    )
    if since is not None:
        statement = statement.where(attempts.c.first_dispatched_at >= since)
    async with reading(engine) as connection:
        rows = (await connection.execute(statement)).all()
    return _counted([_Said(*row) for row in rows])


def _counted(told: Iterable[_Said]) -> tuple[Seen, ...]:
    """Count attempts, whose rows stand together."""
    lines: dict[tuple[str, Channel], Seen] = {}
    for _, each in groupby(told, key=attrgetter("attempt")):
        said = list(each)
        at = (said[0].kind, Channel(said[0].channel))
        line = lines.get(at) or Seen(kind=at[0], channel=at[1])
        came = _came_of(said)
        changes = {"would_have_sent": line.would_have_sent + 1, came: getattr(line, came) + 1}
        if (challenge := said[0].challenge) is not None:
            changes["challenges"] = (line.challenges or 0) + 1
            changes["consumed"] = (line.consumed or 0) + (challenge == ChallengeState.CONSUMED)
        lines[at] = line.model_copy(update=changes)
    return tuple(lines[at] for at in sorted(lines))


def _came_of(said: Iterable[_Said]) -> str:
    """Name what callbacks showed of one attempt, by the table that every attempt moves by."""
    state, words = AttemptState.SUBMITTED, set[Status]()
    for each in said:
        if each.status is None:
            continue
        words.add(status := Status(each.status))
        state = transition(state, status, is_final=bool(each.is_final)).state
    match state:
        case AttemptState.FAILED:
            return "failed"
        case AttemptState.CONFIRMED:
            return "delivered"
        case _:
            return "accepted" if Status.ACCEPTED in words else "silent"
