"""What scripts are made of: the words of providers and of checks, and the receipts of odd dispatches."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from temporalio import activity
from temporalio.exceptions import ApplicationError

from workflows import calls
from workflows.policy.eligibility import Answer, Judgement
from workflows.policy.models import Observation
from workflows.policy.words import Channel, Source, Status

Word = tuple[Status, bool]
"""What a provider says, and whether it has stopped trying."""
Told = Word | Callable[[], calls.Receipt] | Exception | None
"""What becomes of a dispatch: a word, a receipt made then and there, an error, or nobody knows (None)."""
Seen = Word | Callable[[], calls.Report] | Exception | None
"""What a look-up finds: a word, a report made then and there, an error, or no news (None)."""
Judged = Judgement | Exception
"""What a check says."""

Script = dict[Channel, Sequence[Told]]
Views = dict[Channel, Sequence[Seen]]
Answers = dict[Channel, Sequence[Judged]]

EMAIL, SMS = Channel.EMAIL, Channel.SMS

PENDING: Word = (Status.PENDING, False)
ACCEPTED: Word = (Status.ACCEPTED, False)
DELIVERED: Word = (Status.DELIVERED, True)
DEFERRED: Word = (Status.TEMPORARY_FAILURE, False)
GAVE_UP: Word = (Status.TEMPORARY_FAILURE, True)
BOUNCED: Word = (Status.INVALID_RECIPIENT, True)
BLOCKED: Word = (Status.REJECTED, True)
ODD: Word = (Status.UNRECOGNIZED, False)

YES: Judgement = (Answer.YES, None)
HELD: Judgement = (Answer.HELD, "dispatch_off")
SUPPRESSED: Judgement = (Answer.NO, "suppressed: invalid_recipient")
NO_CONSENT: Judgement = (Answer.NO, "no_consent")
TOO_LATE: Judgement = (Answer.EXPIRED, "expired")

RECHECK = timedelta(minutes=1)
"""After a held check."""

LOST = None
"""Of a dispatch: it may have left."""
UNREACHABLE = RuntimeError("the ledger or the provider did not answer")
NOT_SENT = ApplicationError("HTTP 429", type="NotSent", next_retry_delay=timedelta(seconds=30))
"""Proves that nothing was accepted."""
MAY_HAVE_LEFT = ApplicationError("HTTP 504", type="Ambiguous", next_retry_delay=timedelta(seconds=30))
"""May be repeated under its key."""


def now() -> datetime:
    """Return the engine's time, as activities see it."""
    return activity.info().started_time


def unreadable() -> calls.Receipt:
    """Return the receipt of an ambiguous dispatch at a provider that cannot be asked about it."""
    return calls.Receipt(dispatch=calls.Dispatch.AMBIGUOUS, provider="fake", readable=False, at=now())


def unclaimed() -> calls.Report:
    """Return the report on a dispatch that the ledger has no claim of."""
    return calls.Report(unclaimed=True, at=now())


def barred(judged: Judgement) -> Callable[[], calls.Receipt]:
    """Return the receipt of a dispatch that was stopped just before the wire."""
    return lambda: calls.Receipt(dispatch=calls.Dispatch.BARRED, clearance=clearance(judged), at=now())


def submitted(seen: Observation) -> calls.Receipt:
    """Return the receipt of a dispatch that the provider answered."""
    return calls.Receipt(
        dispatch=calls.Dispatch.SUBMITTED,
        provider="fake",
        provider_id=seen.provider_id,
        observation=seen,
        at=now(),
    )


def clearance(judged: Judgement) -> calls.Clearance:
    """Return the answer of a check that is made now."""
    answer, reason = judged
    again = now() + RECHECK if answer is Answer.HELD else None
    return calls.Clearance(answer=answer, reason=reason, at=now(), ask_again_at=again)


def observation(
    key: str,
    word: Word,
    source: Source,
    at: datetime,
    *,
    event_id: str = "",
) -> Observation:
    """Return a report about an attempt."""
    status, is_final = word
    return Observation(
        attempt_key=key,
        event_id=event_id or f"{source}-{at.isoformat()}",
        source=source,
        status=status,
        is_final=is_final,
        raw=status.value,
        at=at,
        provider_id="fake-1",
    )
