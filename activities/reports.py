"""From a provider's report, or the ledger's row, to an observation."""

from datetime import datetime

from activities.providers.base import Reported
from activities.store.attempts import AttemptRow
from workflows.policy.models import Observation
from workflows.policy.words import Source, Status


def observation(
    reported: Reported, attempt_key: str, source: Source, *, at: datetime, event_id: str
) -> Observation:
    """Return a report as an observation of an attempt, learned at `at` (engine time)."""
    return Observation(
        attempt_key=attempt_key,
        event_id=reported.event_id or event_id,
        source=source,
        status=reported.status,
        is_final=reported.is_final,
        raw=reported.raw,
        code=reported.code,
        at=at,
        provider_at=reported.provider_at,
        provider_id=reported.provider_id,
        opt_out=reported.opt_out,
    )


def known(row: AttemptRow, *, at: datetime) -> Observation:
    """Return what the ledger knows of an attempt; the same row is the same report."""
    return Observation(
        attempt_key=row.key,
        event_id=f"ledger:{row.version}",
        source=Source.SEND,
        status=row.status or Status.PENDING,
        is_final=row.is_final,
        at=row.last_dispatched_at or at,
        provider_id=row.provider_id,
    )
