"""Resend's words, and what they mean here."""

from collections.abc import Mapping
from types import MappingProxyType

from activities.providers.answers import Json
from activities.providers.base import Reported
from activities.providers.fields import text
from activities.providers.refusals import LATER, REFUSED, UNREPEATABLE, UNSURE, Meaning, wrong
from workflows.policy.classify import blame, extract
from workflows.policy.words import Status, SuppressionReason

STATUS: Mapping[str, tuple[Status, bool]] = MappingProxyType(
    {
        "queued": (Status.PENDING, False),
        "scheduled": (Status.PENDING, False),
        "sent": (Status.ACCEPTED, False),
        "delivery_delayed": (Status.TEMPORARY_FAILURE, False),
        "delivered": (Status.DELIVERED, True),
        "opened": (Status.DELIVERED, True),
        "clicked": (Status.DELIVERED, True),
        "complained": (Status.DELIVERED, True),
        "suppressed": (Status.REJECTED, True),
        "failed": (Status.REJECTED, True),
        "canceled": (Status.REJECTED, True),
    }
)
"""The last event of a message, which a callback names with `email.` before it."""

BOUNCED = "bounced"
"""The one word whose meaning is in the bounce beside it, which only a callback brings."""

BOUNCES: Mapping[str, tuple[Status, bool]] = MappingProxyType(
    {"Transient": (Status.TEMPORARY_FAILURE, True), "Undetermined": (Status.UNRECOGNIZED, True)}
)
"""By type; a permanent one is what its diagnosis says."""

_KEY = wrong("check STANDBY_RESEND_API_KEY and what it permits")
_SENDER = wrong("verify the domain of STANDBY_EMAIL_FROM at the provider")

REFUSALS: Mapping[str, Meaning] = MappingProxyType(
    {
        "missing_api_key": _KEY,
        "restricted_api_key": _KEY,
        "invalid_api_key": _KEY,
        "invalid_access": _KEY,
        "invalid_from_address": _SENDER,
        "rate_limit_exceeded": LATER,
        "daily_quota_exceeded": wrong("the daily quota of the account is used up"),
        "monthly_quota_exceeded": wrong("the monthly quota of the account is used up"),
        "invalid_idempotent_request": UNREPEATABLE,
        "concurrent_idempotent_requests": UNSURE,
        "invalid_idempotency_key": REFUSED,
    }
)
"""Errors by name; the rest means what its HTTP status means."""


def reported(word: str, bounce: Json, provider_id: str) -> Reported:
    """Read the last event of a message; only a callback brings the bounce behind it."""
    code = None
    if word == BOUNCED:
        status, is_final, code = _bounced(bounce)
    else:
        status, is_final = STATUS.get(word, (Status.UNRECOGNIZED, False))
    opt_out = SuppressionReason.COMPLAINT if word == "complained" else None
    return Reported(status, is_final, raw=word, code=code, provider_id=provider_id, opt_out=opt_out)


def _bounced(bounce: Json) -> tuple[Status, bool, str | None]:
    kind = text(bounce, "type")
    if kind is None:
        return Status.REJECTED, True, None
    if kind in BOUNCES:
        return *BOUNCES[kind], None
    diagnoses = bounce.get("diagnosticCode")
    told = [text(bounce, "message"), *(diagnoses if isinstance(diagnoses, list) else ())]
    said = " ".join(each for each in told if isinstance(each, str))
    hint = Status.INVALID_RECIPIENT if text(bounce, "subType") == "NoEmail" else None
    return blame(None, said, hint), True, extract(said)
