"""What SendGrid says: its errors, and the words of its events, of Email Logs and of Email Activity."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from activities.providers import labels
from activities.providers.answers import Answer, Json
from activities.providers.base import Level, Reported
from activities.providers.fields import event_id, instant, number, parts, text, unix
from activities.providers.refusals import INVALID, REFUSED, Meaning, wrong
from workflows.policy.classify import blame, extract
from workflows.policy.words import Status, SuppressionReason

OTHERWISE: Final = "credentials"
"""The row for an error whose message and field have none."""
_KEY = wrong("check STANDBY_SENDGRID_API_KEY, that it permits mail.send, and that the account may send")
_SENDER = wrong("verify the sender of STANDBY_EMAIL_FROM at the provider, or authenticate its domain")
_CREDITS = wrong("the credits of the account are used up: raise its plan, or wait until they renew")

REFUSALS: Mapping[int, Mapping[str, Meaning]] = MappingProxyType(
    {
        400: MappingProxyType({"from": _SENDER, "personalizations.0.to": INVALID}),
        401: MappingProxyType({"Maximum credits exceeded": _CREDITS, OTHERWISE: _KEY}),
        403: MappingProxyType({"from": _SENDER, OTHERWISE: _KEY}),
    }
)
"""Errors by HTTP status, then by message or (head of the) field; the rest means what its status means."""

ARGUMENT = "standby"
"""The custom argument that carries our key; it comes back among the fields of every event."""

STATUS: Mapping[str, tuple[Status, bool]] = MappingProxyType(
    {
        "received": (Status.PENDING, False),
        "processed": (Status.PENDING, False),
        "deferred": (Status.TEMPORARY_FAILURE, False),
        "delivered": (Status.DELIVERED, True),
        "open": (Status.DELIVERED, True),
        "opened": (Status.DELIVERED, True),
        "click": (Status.DELIVERED, True),
        "clicked": (Status.DELIVERED, True),
        "spamreport": (Status.DELIVERED, True),
        "spam_report": (Status.DELIVERED, True),
        "unsubscribe": (Status.DELIVERED, True),
        "group_unsubscribe": (Status.DELIVERED, True),
        "group_resubscribe": (Status.DELIVERED, True),
        "cancel_drop": (Status.REJECTED, True),
        "not_delivered": (Status.UNRECOGNIZED, True),
    }
)
"""The words that say enough; only the events beside `not_delivered` tell why."""

OPT_OUTS: Mapping[str, SuppressionReason] = MappingProxyType(
    {
        "spamreport": SuppressionReason.COMPLAINT,
        "spam_report": SuppressionReason.COMPLAINT,
        "unsubscribe": SuppressionReason.UNSUBSCRIBED,
        "group_unsubscribe": SuppressionReason.UNSUBSCRIBED,
    }
)

DROPPED = frozenset({"drop", "dropped"})
DROPS: Mapping[str, tuple[Status, SuppressionReason | None]] = MappingProxyType(
    {
        "Invalid": (Status.INVALID_RECIPIENT, None),
        "Spam Reporting Address": (Status.REJECTED, SuppressionReason.COMPLAINT),
        "Unsubscribed Address": (Status.REJECTED, SuppressionReason.UNSUBSCRIBED),
        "Bounced Address": (Status.REJECTED, None),
        "Spam Content": (Status.REJECTED, None),
        "Invalid SMTPAPI header": (Status.REJECTED, None),
        "Recipient List over Package Quota": (Status.REJECTED, None),
    }
)
"""What was never tried, by the reason; any other reason is no fault of the address."""

BOUNCED = frozenset({"bounce", "bounced"})
BLOCKED = frozenset({"block", "blocked", "soft"})
"""The words, and the types of a bounce, that say nothing against the address."""

CLASSES: Mapping[str, Status] = MappingProxyType(
    {
        "Invalid Address": Status.INVALID_RECIPIENT,
        "Content": Status.REJECTED,
        "Reputation": Status.REJECTED,
        "Frequency or Volume Too High": Status.REJECTED,
        "Technical": Status.TEMPORARY_FAILURE,
        "Technical Failure": Status.TEMPORARY_FAILURE,
    }
)
"""SendGrid's own classes of bounces; the others leave it to the receiving server's words."""

EXPLAINED = BOUNCED | {"not_delivered"}
"""The words of a list whose cause stands only among the events of that message."""

LISTS: Mapping[str, SuppressionReason] = MappingProxyType(
    {
        "spam_reports": SuppressionReason.COMPLAINT,
        "unsubscribes": SuppressionReason.UNSUBSCRIBED,
        "invalid_emails": SuppressionReason.INVALID_RECIPIENT,
        "bounces": SuppressionReason.INVALID_RECIPIENT,
    }
)
"""The lists that are read; of the bounces only those that are the address's own fault."""

SCOPES = (*(f"suppression.{name}.read" for name in LISTS), "suppression.unsubscribes.create")
"""What a key must permit for suppressions to come and go."""

_ORDER: Final = (
    Status.PENDING,
    Status.UNRECOGNIZED,
    Status.ACCEPTED,
    Status.TEMPORARY_FAILURE,
    Status.DELIVERED,
    Status.INVALID_RECIPIENT,
    Status.REJECTED,
)
"""What outranks what among reports about one message, whichever came last; in doubt nobody is blamed."""

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


def refusals_of(http: int, recipient: str) -> Mapping[str, Meaning]:
    """Return what errors of an HTTP status mean; an internationalised address is never to blame for them."""
    found = REFUSALS.get(http, MappingProxyType({}))
    if recipient.isascii():
        return found
    return {code: REFUSED if meaning is INVALID else meaning for code, meaning in found.items()}


def patient(answer: Answer) -> Answer:
    """Give a 429 its Retry-After, which SendGrid says as the Unix time when its limit is reset."""
    reset, now = unix(answer.headers.get("x-ratelimit-reset")), instant(answer.headers.get("date"))
    is_busy = answer.status == HTTPStatus.TOO_MANY_REQUESTS and "retry-after" not in answer.headers
    if not is_busy or reset is None or now is None:
        return answer
    wait = max(timedelta(), reset - now)
    return replace(answer, headers={**answer.headers, "retry-after": f"{wait.total_seconds():.0f}"})


def named(answer: Answer) -> str:
    """Return which row of REFUSALS an answer belongs to; those of the sender come first."""
    errors = parts(answer.fields() or {}, "errors")
    said = [each for error in errors for each in (text(error, "message"), text(error, "field")) if each]
    names = REFUSALS.get(answer.status, {})
    found = (name for name in names for each in said if each == name or each.startswith(f"{name}."))
    return next(found, OTHERWISE)


def reported(word: str, beside: Json, provider_id: str | None) -> Reported:
    """Read one word, of an event or of a row in a list, with the fields that stand beside it."""
    code, opt_out = None, OPT_OUTS.get(word)
    if word in BOUNCED | BLOCKED:
        kind = text(beside, "type", "bounce_type")
        status, is_final = _bounced(beside, is_blocked=word in BLOCKED or kind in BLOCKED), True
        code = extract(text(beside, "reason") or "", text(beside, "status"))
    elif word in DROPPED:
        code = (text(beside, "reason") or "").strip()
        (status, opt_out), is_final = DROPS.get(code, (Status.REJECTED, None)), True
    else:
        status, is_final = STATUS.get(word, (Status.UNRECOGNIZED, False))
    at = instant(text(beside, "processed")) or unix(beside.get("timestamp"))
    return Reported(
        status, is_final, raw=word, code=code, provider_id=provider_id, provider_at=at, opt_out=opt_out
    )


def strongest(reports: Iterable[Reported]) -> Reported | None:
    """Return what reports about one message add up to; None where there are none."""
    return max(reports, key=_strength, default=None)


def heard(event: Json) -> Reported | None:
    """Read an event; None where it names no message. Its own id changes when it is sent again."""
    word, full, carried = word_of(event), text(event, "sg_message_id"), text(event, ARGUMENT)
    label, provider_id = labels.read(carried), id_of(full)
    if not word or (provider_id is None and label == labels.Label()):
        return None
    return replace(
        reported(word, event, provider_id),
        event_id=event_id(full or "", word, text(event, "timestamp") or "", carried or ""),
        attempt_key=label.key,
        attempt_digest=label.digest,
    )


def id_of(full: str | None) -> str | None:
    """Return the id that a send was answered with, of one that only begins with it."""
    return (full or "").partition(".")[0] or None


def is_about(row: Json, provider_id: str | None) -> bool:
    """Say whether a row of a list is about this message; about any, where none is given."""
    full = full_id(row) or ""
    return provider_id is None or full == provider_id or full.startswith(f"{provider_id}.")


def word_of(event: Json) -> str:
    """Return an event's own word; "" where it has none."""
    return text(event, "event", "event_name") or ""


def full_id(row: Json) -> str | None:
    """Return the id in a row of Email Logs or of Email Activity; no id is anything but ASCII."""
    found = text(row, "sg_message_id", "msg_id")
    return found if found is not None and found.isascii() else None


def is_told(name: str, row: Json) -> bool:
    """Say whether a row of one of LISTS stands against its address."""
    return name != "bounces" or reported("bounce", row, None).status is Status.INVALID_RECIPIENT


def permitted(scopes: object) -> Iterator[tuple[Level, str]]:
    """Find what a key can do with these scopes."""
    held = scopes if isinstance(scopes, list) else []
    if "mail.send" in held:
        yield Level.OK, "the key holds, and may send"
    else:
        yield Level.PROBLEM, "STANDBY_SENDGRID_API_KEY may not send: let it, by mail.send"
    if lacking := [each for each in SCOPES if each not in held]:
        yield Level.NOTE, f"suppressions are not all exchanged, for want of {', '.join(lacking)}"
    else:
        yield Level.OK, "the key may read and write suppressions"


def _bounced(beside: Json, *, is_blocked: bool) -> Status:
    """Say whose fault a bounce was: never the recipient's where SendGrid only calls it blocked."""
    hint = None if is_blocked else CLASSES.get(text(beside, "bounce_classification") or "")
    # The status of an event is an enhanced code or a reply code, and that of a row in a list is neither.
    reply = number(beside, "status")
    judged = blame(text(beside, "status"), text(beside, "reason") or "", hint, reply)
    return Status.REJECTED if is_blocked and judged is Status.INVALID_RECIPIENT else judged


def _strength(said: Reported) -> tuple[bool, int, datetime]:
    has_failed = said.is_final and said.status is Status.TEMPORARY_FAILURE
    rank = _ORDER.index(Status.REJECTED if has_failed else said.status)
    return said.opt_out is not None, rank, said.provider_at or _LONG_AGO
