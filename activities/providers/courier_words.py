"""What Courier says of a message: one word, a reason beside it, and the errors of the providers behind it."""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from activities.providers.answers import Json
from activities.providers.base import Reported
from activities.providers.fields import parts, text
from workflows.policy.classify import classify, extract
from workflows.policy.words import Status, SuppressionReason

STATUS: Mapping[str, tuple[Status, bool]] = MappingProxyType(
    {
        "ENQUEUED": (Status.PENDING, False),
        "PROCESSED": (Status.PENDING, False),
        "ROUTED": (Status.PENDING, False),
        "DELAYED": (Status.PENDING, False),
        "DIGESTED": (Status.PENDING, False),
        "THROTTLED": (Status.PENDING, False),
        "SENT": (Status.ACCEPTED, False),
        "DELIVERED": (Status.DELIVERED, True),
        "OPENED": (Status.DELIVERED, True),
        "CLICKED": (Status.DELIVERED, True),
        "UNDELIVERABLE": (Status.REJECTED, True),
        "UNROUTABLE": (Status.REJECTED, True),
        "UNMAPPED": (Status.REJECTED, True),
        "FILTERED": (Status.REJECTED, True),
        "CANCELED": (Status.REJECTED, True),
        # Of a mock key, which sends nothing.
        "SIMULATED": (Status.PENDING, True),
        "FAILED": (Status.UNRECOGNIZED, True),
    }
)

UNDONE: Final = frozenset({"UNDELIVERABLE", "UNROUTABLE"})
"""The words that have a reason beside them."""

BOUNCED: Final = "BOUNCED"
TOLD: Final = frozenset({BOUNCED, "PROVIDER_ERROR", "FAILED"})
"""The reasons of what could not be delivered whose meaning is in the errors beside them."""

UNSUBSCRIBED: Final = "UNSUBSCRIBED"
"""The reason that is the person's own choice; `OPT_IN_REQUIRED` is a choice not yet made."""

_STOPPED = re.compile(
    r"\b21610\b|unsubscribed recipient|violates a blacklist rule|\bopted[ -]out\b|\bSTOP message\b",
    re.IGNORECASE,
)
"""What Twilio and its kin call an opt-out from texts."""

_COMPLAINT = re.compile(r"(?:spam[ _-]?)?complain(?:t|ed)|spam[ _-]?report", re.IGNORECASE)
"""An error that is nothing but this word; in a longer text it may be the reputation of the sender."""


def reported(message: Json, provider_id: str) -> Reported:
    """Read a message as Courier shows it, in a look-up or a callback."""
    word, reason = text(message, "status") or "", text(message, "reason") or ""
    errors = tuple(_errors(message)) if word in UNDONE else ()
    status, is_final = STATUS.get(word, (Status.UNRECOGNIZED, False))
    opt_out = _choice(reason, errors) if word in UNDONE else None
    if opt_out is None and word == "UNDELIVERABLE" and reason in TOLD:
        status = _judged(reason, "\n".join(errors))
    return Reported(
        status,
        is_final,
        raw=f"{word} {reason}",
        code=extract("\n".join(errors)),
        provider_id=provider_id,
        opt_out=opt_out,
    )


def _errors(message: Json) -> Iterator[str]:
    """Yield the error of a message and those of its providers, which are texts or objects of texts."""
    for each in (message, *parts(message, "providers")):
        error = each.get("error")
        told = error.values() if isinstance(error, dict) else (error,)
        yield from (said for said in told if isinstance(said, str))


def _choice(reason: str, errors: tuple[str, ...]) -> SuppressionReason | None:
    if reason == UNSUBSCRIBED:
        return SuppressionReason.UNSUBSCRIBED
    if any(_STOPPED.search(each) for each in errors):
        return SuppressionReason.STOPPED
    if any(_COMPLAINT.fullmatch(each.strip()) for each in errors):
        return SuppressionReason.COMPLAINT
    return None


def _judged(reason: str, said: str) -> Status:
    """Say whose fault it was; the account that a provider's own error does not find is rather ours."""
    match classify(None, said).status:
        case Status.TEMPORARY_FAILURE:
            return Status.TEMPORARY_FAILURE
        case Status.INVALID_RECIPIENT if reason == BOUNCED or extract(said) is not None:
            return Status.INVALID_RECIPIENT
        case _:
            return Status.REJECTED
