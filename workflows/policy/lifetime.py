"""From when to when: the instants of one notice, from its event and its kind's terms."""

from datetime import datetime

from workflows.policy.models import NoticeRequest
from workflows.policy.terms import Policy


class LifetimeError(ValueError):
    """The event's instants do not fit the kind's terms; the message names the field."""


def expiry(request: NoticeRequest, policy: Policy, now: datetime) -> datetime:
    """Return when the notice stops being useful (UTC): the earlier of the event's word and the policy's.

    The policy counts from the event where the request says when that was, so that a notice that an
    outage held back is not sent as if it were fresh. Raises LifetimeError where nothing says when, or
    where the fallback would come too late to be useful.
    """
    born = request.occurred_at or now
    spoken = [request.expires_at, born + policy.expires_after if policy.expires_after else None]
    instants = [at for at in spoken if at is not None]
    if not instants:
        raise LifetimeError("expires_at: this kind needs it, since its policy has no expires_after")
    expires_at = min(instants)
    late = request.fallback_at is not None and expires_at - request.fallback_at < policy.min_useful
    if late and len(policy.route) > 1:
        raise LifetimeError("fallback_at: must leave the fallback at least min_useful before expires_at")
    return expires_at
