"""SendGrid, with answers and events as it documents them."""

import base64
import json
from datetime import timedelta

import httpx
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from activities.providers import labels
from activities.providers.base import Callback
from activities.providers.configured import Sender
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, Rejected
from activities.providers.provider import Provider
from activities.providers.sendgrid import OLDEST, SendGrid
from activities.providers.signatures import Clock
from activities.variables import Credential
from tests.providers.fakes.sendgrid import TAIL, TOKEN, FakeSendGrid
from tests.providers.scripted import Received, answer
from tests.providers.subject import EMAIL, NOW, Heard, Json, Refusal, Said, Subject, json_of
from workflows.policy.words import Status, SuppressionReason

SENDER = Sender("Example <notices@example.com>", "Example", "notices@example.com")
ID = "Xj5LmNkWSOqRbdvOpR34BA"

SIGNS = ec.derive_private_key(4711, ec.SECP256R1())
PUBLIC = base64.b64encode(
    SIGNS.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
).decode()

NO_USER = "550 5.1.1 The email account that you tried to reach does not exist"
FULL = "552 5.2.2 mailbox full"
SPAM = "550 5.7.1 rejected as spam"
LATER = "450 4.2.0 try again later"

SAID = tuple(
    Said(says, status, is_final, opt_out)
    for says, status, is_final, opt_out in (
        ({"status": "processed"}, Status.PENDING, False, None),
        ({"status": "deferred", "reason": LATER}, Status.TEMPORARY_FAILURE, False, None),
        ({"status": "delivered", "reason": "250 2.0.0 OK"}, Status.DELIVERED, True, None),
        ({"status": "bounced", "reason": NO_USER}, Status.INVALID_RECIPIENT, True, None),
        ({"status": "bounced", "reason": SPAM}, Status.REJECTED, True, None),
        ({"status": "bounced", "reason": FULL}, Status.TEMPORARY_FAILURE, True, None),
        ({"status": "bounced"}, Status.REJECTED, True, None),
        ({"status": "blocked", "reason": SPAM}, Status.REJECTED, True, None),
        ({"status": "blocked", "reason": NO_USER}, Status.REJECTED, True, None),
        ({"status": "blocked", "reason": LATER}, Status.TEMPORARY_FAILURE, True, None),
        ({"status": "blocked"}, Status.REJECTED, True, None),
        ({"status": "dropped", "reason": "Bounced Address"}, Status.REJECTED, True, None),
        ({"status": "dropped", "reason": "Invalid\n"}, Status.INVALID_RECIPIENT, True, None),
        ({"status": "dropped", "reason": "Spam Content"}, Status.REJECTED, True, None),
        ({"status": "dropped", "reason": "Invalid SMTPAPI header"}, Status.REJECTED, True, None),
        ({"status": "dropped", "reason": "Recipient List over Package Quota"}, Status.REJECTED, True, None),
        ({"status": "dropped", "reason": "a reason of tomorrow"}, Status.REJECTED, True, None),
        (
            {"status": "dropped", "reason": "Spam Reporting Address"},
            Status.REJECTED,
            True,
            SuppressionReason.COMPLAINT,
        ),
        (
            {"status": "dropped", "reason": "Unsubscribed Address"},
            Status.REJECTED,
            True,
            SuppressionReason.UNSUBSCRIBED,
        ),
        ({"status": "not_delivered"}, Status.UNRECOGNIZED, True, None),
    )
)


def refusal(
    http: int,
    message: str,
    field: str | None,
    error: type[Exception],
    status: Status | None = None,
) -> Refusal:
    return Refusal(http, {"errors": [{"message": message, "field": field, "help": None}]}, error, status)


INVALID_ADDRESS = "Does not contain a valid address."
REFUSALS = (
    refusal(400, "invalid request", None, Rejected, Status.REJECTED),
    refusal(
        400,
        "The content value must be a string at least one character in length.",
        "content.0.value",
        Rejected,
        Status.REJECTED,
    ),
    refusal(400, INVALID_ADDRESS, "personalizations.0.to.0.email", Rejected, Status.INVALID_RECIPIENT),
    refusal(
        400,
        "The to array is required, and must have at least one email object with a valid email address.",
        "personalizations.0.to",
        Rejected,
        Status.INVALID_RECIPIENT,
    ),
    refusal(400, "as documented", "personalizations.0.tomorrow", Rejected, Status.REJECTED),
    refusal(400, INVALID_ADDRESS, "from.email", Misconfigured),
    refusal(401, "authorization required", None, Misconfigured),
    refusal(401, "Maximum credits exceeded", None, Misconfigured),
    refusal(403, "access forbidden", None, Misconfigured),
    refusal(403, "The from address does not match a verified Sender Identity.", "from", Misconfigured),
    refusal(403, INVALID_ADDRESS, "personalizations.0.to", Misconfigured),
    refusal(404, "not found", None, Misconfigured),
    refusal(405, "method not allowed", None, Misconfigured),
    refusal(413, "content too large", None, Rejected, Status.REJECTED),
    refusal(429, "too many requests", None, NotSent),
    refusal(500, "internal server error", "from", Ambiguous),
)


def posted(body: bytes) -> Callback:
    """Sign a body at NOW; without padding, whose last bits say nothing, every character counts."""
    timestamp = str(int(NOW.timestamp()))
    while True:
        signed = SIGNS.sign(timestamp.encode() + body, ec.ECDSA(hashes.SHA256()))
        signature = base64.b64encode(signed).decode()
        if not signature.endswith("="):
            break
    return Callback(
        body,
        {
            "x-twilio-email-event-webhook-signature": signature,
            "x-twilio-email-event-webhook-timestamp": timestamp,
        },
    )


def event(word: str, **beside: object) -> Json:
    """Write an event as SendGrid does, with our custom argument among its fields."""
    return {
        "email": EMAIL.to,
        "timestamp": int(NOW.timestamp()) - 2,
        "event": word,
        "sg_event_id": "ZGVsaXZlcmVkLTAtMA",
        "sg_message_id": f"{ID}{TAIL}",
        "smtp-id": "<14c5d75ce93.dfd.64b469@ismtpd-555>",
        "category": [labels.label(EMAIL.key)],
        "standby": labels.label(EMAIL.key),
        **beside,
    }


def signed(*events: Json) -> Callback:
    return posted(json.dumps(events).encode() + b"\r\n")


def bounce(classification: str | None, status: str, reason: str, kind: str = "bounce") -> Callback:
    beside = {"bounce_classification": classification, "status": status, "reason": reason, "type": kind}
    return signed(event("bounce", **beside))


HEARD = (
    Heard("received", signed(event("received")), Status.PENDING),
    Heard("processed", signed(event("processed")), Status.PENDING),
    Heard("deferred", signed(event("deferred", response=LATER, attempt="5")), Status.TEMPORARY_FAILURE),
    Heard("delivered", signed(event("delivered", response="250 OK")), Status.DELIVERED, is_final=True),
    Heard("opened", signed(event("open")), Status.DELIVERED, is_final=True),
    Heard("clicked", signed(event("click")), Status.DELIVERED, is_final=True),
    Heard("cancelled", signed(event("cancel_drop")), Status.REJECTED, is_final=True),
    Heard(
        "an invalid address",
        bounce("Invalid Address", "5.0.0", "500 unknown"),
        Status.INVALID_RECIPIENT,
        is_final=True,
    ),
    Heard(
        "an invalid address, but spam",
        bounce("Invalid Address", "5.7.1", SPAM),
        Status.REJECTED,
        is_final=True,
    ),
    Heard(
        "no such mailbox",
        bounce("Mailbox Unavailable", "5.1.1", NO_USER),
        Status.INVALID_RECIPIENT,
        is_final=True,
    ),
    Heard(
        "a full mailbox",
        bounce("Mailbox Unavailable", "552", FULL),
        Status.TEMPORARY_FAILURE,
        is_final=True,
    ),
    Heard("a reply code", bounce("Unclassified", "552", "no"), Status.TEMPORARY_FAILURE, is_final=True),
    Heard("nothing said", bounce(None, "", ""), Status.REJECTED, is_final=True),
    Heard("a success that bounced", bounce(None, "2.0.0", "250 OK"), Status.REJECTED, is_final=True),
    Heard("content", bounce("Content", "5.1.1", NO_USER), Status.REJECTED, is_final=True),
    Heard("reputation", bounce("Reputation", "5.1.1", NO_USER), Status.REJECTED, is_final=True),
    Heard("volume", bounce("Frequency or Volume Too High", "5.1.1", ""), Status.REJECTED, is_final=True),
    Heard("technical", bounce("Technical", "5.4.4", ""), Status.TEMPORARY_FAILURE, is_final=True),
    Heard(
        "technical, in the other word",
        bounce("Technical Failure", "5.4.4", ""),
        Status.TEMPORARY_FAILURE,
        is_final=True,
    ),
    Heard("blocked", bounce("Invalid Address", "5.1.1", NO_USER, "blocked"), Status.REJECTED, is_final=True),
    Heard(
        "blocked for now",
        bounce("Reputation", "4.0.0", "no route to host", "blocked"),
        Status.TEMPORARY_FAILURE,
        is_final=True,
    ),
    Heard(
        "dropped as invalid",
        signed(event("dropped", reason="Invalid")),
        Status.INVALID_RECIPIENT,
        is_final=True,
    ),
    Heard(
        "dropped after a bounce",
        signed(event("dropped", reason="Bounced Address")),
        Status.REJECTED,
        is_final=True,
    ),
    Heard(
        "dropped after a complaint",
        signed(event("dropped", reason="Spam Reporting Address")),
        Status.REJECTED,
        is_final=True,
        opt_out=SuppressionReason.COMPLAINT,
    ),
    Heard(
        "dropped as unsubscribed",
        signed(event("dropped", reason="Unsubscribed Address")),
        Status.REJECTED,
        is_final=True,
        opt_out=SuppressionReason.UNSUBSCRIBED,
    ),
    Heard(
        "a complaint",
        signed(event("spamreport")),
        Status.DELIVERED,
        is_final=True,
        opt_out=SuppressionReason.COMPLAINT,
    ),
    Heard(
        "unsubscribed",
        signed(event("unsubscribe")),
        Status.DELIVERED,
        is_final=True,
        opt_out=SuppressionReason.UNSUBSCRIBED,
    ),
    Heard(
        "unsubscribed from a group",
        signed(event("group_unsubscribe")),
        Status.DELIVERED,
        is_final=True,
        opt_out=SuppressionReason.UNSUBSCRIBED,
    ),
    Heard("subscribed again", signed(event("group_resubscribe")), Status.DELIVERED, is_final=True),
    Heard("a word of tomorrow", signed(event("teleported")), Status.UNRECOGNIZED),
    Heard(
        "another's message",
        signed(event("delivered", standby=None)),
        Status.DELIVERED,
        is_final=True,
        names_attempt=False,
    ),
    Heard(
        "a late bounce that SendGrid could not match",
        signed(event("bounce", type="bounce", status="5.1.10", sg_message_id="", standby=None)),
        None,
    ),
    Heard(
        "news of the account",
        signed({"event": "account_status_change", "sg_event_id": "x", "timestamp": 1796115600}),
        None,
    ),
    Heard("nothing", signed(), None),
)


def make(client: httpx.AsyncClient, url: str, budget: timedelta, clock: Clock) -> Provider:
    return SendGrid(client, url, Credential(TOKEN), SENDER, Credential(PUBLIC), budget=budget, clock=clock)


def content(received: Received) -> tuple[str, str]:
    match json_of(received):
        case {
            "categories": [str() as label],
            "content": [{"type": "text/plain", "value": str() as text}, *_],
        }:
            return label, text
        case other:
            raise AssertionError(other)


def state(says: Json) -> bytes:
    return answer(200, {"messages": [{"sg_message_id": f"{ID}{TAIL}", "to_email": EMAIL.to, **says}]})


SUBJECTS = (
    Subject(
        name="sendgrid",
        message=EMAIL,
        lists_faults=False,
        make=make,
        fake=FakeSendGrid,
        taken=answer(202, b"", X_Message_Id=ID),
        provider_id=ID,
        content=content,
        state=state,
        said=SAID,
        unknown_word={"status": "levitating 🛸 anna@example.test"},
        unknown_message=answer(200, {"messages": []}),
        refusals=REFUSALS,
        unheard=lambda http: answer(http, {"errors": [{"message": "unheard of", "field": None}]}),
        heard=HEARD,
        signature_header="x-twilio-email-event-webhook-signature",
        oldest=OLDEST,
    ),
)
