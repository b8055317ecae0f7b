"""Open notices whose fallback deadline has passed, and nothing was sent on a later channel."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import and_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from activities.store import tables
from workflows.policy import schedule
from workflows.policy.progress import Progress
from workflows.policy.terms import Policy
from workflows.policy.words import OnUnresolved

_AT_ONCE: Final = 500
"""Keys a statement: both databases bound its values."""


@dataclass(frozen=True, slots=True)
class _Open:
    """An open notice with one of its attempts, if it has any."""

    key: str
    digest: str
    expires_at: datetime
    fallback_at: datetime | None
    channel: str | None
    first_dispatched_at: datetime | None


async def past_fallback(connection: AsyncConnection, now: datetime) -> frozenset[str]:
    """Return their keys; `now` is UTC.

    The deadline is computed as the plan does it. What has no channel left to fall back on is none of them.
    """
    policies = await _policies(connection)
    overdue = tuple(_overdue(await _open(connection), policies, now))
    spent = await _spent(connection, overdue)
    return frozenset(overdue) - spent


def _overdue(found: Sequence[_Open], policies: Mapping[str, Policy], now: datetime) -> Iterator[str]:
    attempts: dict[str, list[_Open]] = {}
    for each in found:
        attempts.setdefault(each.key, []).append(each)
    for key, of_notice in attempts.items():
        policy = policies.get(of_notice[0].digest)
        if policy is not None and _is_overdue(of_notice, policy, now):
            yield key


def _is_overdue(attempts: Sequence[_Open], policy: Policy, now: datetime) -> bool:
    first, notice = policy.route[0], attempts[0]
    if any(each.channel != first and each.first_dispatched_at for each in attempts):
        return False
    sent = next((each.first_dispatched_at for each in attempts if each.channel == first), None)
    return now > schedule.fallback_deadline(policy, sent or now, notice.expires_at, notice.fallback_at)


async def _policies(connection: AsyncConnection) -> dict[str, Policy]:
    """Return the policies under which silence leads on to another channel."""
    found = (await connection.execute(select(tables.policies.c.digest, tables.policies.c.terms))).all()
    read = {digest: Policy.model_validate(terms) for digest, terms in found}
    return {
        digest: each
        for digest, each in read.items()
        if len(each.route) > 1 and each.on_unresolved is OnUnresolved.ESCALATE
    }


async def _open(connection: AsyncConnection) -> list[_Open]:
    notices, attempts = tables.notices, tables.attempts
    statement = (
        select(
            notices.c.key,
            notices.c.policy_digest,
            notices.c.expires_at,
            notices.c.fallback_at,
            attempts.c.channel,
            attempts.c.first_dispatched_at,
        )
        .outerjoin(attempts, and_(attempts.c.notice_key == notices.c.key, attempts.c.dispatches > 0))
        .where(notices.c.outcome.is_(None))
    )
    return [_Open(*row) for row in await connection.execute(statement)]


async def _spent(connection: AsyncConnection, keys: Sequence[str]) -> set[str]:
    """Return those that have no other channel left, as their last decisions have it."""
    table = tables.decisions
    last: dict[str, object] = {}
    for start in range(0, len(keys), _AT_ONCE):
        statement = (
            select(table.c.notice_key, table.c.inputs)
            .where(table.c.notice_key.in_(keys[start : start + _AT_ONCE]))
            .order_by(table.c.answered_at, table.c.number)
        )
        last |= {row.notice_key: row.inputs for row in await connection.execute(statement)}
    return {key for key, inputs in last.items() if not _has_spare(Progress.model_validate(inputs))}


def _has_spare(progress: Progress) -> bool:
    return any(each.is_spare for each in progress.attempts[1:])
