"""Amazon SNS, with answers as it documents them; it makes no callbacks, and answers no look-ups."""

from datetime import timedelta
from urllib.parse import parse_qs

import httpx

from activities.providers.aws import Service
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, Rejected
from activities.providers.provider import Provider
from activities.providers.signatures import Clock
from activities.providers.sns import Sns
from tests.providers.fakes.sns import CREDENTIALS, OWNED, REGION, FakeSns, error, result
from tests.providers.scripted import Received, answer
from tests.providers.subject import SMS, Refusal, Subject
from workflows.policy.words import Status, SuppressionReason

ID = "567910cd-659e-55d4-8ccb-5aaf14679dc0"


def refusal(
    http: int,
    code: str,
    raised: type[Exception],
    status: Status | None = None,
    *,
    says: str = "As documented.",
    opt_out: SuppressionReason | None = None,
) -> Refusal:
    return Refusal(http, error(code, says), raised, status, opt_out)


def parameter(reason: str, status: Status, opt_out: SuppressionReason | None = None) -> Refusal:
    says = f"Invalid parameter: {reason}"
    return refusal(400, "InvalidParameter", Rejected, status, says=says, opt_out=opt_out)


REFUSALS = (
    parameter("Message too long", Status.REJECTED),
    parameter("Empty message", Status.REJECTED),
    parameter("PhoneNumber Reason: input incorrectly formatted", Status.INVALID_RECIPIENT),
    parameter("Phone number does not meet the E164 format", Status.INVALID_RECIPIENT),
    parameter("The phone number of origin is not in E.164 format", Status.REJECTED),
    parameter("Phone numbers of this country are blocked: E.164 prefix +1", Status.REJECTED),
    # So says a region that has no texts, of any number whatever.
    parameter(f"PhoneNumber Reason: {SMS.to} is not valid to publish to", Status.REJECTED),
    parameter("PhoneNumber Reason: Phone number is opted out", Status.REJECTED, SuppressionReason.STOPPED),
    refusal(400, "InvalidParameter", Misconfigured, says=f"PhoneNumber Reason: {SMS.to} is not verified"),
    refusal(400, "InvalidParameter", Misconfigured, says="Invalid parameter: SenderId"),
    refusal(400, "OptedOut", Rejected, Status.REJECTED, opt_out=SuppressionReason.STOPPED),
    refusal(400, "ParameterValueInvalid", Rejected, Status.REJECTED),
    refusal(400, "ValidationException", Rejected, Status.REJECTED),
    refusal(400, "EndpointDisabled", Rejected, Status.REJECTED),
    refusal(400, "UserError", Rejected, Status.REJECTED),
    refusal(404, "NotFound", Rejected, Status.REJECTED),
    refusal(403, "AuthorizationError", Misconfigured),
    refusal(403, "AccessDenied", Misconfigured),
    refusal(403, "InvalidSecurity", Misconfigured),
    refusal(403, "KMSOptInRequired", Misconfigured),
    refusal(403, "InvalidClientTokenId", Misconfigured),
    refusal(403, "SignatureDoesNotMatch", Misconfigured),
    refusal(403, "ExpiredToken", Misconfigured),
    refusal(403, "MissingAuthenticationToken", Misconfigured),
    refusal(403, "OptInRequired", Misconfigured),
    refusal(400, "RequestExpired", Misconfigured),
    refusal(400, "IncompleteSignature", Misconfigured),
    refusal(400, "Throttling", NotSent),
    refusal(429, "Throttled", NotSent),
    refusal(500, "InternalError", Ambiguous),
    refusal(500, "InternalFailure", Ambiguous),
    refusal(503, "ServiceUnavailable", Ambiguous),
)


def make(client: httpx.AsyncClient, url: str, budget: timedelta, clock: Clock) -> Provider:
    return Sns(Service(client, url, REGION, "sns", CREDENTIALS), OWNED[1], budget=budget, clock=clock)


def content(received: Received) -> tuple[str, str]:
    return "", parse_qs(received.body.decode())["Message"][0]


SUBJECTS = (
    Subject(
        name="sns",
        message=SMS,
        carries_key=False,
        make=make,
        fake=FakeSns,
        taken=answer(200, bytes(result("Publish", f"<MessageId>{ID}</MessageId>").body)),
        provider_id=ID,
        acceptance=Status.ACCEPTED,
        content=content,
        refusals=REFUSALS,
        unheard=lambda http: answer(http, error("UnheardOf", "?")),
    ),
)
