"""What SES says: its errors, the events that it publishes to SNS, and those that its insights list.

Both kinds of events say the same in two spellings ("Rendering Failure" and "RENDERING_FAILURE"), so words
are compared in small letters, without blanks and underscores.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import NamedTuple

from activities.providers import aws, labels, refusals
from activities.providers.answers import Answer, Json
from activities.providers.base import Level, Reported
from activities.providers.errors import Forged
from activities.providers.fields import instant, part, parts, text, unix
from activities.providers.refusals import LATER, REFUSED, Meaning, wrong
from workflows.policy.classify import blame, extract
from workflows.policy.words import Status, SuppressionReason

STATUS: Mapping[str, tuple[Status, bool]] = MappingProxyType(
    {
        "send": (Status.PENDING, False),
        "deliverydelay": (Status.TEMPORARY_FAILURE, False),
        "delivery": (Status.DELIVERED, True),
        "open": (Status.DELIVERED, True),
        "click": (Status.DELIVERED, True),
        "reject": (Status.REJECTED, True),
        "renderingfailure": (Status.REJECTED, True),
    }
)
"""Events whose word says all; SES says `send` of a suppressed address too."""

SILENT = frozenset({"subscription", "amazonsnssubscriptionsucceeded"})
"""Events that say nothing of a message."""

CONTENT = frozenset({"messagetoolarge", "contentrejected", "attachmentrejected"})
"""Transient bounces that the same message would bring again."""

NO_SPAM = frozenset({"not-spam", "auth-failure"})
"""Feedback types (RFC 5965, RFC 6591, RFC 6430) that are nobody's complaint."""

NEARLY = 0.8
"""The part of the daily quota from which on there is something to do."""

TAG = "standby"
"""The tag that carries our key; configuration sets publish it, the feedback of an identity lacks it."""

_SENDER = wrong(
    "verify the domain of STANDBY_EMAIL_FROM in this region; while the account is in the sandbox, "
    "recipients must be verified too"
)
_PAUSED = wrong("AWS has stopped the account from sending: see the SES console for why")
_SET = wrong("check STANDBY_SES_CONFIGURATION_SET, in this region")

REFUSALS: Mapping[str, Meaning] = MappingProxyType(
    {
        **aws.REFUSALS,
        "AccountSuspendedException": _PAUSED,
        "SendingPausedException": _PAUSED,
        "MailFromDomainNotVerifiedException": _SENDER,
        "NotFoundException": _SET,
        "LimitExceededException": LATER,
        "MessageRejected": REFUSED,
        "BadRequestException": REFUSED,
    }
)
"""Errors by type; the rest means what its HTTP status means."""

SAID: Mapping[str, Meaning] = MappingProxyType(
    {
        "not verified": _SENDER,
        "daily message quota exceeded": wrong("the daily quota of the account is used up: ask AWS for more"),
        "sending paused": _PAUSED,
        "sending suspended": _PAUSED,
    }
)
"""What some of these types say besides, and mean by it."""

# The details of an event stand under its word, but for these.
_DETAILS: Mapping[str, str] = MappingProxyType(
    {"deliverydelay": "deliveryDelay", "renderingfailure": "failure"}
)


class Bounce(NamedTuple):
    """Why SES gave up."""

    kind: str
    sub_kind: str
    said: str
    """By the receiving host, or by SES itself."""
    code: str | None = None


def check(answer: Answer) -> None:
    """Raise what a documented refusal proves; an acceptance, and what is not documented, passes."""
    code = aws.error_code(answer)
    if not answer.is_success and code is not None and code in REFUSALS:
        said = (text(answer.fields() or {}, "message", "Message") or "").casefold()
        for words, meaning in SAID.items():
            if words in said:
                raise refusals.error(meaning, answer, code)
    refusals.check(answer, REFUSALS, code)


def heard(event: Json) -> Reported | None:
    """Read an event of a configuration set, or the feedback of an identity; None where neither tells."""
    word = text(event, "eventType", "notificationType")
    if word is None:
        raise Forged("the callback cannot be read")
    kind, mail = _plain(word), part(event, "mail")
    provider_id = text(mail, "messageId")
    if kind in SILENT or provider_id is None:
        return None
    details = part(event, _DETAILS.get(kind, kind))
    recipient = next(iter(parts(details, "bouncedRecipients")), {})
    bounce = Bounce(
        text(details, "bounceType") or "",
        text(details, "bounceSubType") or "",
        text(recipient, "diagnosticCode") or "",
        text(recipient, "status"),
    )
    complaint = text(details, "complaintSubType") or "", text(details, "complaintFeedbackType") or ""
    tags = part(mail, "tags").get(TAG)
    label = labels.read(tags[0] if isinstance(tags, list) and tags and isinstance(tags[0], str) else None)
    return replace(
        _reported(word, bounce, *complaint),
        provider_id=provider_id,
        provider_at=instant(text(details, "timestamp") or text(mail, "timestamp")),
        attempt_key=label.key,
        attempt_digest=label.digest,
    )


def seen(insights: Json, provider_id: str) -> Reported:
    """Read the insights into a message: of all its events, the one that says most."""
    events = [each for one in parts(insights, "Insights") for each in parts(one, "Events")]
    reports = [_listed(each) for each in events if _plain(text(each, "Type") or "") not in SILENT]
    nothing = Reported(Status.PENDING, is_final=False, raw="no events")
    return replace(max(reports, key=_rank, default=nothing), provider_id=provider_id)


def account(fields: Json) -> Iterator[tuple[Level, str]]:
    """Judge an account: may it send, to anybody, and how much more today."""
    if fields.get("ProductionAccessEnabled") is not True:
        says = "the account is in the sandbox, and writes to verified addresses only"
        yield Level.PROBLEM, f"{says}: ask AWS for production access"
    if fields.get("SendingEnabled") is not True:
        yield Level.PROBLEM, "the account may not send: see the SES console for why"
    if text(fields, "EnforcementStatus") == "PROBATION":
        yield Level.NOTE, "AWS is reviewing the account's bounces and complaints: see the SES console"
    yield _quota(part(fields, "SendQuota"))


def _listed(event: Json) -> Reported:
    bounce, complaint = part(event, "Details", "Bounce"), part(event, "Details", "Complaint")
    told = Bounce(*(text(bounce, name) or "" for name in ("BounceType", "BounceSubType", "DiagnosticCode")))
    why = (text(complaint, name) or "" for name in ("ComplaintSubType", "ComplaintFeedbackType"))
    moment = event.get("Timestamp")
    return replace(_reported(text(event, "Type") or "", told, *why), provider_at=unix(moment))


def _reported(word: str, bounce: Bounce, sub_kind: str, feedback: str) -> Reported:
    match _plain(word):
        case "bounce":
            return _bounced(word, bounce)
        case "complaint":
            return _complained(word, sub_kind, feedback)
        case kind:
            status, is_final = STATUS.get(kind, (Status.UNRECOGNIZED, False))
            return Reported(status, is_final, raw=word)


def _bounced(word: str, bounce: Bounce) -> Reported:
    """Read a bounce: SES publishes one only when it has given up, whatever its type."""
    code = extract(bounce.said, bounce.code)
    raw = " ".join(each for each in (word, bounce.kind, bounce.sub_kind) if each)
    match _plain(bounce.kind):
        case "permanent":
            return Reported(_permanent(bounce), is_final=True, raw=raw, code=code)
        case "transient":
            is_content = _plain(bounce.sub_kind) in CONTENT
            status = Status.REJECTED if is_content else Status.TEMPORARY_FAILURE
            return Reported(status, is_final=True, raw=raw, code=code)
        case "undetermined":
            return Reported(_judged(bounce, Status.UNRECOGNIZED), is_final=True, raw=raw, code=code)
        case _:
            return Reported(Status.UNRECOGNIZED, is_final=False, raw=raw, code=code)


def _permanent(bounce: Bounce) -> Status:
    kind = _plain(bounce.sub_kind)
    if "suppress" in kind or bounce.said.startswith("Amazon SES"):
        # A list of AWS's or of the account's: no host was asked, and the 5.1.1 beside it is made up.
        return Status.REJECTED
    hint = Status.INVALID_RECIPIENT if kind == "noemail" else None
    return _judged(bounce, Status.REJECTED, hint)


def _judged(bounce: Bounce, default: Status, hint: Status | None = None) -> Status:
    return blame(bounce.code, bounce.said, hint, default=default)


def _complained(word: str, sub_kind: str, feedback: str) -> Reported:
    raw = " ".join(each for each in (word, sub_kind, feedback) if each)
    if _plain(sub_kind) == "onaccountsuppressionlist":
        # It was accepted and not sent: the complaint was about an earlier message.
        return Reported(Status.REJECTED, is_final=True, raw=raw, opt_out=SuppressionReason.COMPLAINT)
    opt_out = None if feedback in NO_SPAM else SuppressionReason.COMPLAINT
    return Reported(Status.DELIVERED, is_final=True, raw=raw, opt_out=opt_out)


def _rank(reported: Reported) -> tuple[int, datetime]:
    """Order reports by how much they say, whenever they came; of equals the latest."""
    at = reported.provider_at or datetime.min.replace(tzinfo=UTC)
    if reported.opt_out is not None:
        return 6, at
    match reported.status:
        case Status.UNRECOGNIZED if not reported.is_final:
            return 0, at
        case Status.PENDING:
            return 1, at
        case Status.TEMPORARY_FAILURE | Status.UNRECOGNIZED:
            # An absent person's automatic answer comes as such a bounce, after the delivery.
            return 2, at
        case Status.DELIVERED:
            return 3, at
        case _:
            return 4, at


def _quota(quota: Json) -> tuple[Level, str]:
    most, sent = quota.get("Max24HourSend"), quota.get("SentLast24Hours")
    if not isinstance(most, int | float) or not isinstance(sent, int | float):
        return Level.UNCHECKED, "the daily quota is not said"
    if most < 0:
        return Level.OK, "there is no daily quota"
    says = f"{sent:.0f} of {most:.0f} messages sent in 24 hours"
    return (Level.PROBLEM, f"{says}: ask AWS for more") if sent >= NEARLY * most else (Level.OK, says)


def _plain(word: str) -> str:
    return word.replace(" ", "").replace("_", "").casefold()
