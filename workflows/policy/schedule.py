"""When to look: poll times as absolute instants, so that a late worker never pushes later polls."""

import hashlib
from datetime import datetime, timedelta
from itertools import takewhile

from workflows.policy.terms import Backoff, Policy, Watch


def poll_times(watch: Watch, since: datetime, until: datetime, key: str) -> tuple[datetime, ...]:
    """Return the instants (UTC) at which to ask about a submission made at `since`, all before `until`.

    `key` is the attempt key: it fixes the jitter, so that a replay computes the same times.
    """
    planned = (since + offset for offset in offsets(watch, key))
    return tuple(takewhile(lambda at: at < until, planned))


def offsets(watch: Watch, key: str) -> tuple[timedelta, ...]:
    """Return the distances of the polls from the submission, ascending."""
    if watch.polls is not None:
        return watch.polls
    if watch.backoff is not None:
        return _grow(watch.backoff, key)
    return ()


def due(times: tuple[datetime, ...], last_read: datetime | None) -> datetime | None:
    """Return the earliest instant that no read has covered; None once all are covered.

    One read covers every instant up to it: a missed poll is done once, at once, and several missed
    ones are not made up.
    """
    return next((at for at in times if last_read is None or at > last_read), None)


def fallback_deadline(
    policy: Policy,
    submitted_at: datetime,
    expires_at: datetime,
    fallback_at: datetime | None,
) -> datetime:
    """Return when silence on the first channel stops being worth waiting for (UTC).

    It is the earliest of what the event says, what the policy counts from the submission, and what it
    works backward from expiry; with none of them, the last explicit poll. It always leaves a fallback
    twice `min_useful`: once for its use, once for the last read and the check before it.
    """
    first = policy.watch(policy.route[0])
    bounds = [
        fallback_at,
        submitted_at + policy.fallback_after if policy.fallback_after else None,
        expires_at - policy.fallback_before_expiry if policy.fallback_before_expiry else None,
    ]
    named = [at for at in bounds if at is not None]
    if not named and first.polls:
        named = [submitted_at + first.polls[-1]]
    return min([*named, _latest_decision(policy, expires_at)])


def cutoff(policy: Policy, expires_at: datetime) -> datetime:
    """Return the latest time (UTC) at which learning a result could still change an action."""
    return expires_at - policy.cutoff_before_expiry


def _latest_decision(policy: Policy, expires_at: datetime) -> datetime:
    if len(policy.route) == 1:
        return cutoff(policy, expires_at)
    return expires_at - max(2 * policy.min_useful, policy.cutoff_before_expiry)


def _grow(backoff: Backoff, key: str) -> tuple[timedelta, ...]:
    total, gap, grown = timedelta(), backoff.first, []
    for number in range(backoff.limit):
        total += gap * (1 + backoff.jitter * _lean(key, number))
        grown.append(total)
        gap = min(gap * backoff.factor, backoff.cap)
    return tuple(grown)


def _lean(key: str, number: int) -> float:
    """Return a share in [-1, 1] that is the same for one attempt on every host and in every replay."""
    digest = hashlib.sha256(f"{key}#{number}".encode()).digest()
    return int.from_bytes(digest[:8]) / (2**63) - 1
