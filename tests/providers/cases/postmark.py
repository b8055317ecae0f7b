"""Postmark, with answers and callbacks as it documents them."""

import base64
import json
from datetime import timedelta

import httpx

from activities.providers import labels
from activities.providers.base import Callback
from activities.providers.configured import Sender
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, Rejected
from activities.providers.postmark import Postmark
from activities.providers.provider import Provider
from activities.providers.signatures import Clock
from activities.variables import Credential
from tests.providers.fakes.postmark import STREAM, TOKEN, FakePostmark
from tests.providers.scripted import Received, answer
from tests.providers.subject import EMAIL, SECRET, Heard, Json, Refusal, Said, Subject, json_of
from workflows.policy.words import Status, SuppressionReason

SENDER = Sender("Example <notices@example.com>", "Example", "notices@example.com")
ID = "b7bc2f4a-e38e-4336-af7d-e6c392c2f817"
TAKEN: Json = {
    "To": EMAIL.to,
    "SubmittedAt": "2026-12-01T10:00:00.1234567-05:00",
    "MessageID": ID,
    "ErrorCode": 0,
    "Message": "OK",
}
NO_MAILBOX = "smtp;550 5.1.1 The email account that you tried to reach does not exist."
DESCRIPTION = "The server was unable to deliver your message (ex: unknown user, mailbox not found)."

KINDS: tuple[tuple[str, str, Status, bool, SuppressionReason | None], ...] = (
    ("HardBounce", NO_MAILBOX, Status.INVALID_RECIPIENT, True, None),
    ("HardBounce", "Test bounce details", Status.INVALID_RECIPIENT, True, None),
    ("HardBounce", "smtp;550 5.7.1 Message rejected as spam", Status.REJECTED, True, None),
    ("HardBounce", "smtp;552 5.2.2 Mailbox full", Status.TEMPORARY_FAILURE, True, None),
    ("HardBounce", "smtp;421 4.7.0 Try again later", Status.TEMPORARY_FAILURE, True, None),
    ("HardBounce", "smtp;250 2.0.0 queued, and bounced later", Status.REJECTED, True, None),
    ("BadEmailAddress", "", Status.INVALID_RECIPIENT, True, None),
    ("Transient", "", Status.TEMPORARY_FAILURE, True, None),
    ("SoftBounce", NO_MAILBOX, Status.TEMPORARY_FAILURE, True, None),
    ("DnsError", "", Status.TEMPORARY_FAILURE, True, None),
    ("Undeliverable", "", Status.TEMPORARY_FAILURE, True, None),
    ("SpamNotification", NO_MAILBOX, Status.REJECTED, True, None),
    ("Blocked", "", Status.REJECTED, True, None),
    ("DMARCPolicy", "", Status.REJECTED, True, None),
    ("VirusNotification", "", Status.REJECTED, True, None),
    ("ManuallyDeactivated", "", Status.REJECTED, True, None),
    ("Unconfirmed", "", Status.REJECTED, True, None),
    ("SMTPApiError", "", Status.REJECTED, True, None),
    ("TemplateRenderingFailed", "", Status.REJECTED, True, None),
    ("Unsubscribe", "", Status.REJECTED, True, SuppressionReason.UNSUBSCRIBED),
    ("SpamComplaint", "", Status.DELIVERED, True, SuppressionReason.COMPLAINT),
    ("Unknown", "", Status.UNRECOGNIZED, True, None),
    ("InboundError", "", Status.UNRECOGNIZED, True, None),
    ("Levitated", NO_MAILBOX, Status.UNRECOGNIZED, False, None),
)
ANSWERS = ("AutoResponder", "Subscribe", "OpenRelayTest", "ChallengeVerification", "AddressChange")


def event(kind: str, second: int = 0, **details: object) -> dict[str, object]:
    at = f"2026-12-01T05:00:{second:02}.8054242-05:00"
    return {"Recipient": EMAIL.to, "Type": kind, "ReceivedAt": at, "Details": details}


def told(*events: dict[str, object], status: str = "Sent", **bounce: object) -> Json:
    """Return what tells of a message: a script answers with it to both questions about a bounce."""
    return {"MessageID": ID, "Status": status, "MessageEvents": list(events), **bounce}


BOUNCED = event("Bounced", Summary=NO_MAILBOX, BounceID="4323372036854775807")
LATE_BOUNCE = told(
    event("Delivered", 20), event("Opened", 30), BOUNCED, Type="HardBounce", Details=NO_MAILBOX
)
UNSUBSCRIBED = event("SubscriptionChanged", 9, Origin="Recipient", SuppressSending="True")
SAID = (
    Said(told(status="Queued"), Status.PENDING, False),
    Said(told(status="Scheduled"), Status.PENDING, False),
    Said(told(status="Sent"), Status.ACCEPTED, False),
    Said(told(status="Processed"), Status.ACCEPTED, False),
    Said(told(status="Blocked"), Status.REJECTED, True),
    Said(told(status="Failed"), Status.REJECTED, True),
    Said(told(event("Delivered")), Status.DELIVERED, True),
    Said(told(event("Opened")), Status.DELIVERED, True),
    Said(told(event("LinkClicked")), Status.DELIVERED, True),
    Said(told(event("Transient")), Status.TEMPORARY_FAILURE, False),
    Said(told(event("Delivered"), event("Transient", 9)), Status.DELIVERED, True),
    Said(told(event("Delivered"), UNSUBSCRIBED), Status.DELIVERED, True),
    Said(told(UNSUBSCRIBED), Status.ACCEPTED, False),
    Said(LATE_BOUNCE, Status.INVALID_RECIPIENT, True),
    Said(told(event("Bounced", Summary=NO_MAILBOX)), Status.INVALID_RECIPIENT, True),
    Said(told(event("Bounced", Summary="smtp;550 rejected")), Status.REJECTED, True),
    Said(told(event("Bounced")), Status.REJECTED, True),
    *(
        Said(told(BOUNCED, Type=kind, Details=details), status, is_final, opt_out)
        for kind, details, status, is_final, opt_out in KINDS
    ),
    *(Said(told(event("Delivered"), BOUNCED, Type=kind), Status.DELIVERED, True) for kind in ANSWERS),
)


def refusal(
    code: int,
    error: type[Exception],
    status: Status | None = None,
    said: str = "As documented.",
    http: int = 422,
) -> Refusal:
    return Refusal(http, {"ErrorCode": code, "Message": said}, error, status)


REFUSALS = (
    refusal(10, Misconfigured, http=401),
    refusal(10, Misconfigured),
    refusal(100, NotSent, http=503),
    refusal(300, Rejected, Status.INVALID_RECIPIENT, "Invalid 'To' address: 'anna.secret@example.test'."),
    refusal(300, Rejected, Status.INVALID_RECIPIENT, "Error parsing 'To': Illegal email domain."),
    refusal(300, Rejected, Status.REJECTED, "50 recipients at most in 'To'."),
    refusal(
        300, Misconfigured, said="Invalid 'From' address: 'notices@example.com' is not a verified sender."
    ),
    refusal(300, Rejected, Status.REJECTED, "Provide either email TextBody or HtmlBody or both."),
    refusal(400, Misconfigured),
    refusal(401, Misconfigured),
    refusal(402, Rejected, Status.REJECTED),
    refusal(403, Rejected, Status.REJECTED),
    refusal(405, Misconfigured),
    refusal(
        406, Rejected, Status.REJECTED, "You tried to send to a recipient that has been marked as inactive."
    ),
    refusal(409, Rejected, Status.REJECTED),
    refusal(411, Rejected, Status.REJECTED),
    refusal(412, Misconfigured),
    refusal(413, Misconfigured),
    refusal(429, NotSent, http=429),
    refusal(500, Ambiguous, http=500),
    refusal(1235, Misconfigured),
    refusal(1236, Misconfigured),
    refusal(406, Rejected, Status.REJECTED, http=200),
    refusal(9999, Ambiguous, http=200),
    refusal(0, Ambiguous, http=200),
    refusal(0, Rejected, Status.REJECTED, http=413),
    refusal(0, Rejected, Status.REJECTED, http=415),
    Refusal(200, {**TAKEN, "ErrorCode": 406}, Ambiguous),
)

LABEL = labels.label(EMAIL.key, 80)


def basic(password: str) -> str:
    # So many letters before it that no padding follows: an altered byte there would change nothing.
    return f"Basic {base64.b64encode(f'abc:{password}'.encode()).decode()}"


def called(record: str, **fields: object) -> Callback:
    beside = {"RecordType": record, "MessageID": ID, "MessageStream": STREAM, "Metadata": {"standby": LABEL}}
    body = json.dumps({**beside, "ServerID": 23, "Tag": None, **fields}).encode()
    return Callback(body, {"authorization": basic(SECRET)})


def bounced(kind: str, details: str, record: str = "Bounce") -> Callback:
    said = {"Description": DESCRIPTION, "Details": details, "BouncedAt": "2026-12-01T09:59:54.9070259Z"}
    return called(
        record, ID=4323372036854775807, Type=kind, TypeCode=512, Email=EMAIL.to, Inactive=True, **said
    )


def changed(*, suppressed: bool, reason: str | None, origin: str, **fields: object) -> Callback:
    told = {"SuppressSending": suppressed, "SuppressionReason": reason, "Origin": origin}
    at = "2026-12-01T09:53:34.416071Z"
    return called("SubscriptionChange", Recipient=EMAIL.to, ChangedAt=at, **told, **fields)


HEARD = (
    Heard(
        "delivered",
        called("Delivery", Recipient=EMAIL.to, DeliveredAt="2026-12-01T09:59:54.9070259Z", Details="250 ok"),
        Status.DELIVERED,
        is_final=True,
    ),
    Heard("opened", called("Open", ReceivedAt="2026-12-01T09:59:58Z"), Status.DELIVERED, is_final=True),
    Heard("clicked", called("Click", ReceivedAt="2026-12-01T09:59:59Z"), Status.DELIVERED, is_final=True),
    *(
        Heard(f"{kind}: {details}", bounced(kind, details), status, is_final, opt_out)
        for kind, details, status, is_final, opt_out in KINDS
    ),
    *(Heard(kind, bounced(kind, ""), None) for kind in ANSWERS),
    Heard(
        "a complaint",
        bounced("SpamComplaint", "", "SpamComplaint"),
        Status.DELIVERED,
        is_final=True,
        opt_out=SuppressionReason.COMPLAINT,
    ),
    Heard(
        "unsubscribed",
        changed(suppressed=True, reason="ManualSuppression", origin="Recipient"),
        Status.DELIVERED,
        is_final=True,
        opt_out=SuppressionReason.UNSUBSCRIBED,
    ),
    Heard(
        "suppressed for a complaint",
        changed(suppressed=True, reason="SpamComplaint", origin="Recipient"),
        Status.DELIVERED,
        is_final=True,
        opt_out=SuppressionReason.COMPLAINT,
    ),
    Heard("suppressed for a bounce", changed(suppressed=True, reason="HardBounce", origin="Recipient"), None),
    Heard(
        "suppressed by an administrator",
        changed(suppressed=True, reason="ManualSuppression", origin="Admin"),
        None,
    ),
    Heard(
        "suppressed by us",
        changed(suppressed=True, reason="ManualSuppression", origin="Customer", MessageID=None),
        None,
    ),
    Heard("reactivated", changed(suppressed=False, reason=None, origin="Recipient", Metadata={}), None),
    Heard("a word of tomorrow", called("Teleport"), Status.UNRECOGNIZED),
    Heard("inbound mail", called("Inbound"), None),
)


def make(client: httpx.AsyncClient, url: str, budget: timedelta, clock: Clock) -> Provider:  # noqa: ARG001  # unsigned: it has no use for a clock
    return Postmark(client, url, Credential(TOKEN), SENDER, STREAM, Credential(SECRET), budget=budget)


def content(received: Received) -> tuple[str, str]:
    fields = json_of(received)
    metadata = fields["Metadata"]
    assert isinstance(metadata, dict)
    return metadata["standby"], str(fields["TextBody"])


SUBJECTS = (
    Subject(
        name="postmark",
        message=EMAIL,
        make=make,
        fake=FakePostmark,
        taken=answer(200, TAKEN),
        provider_id=ID,
        content=content,
        said=SAID,
        unknown_word=told(status="levitating 🛸 anna@example.test"),
        unknown_message=answer(422, {"ErrorCode": 701, "Message": "This message was not found."}),
        refusals=REFUSALS,
        unheard=lambda http: answer(http, {"ErrorCode": 9999, "Message": "?"}),
        heard=HEARD,
        signature_header="authorization",
        signs_body=False,
        oldest=None,
    ),
)
