"""The words of AWS End User Messaging: its errors, and its events."""

import re
from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Final, NamedTuple

from activities.providers import aws, labels, refusals
from activities.providers.answers import Answer, Json
from activities.providers.base import Reported
from activities.providers.fields import part, parts, text, unix
from activities.providers.refusals import INVALID, REFUSED, STOPPED, UNSURE, Meaning, Proof, wrong
from workflows.policy.words import Status

STATUS: Mapping[str, tuple[Status, bool]] = MappingProxyType(
    {
        "TEXT_PENDING": (Status.PENDING, False),
        "TEXT_QUEUED": (Status.PENDING, False),
        "TEXT_SENT": (Status.PENDING, False),
        "TEXT_SUCCESSFUL": (Status.ACCEPTED, False),
        "TEXT_DELIVERED": (Status.DELIVERED, True),
        "TEXT_INVALID": (Status.INVALID_RECIPIENT, True),
        "TEXT_UNREACHABLE": (Status.TEMPORARY_FAILURE, True),
        "TEXT_CARRIER_UNREACHABLE": (Status.TEMPORARY_FAILURE, True),
        "TEXT_TTL_EXPIRED": (Status.TEMPORARY_FAILURE, True),
        "TEXT_INVALID_MESSAGE": (Status.REJECTED, True),
        "TEXT_BLOCKED": (Status.REJECTED, True),
        "TEXT_CARRIER_BLOCKED": (Status.REJECTED, True),
        "TEXT_SPAM": (Status.REJECTED, True),
        "TEXT_PROTECT_BLOCKED": (Status.REJECTED, True),
        "TEXT_UNKNOWN": (Status.UNRECOGNIZED, True),
    }
)
"""Events, and whether they are final where they do not say so themselves."""

LAST: Final = "TEXT_SUCCESSFUL"
"""A carrier took the text; where the carrier tells no more than that, this is final and means delivery."""

_FAILURES = frozenset({Status.INVALID_RECIPIENT, Status.REJECTED, Status.UNRECOGNIZED})

_SENDER = wrong("choose a sender of this account for STANDBY_SMS_FROM that may text where notices go")
_SUPPORT = wrong("the AWS account may not send texts: ask AWS Support why")
_NAMES = wrong("check STANDBY_SMS_FROM, STANDBY_AWS_SMS_CONFIGURATION_SET and STANDBY_AWS_SMS_OPT_OUT_LIST")

REFUSALS: Mapping[str, Meaning] = MappingProxyType(
    {
        **aws.REFUSALS,
        "DESTINATION_PHONE_NUMBER_OPTED_OUT": STOPPED,
        "DESTINATION_PHONE_NUMBER_NOT_VERIFIED": wrong(
            "the account is in the sandbox: ask AWS to move it out, or verify the number there"
        ),
        "ACCOUNT_DISABLED": _SUPPORT,
        "INSUFFICIENT_ACCOUNT_REPUTATION": _SUPPORT,
        "MONTHLY_SPEND_LIMIT_REACHED_FOR_TEXT": wrong("raise the monthly spend limit of the account"),
        # What is wrong for some countries only is refused at once: the other channel may reach them.
        "COUNTRY_CODE_MISMATCH": REFUSED,
        "INTERNATIONAL_SENDING_NOT_SUPPORTED": REFUSED,
        "INVALID_IDENTITY_FOR_DESTINATION_COUNTRY": REFUSED,
        "MESSAGE_TYPE_MISMATCH": _SENDER,
        "NO_ORIGINATION_IDENTITIES_FOUND": _SENDER,
        "NUMBER_CAPABILITIES_MISMATCH": _SENDER,
        "RESOURCE_NOT_ACCESSIBLE": _NAMES,
        "RESOURCE_NOT_ACTIVE": _SENDER,
        "SENDER_ID_NOT_REGISTERED": _SENDER,
        "SENDER_ID_NOT_SUPPORTED": REFUSED,
        "SENDER_ID_REQUIRES_REGISTRATION": REFUSED,
        "INVALID_ARN": _NAMES,
        "ResourceNotFoundException": _NAMES,
        "ServiceQuotaExceededException": wrong("a quota of the account is used up: see it in Service Quotas"),
        "UnknownOperationException": wrong("check AWS_REGION: the service is not in every region"),
        "ConflictException": REFUSED,
        "ValidationException": REFUSED,
        "InternalServerException": UNSURE,
    }
)
"""Errors by reason, else by type; the rest means what its HTTP status means."""

SETTINGS: Mapping[str, Meaning] = MappingProxyType(
    {code: each for code, each in REFUSALS.items() if each.proof is Proof.MISCONFIGURED}
)
"""Those that a check of the set-up can bring as well."""

FIELDS: Mapping[str, Meaning] = MappingProxyType(
    {
        "destinationphonenumber": INVALID,
        "originationidentity": _SENDER,
        "configurationsetname": _NAMES,
        "optoutlistname": _NAMES,
    }
)
"""What an invalid parameter means, by the name of the one that is invalid, in small letters."""

_PER_SECOND: Final = timedelta(seconds=1) // timedelta(milliseconds=1)
"""Of an event's timestamps."""

_ELSEWHERE = re.compile(r"countr|region|support|block|account|sender", re.IGNORECASE)
_PARAMETERS = frozenset({"INVALID_PARAMETER", "FIELD_VALIDATION_FAILED"})


class Kind(NamedTuple):
    """One kind of sender: what it looks like, and where the account's own are listed."""

    shape: re.Pattern[str]
    operation: str
    rows: str
    names: tuple[str, ...]


KINDS: Final = (
    Kind(re.compile(r"pool-\S+|arn:\S+:pool/\S+"), "DescribePools", "Pools", ("PoolId", "PoolArn")),
    Kind(
        re.compile(r"\+?\d+|phone-\S+|arn:\S+:phone-number/\S+"),
        "DescribePhoneNumbers",
        "PhoneNumbers",
        ("PhoneNumber", "PhoneNumberId", "PhoneNumberArn"),
    ),
    Kind(
        re.compile(r"[A-Za-z0-9_-]{1,11}|arn:\S+:sender-id/\S+"),
        "DescribeSenderIds",
        "SenderIds",
        ("SenderId", "SenderIdArn"),
    ),
)


def code(answer: Answer) -> str | None:
    """Return the reason of an error where it has a row, else its type."""
    reason = text(answer.fields() or {}, "Reason")
    return reason if reason in REFUSALS else aws.error_code(answer)


def refused(answer: Answer) -> None:
    """Raise what a refusal proves; a number is to blame only where nothing else is named beside it."""
    fields = answer.fields() or {}
    reason = text(fields, "Reason")
    names = {(text(each, "Name") or "").lower() for each in parts(fields, "Fields")}
    if reason in _PARAMETERS and len(names) == 1 and answer.is_refusal:
        meaning = FIELDS.get(names.pop(), REFUSED)
        if meaning is INVALID and _ELSEWHERE.search(f"{fields.get('Message')} {fields.get('Fields')}"):
            # In doubt it is not the number's fault.
            meaning = REFUSED
        raise refusals.error(meaning, answer, reason)
    refusals.check(answer, REFUSALS, code(answer))


def reported(event: Json, tag: str, event_id: str) -> Reported | None:
    """Read an event; None for one that is not of a text."""
    word, provider_id = text(event, "eventType") or "", text(event, "messageId")
    if not word.startswith("TEXT_") or provider_id is None:
        return None
    status, is_final = _judged(word, event.get("isFinal"))
    label = labels.read(text(part(event, "context"), tag))
    return Reported(
        status,
        is_final,
        raw=word,
        provider_id=provider_id,
        provider_at=unix(event.get("eventTimestamp"), per_second=_PER_SECOND),
        event_id=event_id,
        attempt_key=label.key,
        attempt_digest=label.digest,
    )


def _judged(word: str, last: object) -> tuple[Status, bool]:
    if word not in STATUS:
        return Status.UNRECOGNIZED, False
    if word == LAST and last is True:
        # A carrier took it: where no handset answers, that is the last word, and no delivery.
        return Status.ACCEPTED, True
    status, is_final = STATUS[word]
    if is_final and last is False:
        # It is still being tried, so nothing is known against anybody.
        return (Status.TEMPORARY_FAILURE if status in _FAILURES else status), False
    return status, is_final
