"""Timeouts and retry policies, one constant a call.

No send is ever a local activity, and the whole provider call (20 s) ends well before start-to-close: an
activity that has timed out keeps running, and would otherwise reach the wire after the fallback did.
"""

from datetime import datetime, timedelta
from typing import TypedDict

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityCancellationType


class Limits(TypedDict, total=False):
    """What bounds one call."""

    start_to_close_timeout: timedelta
    heartbeat_timeout: timedelta
    retry_policy: RetryPolicy
    cancellation_type: ActivityCancellationType


class BoundedLimits(Limits, total=False):
    """What bounds one call with all its tries."""

    schedule_to_close_timeout: timedelta


_PATIENT = RetryPolicy(
    initial_interval=timedelta(seconds=1),
    backoff_coefficient=2.0,
    maximum_interval=timedelta(seconds=30),
)
"""For the ledger: try until it is back. Nothing may be lost, and a check that errors is a no."""

LEDGER: Limits = {
    "start_to_close_timeout": timedelta(seconds=20),
    "retry_policy": _PATIENT,
}


SEND: Limits = {
    "start_to_close_timeout": timedelta(seconds=60),
    "heartbeat_timeout": timedelta(seconds=10),
    # Retried by the engine because it is safe: the claim row lets a second run send only where the first
    # is proven not to have been accepted, or where the provider honours the key.
    "retry_policy": RetryPolicy(
        initial_interval=timedelta(seconds=1),
        backoff_coefficient=2.0,
        maximum_interval=timedelta(minutes=1),
    ),
    # The truth about a send that is under way matters more than a quick answer.
    "cancellation_type": ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
}

TRY_AGAIN = timedelta(minutes=1)
"""Before a dispatch that was not sent is asked for anew, where its provider named no time."""

LOOK_UP: Limits = {
    "start_to_close_timeout": timedelta(seconds=15),
    # A read that fails is a poll without an answer; the next one comes by plan.
    "retry_policy": RetryPolicy(initial_interval=timedelta(seconds=1), maximum_attempts=3),
}

LOOK_UP_PATIENCE = timedelta(seconds=40)
"""All tries of one look-up together."""


def ledger_until(deadline: datetime) -> BoundedLimits:
    """Ask the ledger, but not after a moment (engine time, UTC) from which the answer is of no use."""
    left = max(deadline - workflow.now(), LEDGER["start_to_close_timeout"])
    return {**LEDGER, "schedule_to_close_timeout": left}
