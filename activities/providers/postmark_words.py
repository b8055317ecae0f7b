"""Postmark's words: its error codes, its states, its kinds of bounces, and what its reports mean by them."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType

from activities.providers.answers import Json
from activities.providers.base import Level, Reported
from activities.providers.fields import event_id, instant, number, parts, text
from activities.providers.refusals import INVALID, LATER, REFUSED, Meaning, wrong
from workflows.policy.classify import blame, extract
from workflows.policy.words import Status, SuppressionReason

STATUS: Mapping[str, tuple[Status, bool]] = MappingProxyType(
    {
        "Queued": (Status.PENDING, False),
        "Scheduled": (Status.PENDING, False),
        "Sent": (Status.ACCEPTED, False),
        "Processed": (Status.ACCEPTED, False),
        "Blocked": (Status.REJECTED, True),
        "Failed": (Status.REJECTED, True),
    }
)
"""Of a message without an event that says more: "Sent" is handed over, and not delivered."""

BOUNCED = "Bounced"
"""The event whose meaning is in the bounce that it names."""

EVENTS: Mapping[str, tuple[Status, bool]] = MappingProxyType(
    {
        "Delivered": (Status.DELIVERED, True),
        "Opened": (Status.DELIVERED, True),
        "LinkClicked": (Status.DELIVERED, True),
        "Transient": (Status.TEMPORARY_FAILURE, False),
    }
)

STRENGTH: Mapping[str, int] = MappingProxyType({BOUNCED: 3} | dict.fromkeys(EVENTS, 2) | {"Transient": 1})
"""Which event decides: a bounce may follow a delivery, and an attempt that failed may come before one."""

RECORDS: Mapping[str, str] = MappingProxyType(
    {"Delivery": "DeliveredAt", "Open": "ReceivedAt", "Click": "ReceivedAt"}
)
"""Callbacks of a message that arrived, and the field that says when."""

BOUNCES: Mapping[str, tuple[Status, bool]] = MappingProxyType(
    {
        "BadEmailAddress": (Status.INVALID_RECIPIENT, True),
        "Transient": (Status.TEMPORARY_FAILURE, True),
        "SoftBounce": (Status.TEMPORARY_FAILURE, True),
        "DnsError": (Status.TEMPORARY_FAILURE, True),
        "Undeliverable": (Status.TEMPORARY_FAILURE, True),
        "SpamNotification": (Status.REJECTED, True),
        "Blocked": (Status.REJECTED, True),
        "DMARCPolicy": (Status.REJECTED, True),
        "VirusNotification": (Status.REJECTED, True),
        "ManuallyDeactivated": (Status.REJECTED, True),
        "Unconfirmed": (Status.REJECTED, True),
        "SMTPApiError": (Status.REJECTED, True),
        "TemplateRenderingFailed": (Status.REJECTED, True),
        "Unsubscribe": (Status.REJECTED, True),
        # Only who has a message can complain about it.
        "SpamComplaint": (Status.DELIVERED, True),
        "Unknown": (Status.UNRECOGNIZED, True),
        "InboundError": (Status.UNRECOGNIZED, True),
    }
)
"""By `Type`; `TypeCode` is no help: a complaint's callback shows the one of a spam notification (512)."""

HARD = "HardBounce"
"""The one kind that its text decides."""

ANSWERS = frozenset({"AutoResponder", "Subscribe", "OpenRelayTest", "ChallengeVerification", "AddressChange"})
"""Kinds that say nothing of whether the message arrived."""

CHOICES: Mapping[str, SuppressionReason] = MappingProxyType(
    {"SpamComplaint": SuppressionReason.COMPLAINT, "Unsubscribe": SuppressionReason.UNSUBSCRIBED}
)

_SENDER = wrong("confirm the sender signature of STANDBY_EMAIL_FROM, or verify its domain, at the provider")
_ACCOUNT = wrong("the account may not send: see its approval and its credits at the provider")
_STREAM = wrong("check STANDBY_POSTMARK_STREAM")

INVALID_REQUEST = 300
"""About any field, which only its text names."""

REFUSALS: Mapping[int, Meaning] = MappingProxyType(
    {
        10: wrong("check STANDBY_POSTMARK_SERVER_TOKEN"),
        100: LATER,
        400: _SENDER,
        401: _SENDER,
        405: _ACCOUNT,
        # Bounced, complained or deactivated by hand: it does not say which, so nobody's choice is guessed.
        406: REFUSED,
        412: _ACCOUNT,
        413: _ACCOUNT,
        1226: _STREAM,
        1235: _STREAM,
        1236: _STREAM,
    }
)
"""By `ErrorCode`: numbers of its own, some of which look like HTTP's."""

UNKNOWN = frozenset({407, 701})
"""How a look-up of an unknown bounce or message is answered, besides 404."""


def meaning(code: int | None, said: str, recipient: str) -> Meaning | None:
    """Return what an error code proves, with its text where that must tell."""
    if code != INVALID_REQUEST:
        return None if code is None else REFUSALS.get(code)
    if "'From'" in said:
        return _SENDER
    # It takes no internationalised local part, which is no fault of such an address.
    is_of_it = "'To' address" in said or "parsing 'To'" in said
    return INVALID if is_of_it and recipient.isascii() else REFUSED


def choice(fields: Json) -> SuppressionReason | None:
    """Return the person's own choice behind a suppression; a hard bounce or an administrator's is none."""
    match text(fields, "SuppressionReason"), text(fields, "Origin"):
        case "SpamComplaint", _:
            return SuppressionReason.COMPLAINT
        case "ManualSuppression", "Recipient":
            return SuppressionReason.UNSUBSCRIBED
        case _:
            return None


def bounced(bounce: Json, summary: str = "") -> Reported | None:
    """Read a bounce, or as much of it as an event sums up; None: it says nothing of the message."""
    kind, said = text(bounce, "Type"), text(bounce, "Details") or summary
    if kind in ANSWERS:
        return None
    status, is_final = BOUNCES.get(kind or HARD, (Status.UNRECOGNIZED, False))
    if kind is None or kind == HARD:
        # `Description` is left out: it explains the kind by its commonest cause, and not this bounce.
        status, is_final = blame(None, said, Status.INVALID_RECIPIENT if kind else None), True
    at, opt_out = instant(text(bounce, "BouncedAt")), CHOICES.get(kind or "")
    return Reported(
        status, is_final, raw=kind or BOUNCED, code=extract(said), provider_at=at, opt_out=opt_out
    )


def ranked(message: Json) -> tuple[Json, ...]:
    """Return the events of a message that tell of it, the strongest first, and the later of two alike."""
    told = [each for each in parts(message, "MessageEvents") if text(each, "Type") != "SubscriptionChanged"]
    return tuple(sorted(told, key=_weight, reverse=True))


def _weight(event: Json) -> tuple[int, datetime]:
    at = instant(text(event, "ReceivedAt"))
    return STRENGTH.get(text(event, "Type") or "", 0), at or datetime.min.replace(tzinfo=UTC)


def event(fields: Json) -> Reported:
    """Read one event of a message that is no bounce."""
    word = text(fields, "Type") or ""
    status, is_final = EVENTS.get(word, (Status.UNRECOGNIZED, False))
    return Reported(status, is_final, raw=word, provider_at=instant(text(fields, "ReceivedAt")))


def state(fields: Json) -> Reported:
    """Read the state of a message without events."""
    word = text(fields, "Status") or ""
    status, is_final = STATUS.get(word, (Status.UNRECOGNIZED, False))
    return Reported(status, is_final, raw=word)


def record(fields: Json) -> Reported | None:
    """Read one callback; None: it tells of nothing."""
    match text(fields, "RecordType"):
        case "Delivery" | "Open" | "Click" as word:
            at = instant(text(fields, RECORDS[word]))
            return Reported(Status.DELIVERED, is_final=True, raw=word, provider_at=at)
        case "Bounce" | "SpamComplaint":
            return bounced(fields)
        case "SubscriptionChange" if fields.get("SuppressSending") is True and (opt_out := choice(fields)):
            changed = Reported(Status.DELIVERED, is_final=True, raw="SubscriptionChange", opt_out=opt_out)
            return replace(changed, provider_at=instant(text(fields, "ChangedAt")))
        case "SubscriptionChange" | "Inbound":
            return None
        case word:
            return Reported(Status.UNRECOGNIZED, is_final=False, raw=word or "")


def stream(fields: Json, name: str) -> tuple[Level, str]:
    """Say what a message stream may do."""
    match text(fields, "MessageStreamType"), text(fields, "ArchivedAt"):
        case "Transactional", None:
            return Level.OK, f"stream {name} sends"
        case "Broadcasts", None:
            return Level.NOTE, f"stream {name} is for broadcasts: its bounces are not called back"
        case _:
            return Level.PROBLEM, f"stream {name} does not send: choose another as STANDBY_POSTMARK_STREAM"


def identity(fields: Json) -> str:
    """Return what tells one callback from another: it is the same when it is told again."""
    names = ("RecordType", "MessageID", "ID", "DeliveredAt", "BouncedAt", "ReceivedAt", "ChangedAt")
    return event_id(*[text(fields, name) or "" for name in names])


def code_of(fields: Json) -> int | None:
    """Return an error code; None where there is none, or it means that all is well."""
    return number(fields, "ErrorCode") or None
