"""Amazon SES, with answers and events as it documents them."""

import json
from collections.abc import Mapping
from datetime import timedelta
from functools import partial

import httpx
from botocore.credentials import Credentials

from activities.providers import labels
from activities.providers.aws import Service
from activities.providers.base import Callback
from activities.providers.configured import Sender
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, Rejected
from activities.providers.ses import Ses
from activities.providers.signatures import Clock
from activities.providers.sns_messages import OLDEST
from tests.providers.fakes.ses import KEY_ID, REGION, FakeSes
from tests.providers.scripted import Received, answer
from tests.providers.sns_signing import FIRST, TOPIC, known, notification, subscription
from tests.providers.subject import EMAIL, SECRET, Heard, Json, Refusal, Said, Subject, json_of
from workflows.policy.words import Status, SuppressionReason

SENDER = Sender("Example <notices@example.com>", "Example", "notices@example.com")
ID = "0107018d5c3f2a1b-6f0e4c1d-9a53-4c1e-8d0d-3b1f0c5d7e21-000000"
SUPPRESSED = (
    "Amazon SES has suppressed sending to this address because it has a recent history of bouncing as an "
    "invalid address. For more information about how to remove an address from the suppression list, see "
    "the Amazon SES Developer Guide."
)
COMPLAINT = SuppressionReason.COMPLAINT

BOUNCES = (
    ("Permanent", "NoEmail", "5.1.1", "smtp; 550 5.1.1 user unknown", Status.INVALID_RECIPIENT),
    ("Permanent", "NoEmail", None, "", Status.INVALID_RECIPIENT),
    (
        "Permanent",
        "NoEmail",
        "5.1.1",
        "smtp; 552 5.1.1 Boite pleine. Recipient overquota",
        Status.TEMPORARY_FAILURE,
    ),
    ("Permanent", "General", "5.0.0", "smtp; 550 5.1.1 no such user here", Status.INVALID_RECIPIENT),
    ("Permanent", "General", "5.7.1", "smtp; 550 5.7.1 looks like spam", Status.REJECTED),
    ("Permanent", "General", "5.2.2", "smtp; 552 5.2.2 mailbox full", Status.TEMPORARY_FAILURE),
    ("Permanent", "General", None, "", Status.REJECTED),
    ("Permanent", "Suppressed", "5.1.1", SUPPRESSED, Status.REJECTED),
    (
        "Permanent",
        "OnAccountSuppressionList",
        "5.1.1",
        "Amazon SES did not send the message.",
        Status.REJECTED,
    ),
    ("Permanent", "OnTomorrowsSuppressionList", "5.1.1", "550 5.1.1 user unknown", Status.REJECTED),
    ("Permanent", "Tomorrow", "5.1.1", "Amazon SES knows this user to be unknown", Status.REJECTED),
    ("Transient", "General", "4.4.7", "smtp; 554 4.4.7 Message expired", Status.TEMPORARY_FAILURE),
    ("Transient", "MailboxFull", "5.2.2", "smtp; 552 5.2.2 mailbox full", Status.TEMPORARY_FAILURE),
    ("Transient", "Tomorrow", "5.1.1", "smtp; 550 5.1.1 user unknown", Status.TEMPORARY_FAILURE),
    ("Transient", "MessageTooLarge", "5.3.4", "smtp; 552 5.3.4 too large", Status.REJECTED),
    ("Transient", "ContentRejected", "5.7.1", "smtp; 550 5.7.1 content", Status.REJECTED),
    ("Transient", "AttachmentRejected", "5.7.1", "smtp; 552 5.7.1 attachment", Status.REJECTED),
    ("Undetermined", "Undetermined", None, "", Status.UNRECOGNIZED),
    ("Undetermined", "Undetermined", "5.7.1", "smtp; 550 5.7.1 blocked by policy", Status.REJECTED),
)
"""Type, sub-type, status, diagnosis, and what they mean; every bounce is final."""

COMPLAINTS = (
    (None, "abuse", Status.DELIVERED, COMPLAINT),
    (None, None, Status.DELIVERED, COMPLAINT),
    (None, "not-spam", Status.DELIVERED, None),
    (None, "auth-failure", Status.DELIVERED, None),
    ("OnAccountSuppressionList", None, Status.REJECTED, COMPLAINT),
)
"""Sub-type, type of feedback, and what they mean."""

WORDS = (
    ("Send", "SEND", "send", Status.PENDING, False),
    ("DeliveryDelay", "DELIVERY_DELAY", "deliveryDelay", Status.TEMPORARY_FAILURE, False),
    ("Delivery", "DELIVERY", "delivery", Status.DELIVERED, True),
    ("Open", "OPEN", "open", Status.DELIVERED, True),
    ("Click", "CLICK", "click", Status.DELIVERED, True),
    ("Reject", "REJECT", "reject", Status.REJECTED, True),
    ("Rendering Failure", "RENDERING_FAILURE", "failure", Status.REJECTED, True),
)
"""As SNS and as insights spell it, and the name of the details."""


def inside(kind: str, **details: Json) -> Json:
    """Write an event of insights."""
    return {"Type": kind, "Details": details}


SAID = (
    *(Said(inside(kind), status, is_final) for _, kind, _, status, is_final in WORDS),
    *(
        Said(
            inside(
                "BOUNCE",
                Bounce={"BounceType": kind.upper(), "BounceSubType": sub_kind, "DiagnosticCode": said},
            ),
            status,
            is_final=True,
        )
        for kind, sub_kind, _, said, status in BOUNCES
    ),
    *(
        Said(
            inside("COMPLAINT", Complaint={"ComplaintSubType": sub_kind, "ComplaintFeedbackType": feedback}),
            status,
            True,
            opt_out,
        )
        for sub_kind, feedback, status, opt_out in COMPLAINTS
    ),
    Said(inside("SUBSCRIPTION"), Status.PENDING, is_final=False),
)


def refusal(
    http: int, name: str, error: type[Exception], said: str = "As documented.", status: Status | None = None
) -> Refusal:
    return Refusal(http, {"__type": name, "message": said}, error, status)


UNVERIFIED = (
    "Email address is not verified. The following identities failed the check in region EU-CENTRAL-1: "
    "anna.secret@example.test, Example <notices@example.com>"
)
REFUSALS = (
    refusal(400, "MessageRejected", Misconfigured, UNVERIFIED),
    refusal(400, "MessageRejected", Misconfigured, "Sending paused for this account."),
    refusal(400, "MessageRejected", Misconfigured, "Sending suspended for this account."),
    refusal(400, "MessageRejected", Rejected, "Illegal content.", Status.REJECTED),
    refusal(400, "BadRequestException", Rejected, "Missing final '@domain'", Status.REJECTED),
    refusal(400, "MailFromDomainNotVerifiedException", Misconfigured),
    refusal(400, "AccountSuspendedException", Misconfigured),
    refusal(400, "SendingPausedException", Misconfigured),
    refusal(404, "NotFoundException", Misconfigured, "Configuration set <notices> does not exist."),
    refusal(400, "LimitExceededException", NotSent),
    refusal(429, "TooManyRequestsException", NotSent, "Too many requests."),
    refusal(400, "ThrottlingException", NotSent, "Maximum sending rate exceeded."),
    refusal(400, "Throttling", NotSent, "Rate exceeded"),
    refusal(400, "ThrottlingException", Misconfigured, "Daily message quota exceeded."),
    refusal(429, "TooManyRequestsException", Misconfigured, "Daily message quota exceeded."),
    refusal(400, "LimitExceededException", Misconfigured, "Daily message quota exceeded."),
    refusal(403, "AccessDeniedException", Misconfigured),
    refusal(403, "ExpiredTokenException", Misconfigured),
    refusal(403, "InvalidSignatureException", Misconfigured),
    refusal(400, "IncompleteSignature", Misconfigured),
    refusal(400, "com.amazon.coral.service#UnrecognizedClientException", Misconfigured),
    refusal(500, "InternalFailure", Ambiguous),
    refusal(503, "ServiceUnavailable", Ambiguous),
)


def published(kind: str, details: str = "", said: Json | None = None) -> Callback:
    """Publish an event of a configuration set."""
    return notification({"eventType": kind, "mail": mail(tagged=True), **_details(details, said)})


def fed_back(kind: str, details: str, said: Json | None = None) -> Callback:
    """Publish feedback of an identity, which knows no tags."""
    return notification({"notificationType": kind, "mail": mail(tagged=False), **_details(details, said)})


def mail(*, tagged: bool) -> dict[str, object]:
    tags = {"ses:configuration-set": ["notices"], "standby": [labels.label(EMAIL.key, 256)]}
    return {
        "timestamp": "2026-12-01T09:59:50.000Z",
        "messageId": ID,
        "source": "notices@example.com",
        "destination": [EMAIL.to],
        "headersTruncated": False,
    } | ({"tags": tags} if tagged else {})


def _details(name: str, said: Json | None) -> dict[str, object]:
    return {name: {"timestamp": "2026-12-01T09:59:58.000Z", **(said or {})}} if name else {}


def bounced(kind: str, sub_kind: str, code: str | None, said: str) -> Mapping[str, object]:
    recipient = {"emailAddress": EMAIL.to, "action": "failed", "status": code, "diagnosticCode": said}
    known = {name: value for name, value in recipient.items() if value}
    return {"bounceType": kind, "bounceSubType": sub_kind, "bouncedRecipients": [known]}


HEARD = (
    *(
        Heard(kind, published(kind, details), status, is_final=is_final)
        for kind, _, details, status, is_final in WORDS
    ),
    *(
        Heard(
            f"{kind} {sub_kind} {code} {said[:30]}",
            published("Bounce", "bounce", bounced(kind, sub_kind, code, said)),
            status,
            is_final=True,
        )
        for kind, sub_kind, code, said, status in BOUNCES
    ),
    *(
        Heard(
            f"a complaint: {sub_kind} {feedback}",
            published(
                "Complaint",
                "complaint",
                {"complaintSubType": sub_kind, "complaintFeedbackType": feedback},
            ),
            status,
            True,
            opt_out,
        )
        for sub_kind, feedback, status, opt_out in COMPLAINTS
    ),
    Heard(
        "feedback: a bounce",
        fed_back(
            "Bounce", "bounce", bounced("Permanent", "NoEmail", "5.1.1", "smtp; 550 5.1.1 unknown user")
        ),
        Status.INVALID_RECIPIENT,
        is_final=True,
        names_attempt=False,
    ),
    Heard(
        "feedback: a delivery",
        fed_back("Delivery", "delivery", {"recipients": [EMAIL.to]}),
        Status.DELIVERED,
        is_final=True,
        names_attempt=False,
    ),
    Heard(
        "feedback: a complaint",
        fed_back("Complaint", "complaint", {"complaintFeedbackType": "abuse"}),
        Status.DELIVERED,
        is_final=True,
        opt_out=COMPLAINT,
        names_attempt=False,
    ),
    Heard("a bounce of a type of tomorrow", published("Bounce", "bounce", {}), Status.UNRECOGNIZED),
    Heard("a word of tomorrow", published("Teleported"), Status.UNRECOGNIZED),
    Heard("a preference", published("Subscription", "subscription"), None),
    Heard(
        "feedback: switched on", notification({"notificationType": "AmazonSnsSubscriptionSucceeded"}), None
    ),
    Heard("the first text", notification(FIRST), None),
    Heard(
        "SHA1", notification({"eventType": "Send", "mail": mail(tagged=True)}, version="1"), Status.PENDING
    ),
    Heard("an end of a subscription", subscription("UnsubscribeConfirmation"), None),
)


def make(
    client: httpx.AsyncClient, url: str, budget: timedelta, clock: Clock, *, insights: bool = False
) -> Ses:
    service = Service(client, url, REGION, "ses", Credentials(KEY_ID, SECRET))
    return Ses(
        service,
        SENDER,
        known(client),
        configuration_set="notices",
        insights=insights,
        topic_arns=(TOPIC,),
        budget=budget,
        clock=clock,
    )


def content(received: Received) -> tuple[str, str]:
    fields = json.loads(received.body)
    assert json_of(received) == fields
    return fields["EmailTags"][0]["Value"], fields["Content"]["Simple"]["Body"]["Text"]["Data"]


def state(says: Json) -> bytes:
    event = {"Timestamp": 1764579600.0, **says}
    insights = [{"Destination": EMAIL.to, "Isp": "Example", "Events": [event]}]
    return answer(200, {"MessageId": ID, "Subject": "?", "Insights": insights})


def subject(name: str, *, insights: bool) -> Subject:
    return Subject(
        name=name,
        message=EMAIL,
        make=partial(make, insights=insights),
        fake=FakeSes,
        taken=answer(200, {"MessageId": ID}),
        acceptance=Status.PENDING if insights else Status.ACCEPTED,
        provider_id=ID,
        content=content,
        state=state,
        said=SAID if insights else (),
        unknown_word={"Type": "levitating 🛸 anna@example.test"} if insights else None,
        unknown_message=answer(404, {"__type": "NotFoundException", "message": "Not found."}),
        refusals=() if insights else REFUSALS,
        unheard=lambda http: answer(http, {"__type": "UnheardOfException", "message": "?"}),
        heard=HEARD[:1] if insights else HEARD,
        # The signature stands in the body; the header must name the same message.
        signature_header="x-amz-sns-message-id",
        # SNS repeats an envelope for an hour, with its first timestamp.
        oldest=OLDEST,
    )


SUBJECTS = (
    subject("ses", insights=False),
    subject("ses with insights", insights=True),
)
