"""Courier on either channel, with answers and callbacks as it documents them."""

import hashlib
import hmac
import json
from datetime import timedelta

import httpx

from activities.providers import labels
from activities.providers.base import Callback, Message
from activities.providers.courier import OLDEST, Courier
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, Rejected
from activities.providers.provider import Provider
from activities.providers.signatures import Clock
from activities.variables import Credential
from tests.providers.fakes.courier import TOKEN, FakeCourier
from tests.providers.scripted import Received, answer
from tests.providers.subject import EMAIL, NOW, SECRET, SMS, Heard, Json, Refusal, Said, Subject, json_of
from workflows.policy.words import Status, SuppressionReason

SENDER = "Example <notices@example.com>"
ID = "1-612fa552-15f7d6ba51bf229857c037a7"

PLAIN = [
    Said({"status": word}, status, is_final)
    for word, status, is_final in (
        ("ENQUEUED", Status.PENDING, False),
        ("PROCESSED", Status.PENDING, False),
        ("ROUTED", Status.PENDING, False),
        ("DELAYED", Status.PENDING, False),
        ("DIGESTED", Status.PENDING, False),
        ("THROTTLED", Status.PENDING, False),
        ("SENT", Status.ACCEPTED, False),
        ("DELIVERED", Status.DELIVERED, True),
        ("OPENED", Status.DELIVERED, True),
        ("CLICKED", Status.DELIVERED, True),
        ("UNDELIVERABLE", Status.REJECTED, True),
        ("UNROUTABLE", Status.REJECTED, True),
        ("UNMAPPED", Status.REJECTED, True),
        ("FILTERED", Status.REJECTED, True),
        ("CANCELED", Status.REJECTED, True),
        ("SIMULATED", Status.PENDING, True),
        ("FAILED", Status.UNRECOGNIZED, True),
    )
]
REASONED = [
    Said({"status": word, "reason": reason}, Status.REJECTED, True, opt_out)
    for word in ("UNDELIVERABLE", "UNROUTABLE")
    for reason, opt_out in (
        ("BOUNCED", None),
        ("FAILED", None),
        ("FILTERED", None),
        ("NO_CHANNELS", None),
        ("NO_PROVIDERS", None),
        ("OPT_IN_REQUIRED", None),
        ("PROVIDER_ERROR", None),
        ("UNPUBLISHED", None),
        ("UNSUBSCRIBED", SuppressionReason.UNSUBSCRIBED),
    )
]


def undone(reason: str, *errors: object, error: str | None = None) -> Json:
    providers = [{"provider": "behind", "status": "UNDELIVERABLE", "error": each} for each in errors]
    return {"status": "UNDELIVERABLE", "reason": reason, "error": error, "providers": providers}


def told(fields: Json, status: Status, opt_out: SuppressionReason | None = None) -> Said:
    return Said(fields, status, is_final=True, opt_out=opt_out)


TOLD = [
    told(undone("BOUNCED", "550 5.1.1 user unknown"), Status.INVALID_RECIPIENT),
    told(undone("BOUNCED", error="550 5.1.1 user unknown"), Status.INVALID_RECIPIENT),
    told(undone("BOUNCED", {"type": "hard_bounce", "message": "no such user"}), Status.INVALID_RECIPIENT),
    told(undone("BOUNCED", {"type": "hard_bounce"}), Status.REJECTED),
    told(undone("BOUNCED", "552 5.2.2 mailbox full"), Status.TEMPORARY_FAILURE),
    told(undone("BOUNCED", "421 4.7.0 try again later"), Status.TEMPORARY_FAILURE),
    told(undone("BOUNCED", "550 5.7.1 spam"), Status.REJECTED),
    told(undone("BOUNCED", "250 2.0.0 queued"), Status.REJECTED),
    told(undone("PROVIDER_ERROR", "550 5.1.1 user unknown"), Status.INVALID_RECIPIENT),
    told(undone("PROVIDER_ERROR", "Authenticate: account not found"), Status.REJECTED),
    told(undone("FAILED", "429 too many messages"), Status.TEMPORARY_FAILURE),
    told(
        undone("PROVIDER_ERROR", "Attempt to send to unsubscribed recipient"),
        Status.REJECTED,
        SuppressionReason.STOPPED,
    ),
    told(undone("BOUNCED", "Twilio error 21610"), Status.REJECTED, SuppressionReason.STOPPED),
    told(undone("BOUNCED", {"type": "spam_complaint"}), Status.REJECTED, SuppressionReason.COMPLAINT),
    told(undone("BOUNCED", "rejected after a spam complaint about 192.0.2.1"), Status.REJECTED),
]


def refusal(http: int, kind: str, error: type[Exception], status: Status | None = None) -> Refusal:
    return Refusal(http, {"message": "As documented.", "type": kind}, error, status)


REFUSALS = (
    refusal(400, "invalid_request_error", Rejected, Status.REJECTED),
    refusal(404, "invalid_request_error", Misconfigured),
    refusal(413, "invalid_request_error", Rejected, Status.REJECTED),
    refusal(401, "authentication_error", Misconfigured),
    refusal(403, "authorization_error", Misconfigured),
    refusal(409, "invalid_request_error", Ambiguous),
    refusal(429, "rate_limit_error", NotSent),
    refusal(500, "api_error", Ambiguous),
    refusal(503, "api_error", Ambiguous),
)


def posted(fields: Json, at: str = str(int(NOW.timestamp() * 1000))) -> Callback:
    """Sign a body as Courier does."""
    body = json.dumps(fields, separators=(",", ":")).encode()
    digest = hmac.new(SECRET.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return Callback(body, {"courier-signature": f"t={at},signature={digest}"})


def updated(message: Message, **data: object) -> Callback:
    beside = {"id": ID, "recipient": message.to, "trace_id": labels.header(message.key)}
    return posted({"type": "message:updated", "data": {**beside, **data}})


def heard(message: Message) -> tuple[Heard, ...]:
    published = {
        "enqueued": 1630512466717,
        "id": ID,
        "providers": [],
        "recipient": "b19fb0e0-8cd6-4337-b41c-92c780c80d1a",
        "status": "ENQUEUED",
    }
    return (
        Heard(
            "as published, without a trace",
            posted({"data": published, "type": "message:updated"}),
            Status.PENDING,
            names_attempt=False,
        ),
        Heard("sent", updated(message, status="SENT", sent=1796119198000), Status.ACCEPTED),
        Heard(
            "delivered",
            updated(message, status="DELIVERED", delivered=1796119199000),
            Status.DELIVERED,
            is_final=True,
        ),
        Heard("opened", updated(message, status="OPENED"), Status.DELIVERED, is_final=True),
        Heard(
            "bounced",
            updated(message, **undone("BOUNCED", "550 5.1.1 user unknown")),
            Status.INVALID_RECIPIENT,
            is_final=True,
        ),
        Heard(
            "opted out",
            updated(message, **undone("UNSUBSCRIBED", "Notification opted out by user")),
            Status.REJECTED,
            is_final=True,
            opt_out=SuppressionReason.UNSUBSCRIBED,
        ),
        Heard(
            "stopped",
            updated(message, **undone("PROVIDER_ERROR", "21610")),
            Status.REJECTED,
            is_final=True,
            opt_out=SuppressionReason.STOPPED,
        ),
        Heard("a word of tomorrow", updated(message, status="TELEPORTED"), Status.UNRECOGNIZED),
        Heard("news of an audience", posted({"type": "audiences:updated", "data": {"id": "a"}}), None),
    )


def make(client: httpx.AsyncClient, url: str, budget: timedelta, clock: Clock) -> Provider:
    return Courier(client, url, Credential(TOKEN), SENDER, Credential(SECRET), budget=budget, clock=clock)


def content(received: Received) -> tuple[str, str]:
    message = json_of(received)["message"]
    assert isinstance(message, dict)
    return message["metadata"]["trace_id"], message["content"]["body"]


def subject(message: Message) -> Subject:
    return Subject(
        name=f"courier {message.channel}",
        message=message,
        make=make,
        fake=FakeCourier,
        taken=answer(202, {"requestId": ID}),
        provider_id=ID,
        content=content,
        said=(*PLAIN, *REASONED, *TOLD),
        unknown_word={"status": "levitating 🛸 anna@example.test"},
        unknown_message=answer(404, {"message": "Not Found", "type": "invalid_request_error"}),
        refusals=REFUSALS,
        unheard=lambda http: answer(http, {"message": "?", "type": "unheard_of"}),
        heard=heard(message),
        signature_header="courier-signature",
        oldest=OLDEST,
    )


SUBJECTS = (subject(EMAIL), subject(SMS))
