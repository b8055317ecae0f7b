"""Notices at a given moment, in as few words as a row of a table has room for."""

from datetime import UTC, datetime, timedelta

from workflows.policy.keys import attempt_key
from workflows.policy.models import Observation
from workflows.policy.progress import Attempt, Progress
from workflows.policy.terms import Policy, Watch
from workflows.policy.words import (
    AttemptState,
    Channel,
    OnUnresolved,
    SettlesOn,
    Source,
    Status,
    SuppressionReason,
)

EMAIL, SMS = Channel.EMAIL, Channel.SMS
KEY = "password_reset:event-1:ana"
START = datetime(2026, 3, 1, 12, tzinfo=UTC)

RESET = Policy(
    route=(EMAIL, SMS),
    settles_on=SettlesOn.ACCEPTED,
    on_unresolved=OnUnresolved.ESCALATE,
    expires_after=timedelta(minutes=10),
    email=Watch(polls=(timedelta(seconds=15), timedelta(seconds=45), timedelta(seconds=105))),
)
"""Fallback deadline at 105 s (the last poll), cutoff at 570 s, expiry at 600 s."""

PAYOUT = Policy(
    route=(EMAIL, SMS),
    settles_on=SettlesOn.DELIVERED,
    on_unresolved=OnUnresolved.ESCALATE,
    expires_after=timedelta(hours=1),
    fallback_after=timedelta(minutes=15),
    email=Watch(polls=(timedelta(minutes=1), timedelta(minutes=5))),
    sms=Watch(polls=(timedelta(minutes=1), timedelta(minutes=5))),
)
"""Fallback deadline at 900 s, cutoff at 3,570 s, expiry at 3,600 s."""

DIGEST = Policy(
    route=(EMAIL,),
    settles_on=SettlesOn.DELIVERED,
    on_unresolved=OnUnresolved.EXPIRE,
    expires_after=timedelta(hours=1),
    email=Watch(polls=(timedelta(minutes=5),)),
)


def at(seconds: float) -> datetime:
    """Return a moment, counted from the submission."""
    return START + timedelta(seconds=seconds)


def planned(channel: Channel, **facts: object) -> Attempt:
    """Return an attempt that was not dispatched."""
    return Attempt(key=attempt_key(KEY, channel), channel=channel).model_copy(update=facts)


def sent(channel: Channel, status: Status | None = None, **facts: object) -> Attempt:
    """Return an attempt that the provider took at the start, with the last word about it."""
    known = {"state": AttemptState.SUBMITTED, "status": status, "provider_id": "p-1", "since": START}
    return planned(channel, dispatched_at=START, **(known | facts))


def failed(channel: Channel, status: Status = Status.REJECTED) -> Attempt:
    """Return an attempt that has failed for good."""
    return sent(channel, status, state=AttemptState.FAILED, is_final=True)


def delivered(channel: Channel) -> Attempt:
    """Return an attempt that reached its address."""
    return sent(channel, Status.DELIVERED, state=AttemptState.CONFIRMED)


def notice(*attempts: Attempt, policy: Policy = RESET, **facts: object) -> Progress:
    """Return a notice whose life began at the start."""
    assert policy.expires_after is not None
    begun = Progress.begin(KEY, policy.route, START + policy.expires_after)
    return begun.model_copy(update={"attempts": attempts or begun.attempts} | facts)


def seen(
    status: Status,
    *,
    is_final: bool = False,
    channel: Channel = EMAIL,
    event_id: str = "e-1",
    opt_out: SuppressionReason | None = None,
    seconds: float = 0,
) -> Observation:
    """Return a report."""
    return Observation(
        attempt_key=attempt_key(KEY, channel),
        event_id=event_id,
        source=Source.CALLBACK,
        status=status,
        is_final=is_final,
        opt_out=opt_out,
        at=at(seconds),
    )
