"""Mailgun's words: its refusals, its events, and what a stored bounce says."""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from activities.providers.answers import Json
from activities.providers.base import Level, Listed, Reported
from activities.providers.fields import instant, number, part, parts, text, unix
from activities.providers.refusals import INVALID, REFUSED, Meaning, wrong
from workflows.policy.classify import blame, extract
from workflows.policy.words import Status, SuppressionReason

EVENTS: Mapping[str, tuple[Status, bool]] = MappingProxyType(
    {
        "accepted": (Status.PENDING, False),
        "rejected": (Status.REJECTED, True),
        "delivered": (Status.DELIVERED, True),
        "opened": (Status.DELIVERED, True),
        "clicked": (Status.DELIVERED, True),
        "complained": (Status.DELIVERED, True),
        "unsubscribed": (Status.DELIVERED, True),
    }
)

FAILED = "failed"
"""The event whose meaning is in its severity, its reason and its code."""

SILENT = frozenset({"stored"})
"""Events of a copy, which say nothing of the message."""

CHOICES: Mapping[str, SuppressionReason] = MappingProxyType(
    {
        "complained": SuppressionReason.COMPLAINT,
        "unsubscribed": SuppressionReason.UNSUBSCRIBED,
        "suppress-complaint": SuppressionReason.COMPLAINT,
        "suppress-unsubscribe": SuppressionReason.UNSUBSCRIBED,
    }
)
"""By event, or by the reason of a failure."""

HELD_BACK: Mapping[int, str] = MappingProxyType(
    {605: "suppress-bounce", 606: "suppress-unsubscribe", 607: "suppress-complaint"}
)
"""Codes of its own, for what it did not even try; the reason beside them may be any."""

BLOCKS = frozenset({"espblock", "blacklisted", "greylisted"})
"""Reasons that name a policy: only words for an unknown mailbox can make them the recipient's fault."""

_ACCOUNT = wrong("the account or its domain may not send: see its state and its limits at the provider")
_DOMAIN = wrong("check STANDBY_MAILGUN_DOMAIN, and that STANDBY_MAILGUN_URL is its region")
_KEY = wrong("check STANDBY_MAILGUN_API_KEY, and that STANDBY_MAILGUN_URL is the region of the domain")
_SANDBOX = wrong("a sandbox domain sends to authorized addresses only: set STANDBY_MAILGUN_DOMAIN to yours")
_SENDER = wrong("check STANDBY_EMAIL_FROM")

REFUSALS: Mapping[str, Meaning] = MappingProxyType(
    {
        "not allowed to send": _ACCOUNT,
        "sandbox subdomains are for test": _SANDBOX,
        "domain not found": _DOMAIN,
        "from parameter is not a valid": _SENDER,
        "to parameter is not a valid": INVALID,
    }
)
"""By what the message says, for there are no codes; quotation marks around a parameter come and go."""

STATUSES: Mapping[int, Meaning] = MappingProxyType({401: _KEY, 402: _ACCOUNT, 403: _KEY})
"""Where the message says nothing that is known."""


def meaning(http: int, said: str, recipient: str) -> tuple[str, Meaning] | None:
    """Return by which word a refusal is known, and what it proves; None: what its HTTP status does."""
    plain = f" {said.lower()}".replace("'", "")
    for phrase, found in REFUSALS.items():
        if f" {phrase}" in plain:
            # What it makes of an internationalised address is no fault of that address.
            return phrase, REFUSED if found is INVALID and not recipient.isascii() else found
    return (str(http), STATUSES[http]) if http in STATUSES else None


def read(page: Json, provider_id: str | None, tag: str) -> Reported | None:
    """Let the strongest event of a message speak, and the later of two alike: a bounce may follow a delivery.

    A filter finds words in fields, so what it brings is looked at again.
    """
    items = parts(page, "items")
    if provider_id is None:
        ours = [each for each in items if tag in _tags(each)]
    else:
        ours = [each for each in items if _message_id(each) in {None, provider_id}]
    return max((told for each in ours if (told := event(each))), key=_weight, default=None)


def _message_id(event: Json) -> str | None:
    """Return which message an event is about: only the answer to a send has angle brackets around it."""
    found = text(part(event, "message", "headers"), "message-id")
    return found.strip("<>") if found is not None else None


def _tags(event: Json) -> frozenset[str]:
    """Return the tags of a message, in lower case: their case means nothing."""
    found = event.get("tags")
    return frozenset(str(each).lower() for each in found) if isinstance(found, list) else frozenset()


def _weight(reported: Reported) -> tuple[int, datetime]:
    match reported:
        case Reported(opt_out=SuppressionReason.COMPLAINT):
            rank = 6
        case Reported(status=Status.DELIVERED):
            rank = 4 if reported.opt_out else 3
        case Reported(is_final=True):
            rank = 5
        case Reported(status=Status.TEMPORARY_FAILURE):
            rank = 2
        case _:
            rank = 1 if reported.status is Status.PENDING else 0
    return rank, reported.provider_at or datetime.min.replace(tzinfo=UTC)


def event(fields: Json) -> Reported | None:
    """Read one event; None: it says nothing of the message."""
    word = text(fields, "event") or ""
    if word in SILENT:
        return None
    status, is_final = EVENTS.get(word, (Status.UNRECOGNIZED, False))
    raw, code, opt_out = word, None, CHOICES.get(word)
    if word == FAILED:
        reason, code = _reason(fields), _code(fields)
        status, is_final = _failed(fields, reason)
        raw, opt_out = f"{word} {reason}".strip(), CHOICES.get(reason)
    return Reported(
        status,
        is_final,
        raw=raw,
        code=code,
        provider_id=_message_id(fields),
        provider_at=unix(fields.get("timestamp")),
        opt_out=opt_out,
    )


def _reason(fields: Json) -> str:
    code = number(part(fields, "delivery-status"), "code")
    return HELD_BACK.get(code or 0) or text(fields, "reason") or ""


def _code(fields: Json) -> str | None:
    delivery = part(fields, "delivery-status")
    enhanced = text(delivery, "enhanced-code", "bounce-code")
    return extract(_said(delivery), enhanced) or text(delivery, "code")


def _said(delivery: Json) -> str:
    return " ".join(text(delivery, each) or "" for each in ("message", "description"))


def _failed(fields: Json, reason: str) -> tuple[Status, bool]:
    """Classify a failure: every 5xx is permanent to Mailgun, a full mailbox too."""
    delivery = part(fields, "delivery-status")
    said, enhanced = _said(delivery), text(delivery, "enhanced-code", "bounce-code")
    match text(fields, "severity"):
        case "temporary":
            return Status.TEMPORARY_FAILURE, False
        case "permanent" if reason in HELD_BACK.values():
            return Status.REJECTED, True
        case "permanent" if reason == "old" or "too old" in said.lower():
            return Status.TEMPORARY_FAILURE, True
        case "permanent":
            judged = _judged(enhanced, said, number(delivery, "code"))
            blocked = reason in BLOCKS and judged is not Status.INVALID_RECIPIENT
            return Status.REJECTED if blocked else judged, True
        case _:
            return Status.UNRECOGNIZED, False


def _judged(enhanced: str | None, said: str, reply: int | None) -> Status:
    """Return whose fault a permanent failure was."""
    return blame(enhanced, said, reply=reply)


def listed(name: str, row: Json) -> Listed | None:
    """Read one row of a list; None: it holds an address back for a reason that suppresses nothing here."""
    address, at = text(row, "address"), instant(text(row, "created_at"))
    if address is None:
        return None
    match name:
        case "complaints":
            return Listed(address, SuppressionReason.COMPLAINT, at)
        case "unsubscribes" if "*" in _unsubscribed_from(row):
            return Listed(address, SuppressionReason.UNSUBSCRIBED, at)
        case "bounces" if _blames(row):
            return Listed(address, SuppressionReason.INVALID_RECIPIENT, at)
        case _:
            return None


def _blames(bounce: Json) -> bool:
    judged = _judged(None, text(bounce, "error") or "", number(bounce, "code"))
    return judged is Status.INVALID_RECIPIENT


def _unsubscribed_from(row: Json) -> tuple[object, ...]:
    """Return the tags that a person left; `*` is all mail of the domain, as is a row without any."""
    several = row.get("tags")
    return tuple(several) if isinstance(several, list) else (text(row, "tag") or "*",)


def domain(fields: Json, name: str, sender: str) -> list[tuple[Level, str]]:
    """Say what a sending domain may do, and whether that of the sender goes with it."""
    about = part(fields, "domain")
    told: list[tuple[Level, str]] = []
    if text(about, "state") == "active" and about.get("is_disabled") is not True:
        told.append((Level.OK, f"the key holds, domain {name} is active"))
    else:
        told.append((Level.PROBLEM, f"domain {name} is not active: verify it at the provider, or ask why"))
    if text(about, "type") == "sandbox":
        told.append((Level.PROBLEM, f"domain {name} is a sandbox, for tests only: set one of yours"))
    told.append(_records(fields, name))
    if not (f".{sender}".endswith(f".{name}") or f".{name}".endswith(f".{sender}")):
        told.append((Level.NOTE, f"the sender is of another domain than {name}: receivers may trust it less"))
    return told


def _records(fields: Json, name: str) -> tuple[Level, str]:
    """Say whether SPF and DKIM are published; the other record is for tracking."""
    records = [each for each in parts(fields, "sending_dns_records") if text(each, "record_type") == "TXT"]
    if not records:
        return Level.UNCHECKED, f"the DNS records of {name} are not listed"
    if all(text(each, "valid") == "valid" for each in records):
        return Level.OK, f"the DNS records of {name} are valid"
    return Level.PROBLEM, f"DNS records of {name} are not valid: publish them as the provider lists them"


def limits(fields: Json) -> tuple[Level, str]:
    """Say whether tags are left, by which what lost its reply is found."""
    match fields.get("limit_reached"):
        case False:
            return Level.OK, "tags are left to find messages by"
        case True:
            return (
                Level.PROBLEM,
                "tags are used up, so what loses its reply is not found: have the limit raised",
            )
        case _:
            return Level.UNCHECKED, "whether tags are left to find messages by"
