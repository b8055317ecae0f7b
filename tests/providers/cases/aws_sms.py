"""AWS End User Messaging, with answers and events as it documents them."""

from collections.abc import Mapping
from datetime import timedelta

import httpx

from activities.providers import labels
from activities.providers.aws import Service
from activities.providers.aws_sms import LONGEST_KEY, AwsSms
from activities.providers.base import Callback
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, Rejected
from activities.providers.provider import Provider
from activities.providers.signatures import Clock
from activities.providers.sns_messages import OLDEST
from tests.providers.fakes.aws_sms import NUMBER, FakeAwsSms, error
from tests.providers.fakes.sns import CREDENTIALS, REGION
from tests.providers.scripted import Received, answer
from tests.providers.sns_signing import FIRST, TOPIC, known, notification
from tests.providers.subject import SMS, Heard, Refusal, Subject, json_of
from workflows.policy.words import Status, SuppressionReason

ID = "862a8790-60c0-4430-9b2b-658bdexample"

REASONS: Mapping[str, Mapping[str, type[Exception]]] = {
    "ConflictException": {
        "DESTINATION_PHONE_NUMBER_NOT_VERIFIED": Misconfigured,
        "NO_ORIGINATION_IDENTITIES_FOUND": Misconfigured,
        "MESSAGE_TYPE_MISMATCH": Misconfigured,
        "NUMBER_CAPABILITIES_MISMATCH": Misconfigured,
        "RESOURCE_NOT_ACTIVE": Misconfigured,
        "DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION": Rejected,
        "DESTINATION_PHONE_NUMBER_BLOCKED_BY_PROTECT_NUMBER_OVERRIDE": Rejected,
        "A_REASON_OF_TOMORROW": Rejected,
    },
    "ValidationException": {
        "COUNTRY_CODE_MISMATCH": Rejected,
        "INTERNATIONAL_SENDING_NOT_SUPPORTED": Rejected,
        "INVALID_ARN": Misconfigured,
        "INVALID_IDENTITY_FOR_DESTINATION_COUNTRY": Rejected,
        "RESOURCE_NOT_ACCESSIBLE": Misconfigured,
        "SENDER_ID_NOT_REGISTERED": Misconfigured,
        "SENDER_ID_NOT_SUPPORTED": Rejected,
        "SENDER_ID_REQUIRES_REGISTRATION": Rejected,
        "COUNTRY_NOT_ENABLED": Rejected,
        "DESTINATION_COUNTRY_BLOCKED": Rejected,
        "FIELD_VALIDATION_FAILED": Rejected,
        "INVALID_PARAMETER": Rejected,
        "INVALID_REQUEST": Rejected,
        "PRICE_OVER_THRESHOLD": Rejected,
        "A_REASON_OF_TOMORROW": Rejected,
    },
    "AccessDeniedException": {
        "ACCOUNT_DISABLED": Misconfigured,
        "INSUFFICIENT_ACCOUNT_REPUTATION": Misconfigured,
    },
    "ServiceQuotaExceededException": {
        "MONTHLY_SPEND_LIMIT_REACHED_FOR_TEXT": Misconfigured,
        "A_REASON_OF_TOMORROW": Misconfigured,
    },
}
"""What each documented reason proves, by the type beside it; a refusal is nobody's fault."""


def refusal(
    http: int,
    kind: str,
    raised: type[Exception],
    status: Status | None = None,
    *,
    opt_out: SuppressionReason | None = None,
    **beside: object,
) -> Refusal:
    return Refusal(http, error(kind, **beside), raised, status, opt_out)


def invalid(status: Status | None, raised: type[Exception], reason: str, *names: str) -> Refusal:
    fields = [{"Name": name, "Message": f"{SMS.to} is as documented."} for name in names]
    return refusal(400, "ValidationException", raised, status, Reason=reason, Fields=fields)


OPTED_OUT = "DESTINATION_PHONE_NUMBER_OPTED_OUT"
REFUSALS = (
    *(
        refusal(400, kind, raised, Status.REJECTED, Reason=reason)
        for kind, reasons in REASONS.items()
        for reason, raised in reasons.items()
    ),
    refusal(
        400,
        "ConflictException",
        Rejected,
        Status.REJECTED,
        opt_out=SuppressionReason.STOPPED,
        Reason=OPTED_OUT,
    ),
    invalid(Status.INVALID_RECIPIENT, Rejected, "INVALID_PARAMETER", "DestinationPhoneNumber"),
    invalid(Status.INVALID_RECIPIENT, Rejected, "FIELD_VALIDATION_FAILED", "destinationPhoneNumber"),
    invalid(Status.REJECTED, Rejected, "INVALID_PARAMETER", "DestinationPhoneNumber", "OriginationIdentity"),
    invalid(Status.REJECTED, Rejected, "INVALID_PARAMETER", "MessageBody"),
    invalid(Status.REJECTED, Rejected, "COUNTRY_NOT_ENABLED", "DestinationPhoneNumber"),
    invalid(None, Misconfigured, "INVALID_PARAMETER", "OriginationIdentity"),
    invalid(None, Misconfigured, "INVALID_PARAMETER", "ConfigurationSetName"),
    refusal(400, "ConflictException", Rejected, Status.REJECTED),
    refusal(400, "ValidationException", Rejected, Status.REJECTED),
    refusal(400, "ResourceNotFoundException", Misconfigured, ResourceType="configuration-set"),
    refusal(400, "AccessDeniedException", Misconfigured),
    refusal(400, "ServiceQuotaExceededException", Misconfigured),
    refusal(400, "UnrecognizedClientException", Misconfigured),
    refusal(400, "InvalidSignatureException", Misconfigured),
    refusal(400, "ExpiredTokenException", Misconfigured),
    refusal(400, "UnknownOperationException", Misconfigured),
    refusal(400, "ThrottlingException", NotSent),
    refusal(429, "TooManyRequestsException", NotSent),
    refusal(500, "InternalServerException", Ambiguous),
    refusal(400, "InternalServerException", Ambiguous),
    refusal(503, "ServiceUnavailableException", Ambiguous),
)


def told(kind: str, *, last: bool | None = None, key: str | None = SMS.key) -> Callback:
    """Publish an event; all its fields are those of AWS's own example."""
    event: dict[str, object] = {
        "eventType": kind,
        "eventVersion": "1.0",
        "eventTimestamp": 1796119198000,
        "originationPhoneNumber": NUMBER,
        "destinationPhoneNumber": SMS.to,
        "messageId": ID,
        "messageStatus": kind.removeprefix("TEXT_"),
        "messageStatusDescription": f"{SMS.to} is as documented.",
    }
    said = {} if last is None else {"isFinal": last}
    return notification(
        event | said | ({} if key is None else {"context": {"standby": labels.header(key, LONGEST_KEY)}})
    )


def heard(kind: str, status: Status | None, *, is_final: bool, last: bool | None) -> Heard:
    return Heard(f"{kind} {last}", told(kind, last=last), status, is_final=is_final)


WORDS: Mapping[str, tuple[Status, Status]] = {
    "TEXT_PENDING": (Status.PENDING, Status.PENDING),
    "TEXT_QUEUED": (Status.PENDING, Status.PENDING),
    "TEXT_SENT": (Status.PENDING, Status.PENDING),
    "TEXT_SUCCESSFUL": (Status.ACCEPTED, Status.ACCEPTED),
    "TEXT_DELIVERED": (Status.DELIVERED, Status.DELIVERED),
    "TEXT_INVALID": (Status.INVALID_RECIPIENT, Status.TEMPORARY_FAILURE),
    "TEXT_UNREACHABLE": (Status.TEMPORARY_FAILURE, Status.TEMPORARY_FAILURE),
    "TEXT_CARRIER_UNREACHABLE": (Status.TEMPORARY_FAILURE, Status.TEMPORARY_FAILURE),
    "TEXT_TTL_EXPIRED": (Status.TEMPORARY_FAILURE, Status.TEMPORARY_FAILURE),
    "TEXT_INVALID_MESSAGE": (Status.REJECTED, Status.TEMPORARY_FAILURE),
    "TEXT_BLOCKED": (Status.REJECTED, Status.TEMPORARY_FAILURE),
    "TEXT_CARRIER_BLOCKED": (Status.REJECTED, Status.TEMPORARY_FAILURE),
    "TEXT_SPAM": (Status.REJECTED, Status.TEMPORARY_FAILURE),
    "TEXT_PROTECT_BLOCKED": (Status.REJECTED, Status.TEMPORARY_FAILURE),
    "TEXT_UNKNOWN": (Status.UNRECOGNIZED, Status.TEMPORARY_FAILURE),
}
"""What an event reads as where it does not deny that it is final, and where it does."""

UNDERWAY = {"TEXT_PENDING", "TEXT_QUEUED", "TEXT_SENT", "TEXT_SUCCESSFUL"}

HEARD = (
    *(heard(word, said, is_final=word not in UNDERWAY, last=None) for word, (said, _) in WORDS.items()),
    *(heard(word, said, is_final=False, last=False) for word, (_, said) in WORDS.items()),
    heard("TEXT_SUCCESSFUL", Status.ACCEPTED, is_final=True, last=True),
    heard("TEXT_DELIVERED", Status.DELIVERED, is_final=True, last=True),
    heard("TEXT_BLOCKED", Status.REJECTED, is_final=True, last=True),
    heard("TEXT_TELEPORTED", Status.UNRECOGNIZED, is_final=False, last=True),
    heard("VOICE_COMPLETED", None, is_final=False, last=True),
    heard("MEDIA_DELIVERED", None, is_final=False, last=True),
    Heard("sent by others", told("TEXT_DELIVERED", key=None), Status.DELIVERED, True, names_attempt=False),
    Heard("the first notification", notification(FIRST), None),
    Heard("an alarm", notification({"AlarmName": "spend"}), None),
)


def make(client: httpx.AsyncClient, url: str, budget: timedelta, clock: Clock) -> Provider:
    service = Service(client, url, REGION, "sms-voice", CREDENTIALS)
    return AwsSms(service, known(client), NUMBER, "notices", "Default", (TOPIC,), budget=budget, clock=clock)


def content(received: Received) -> tuple[str, str]:
    fields = json_of(received)
    context = fields["Context"]
    assert isinstance(context, dict)
    return context["standby"], str(fields["MessageBody"])


SUBJECTS = (
    Subject(
        name="aws_sms",
        message=SMS,
        lists_faults=False,
        make=make,
        fake=FakeAwsSms,
        taken=answer(200, {"MessageId": ID}),
        provider_id=ID,
        acceptance=Status.ACCEPTED,
        content=content,
        refusals=REFUSALS,
        unheard=lambda http: answer(http, error("UnheardOfException")),
        heard=HEARD,
        # The signature is in the body, and SNS repeats what it signed for an hour: see test_aws_sms.
        oldest=OLDEST,
    ),
)
