"""Resend, with answers and callbacks as it documents them."""

import base64
import hashlib
import hmac
import json
from datetime import timedelta

import httpx

from activities.providers import labels
from activities.providers.base import Callback
from activities.providers.configured import Sender
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, Rejected
from activities.providers.provider import Provider
from activities.providers.resend import Resend
from activities.providers.signatures import Clock
from activities.variables import Credential
from tests.providers.fakes.resend import TOKEN, FakeResend
from tests.providers.scripted import Received, answer
from tests.providers.subject import EMAIL, NOW, SECRET, Heard, Json, Refusal, Said, Subject, json_of
from workflows.policy.words import Status, SuppressionReason

SENDER = Sender("Example <notices@example.com>", "Example", "notices@example.com")
ID = "4ef9a417-02e9-4d39-ad75-9611e0fcc33c"

COMPLAINT = Said({"last_event": "complained"}, Status.DELIVERED, True, SuppressionReason.COMPLAINT)
SAID = [
    Said({"last_event": word}, status, is_final)
    for word, status, is_final in (
        ("queued", Status.PENDING, False),
        ("scheduled", Status.PENDING, False),
        ("sent", Status.ACCEPTED, False),
        ("delivery_delayed", Status.TEMPORARY_FAILURE, False),
        ("delivered", Status.DELIVERED, True),
        ("opened", Status.DELIVERED, True),
        ("clicked", Status.DELIVERED, True),
        ("bounced", Status.REJECTED, True),
        ("suppressed", Status.REJECTED, True),
        ("failed", Status.REJECTED, True),
        ("canceled", Status.REJECTED, True),
    )
]


def refusal(http: int, name: str, error: type[Exception], status: Status | None = None) -> Refusal:
    return Refusal(http, {"statusCode": http, "name": name, "message": "As documented."}, error, status)


REFUSALS = (
    refusal(401, "missing_api_key", Misconfigured),
    refusal(401, "restricted_api_key", Misconfigured),
    refusal(403, "invalid_api_key", Misconfigured),
    refusal(422, "invalid_access", Misconfigured),
    refusal(422, "invalid_from_address", Misconfigured),
    refusal(403, "validation_error", Misconfigured),
    refusal(400, "validation_error", Rejected, Status.REJECTED),
    refusal(422, "validation_error", Rejected, Status.REJECTED),
    refusal(422, "missing_required_field", Rejected, Status.REJECTED),
    refusal(400, "invalid_idempotency_key", Rejected, Status.REJECTED),
    refusal(409, "invalid_idempotent_request", Ambiguous),
    refusal(409, "concurrent_idempotent_requests", Ambiguous),
    refusal(429, "rate_limit_exceeded", NotSent),
    refusal(429, "daily_quota_exceeded", Misconfigured),
    refusal(429, "monthly_quota_exceeded", Misconfigured),
    refusal(500, "application_error", Ambiguous),
    refusal(500, "internal_server_error", Ambiguous),
)


def signed(kind: str, **beside: Json) -> Callback:
    data = {"email_id": ID, "to": [EMAIL.to], "tags": {"standby": labels.label(EMAIL.key)}, **beside}
    body = json.dumps({"type": kind, "created_at": "2026-12-01T09:59:58.000Z", "data": data}).encode()
    timestamp = str(int(NOW.timestamp()))
    secret = SECRET.encode()
    digest = hmac.new(secret, f"msg_1.{timestamp}.".encode() + body, hashlib.sha256).digest()
    signature = f"v1,bm90IHRoaXM= v1,{base64.b64encode(digest).decode()}"
    return Callback(body, {"svix-id": "msg_1", "svix-timestamp": timestamp, "svix-signature": signature})


def bounced(kind: str, sub_type: str, message: str) -> Callback:
    return signed("email.bounced", bounce={"type": kind, "subType": sub_type, "message": message})


HEARD = (
    Heard("sent", signed("email.sent"), Status.ACCEPTED),
    Heard("delivered", signed("email.delivered"), Status.DELIVERED, is_final=True),
    Heard("delayed", signed("email.delivery_delayed"), Status.TEMPORARY_FAILURE),
    Heard(
        "no such mailbox",
        bounced("Permanent", "NoEmail", "550 5.1.1 user unknown"),
        Status.INVALID_RECIPIENT,
        is_final=True,
    ),
    Heard("spam", bounced("Permanent", "General", "550 5.7.1 spam"), Status.REJECTED, is_final=True),
    Heard("a bounce without a word", bounced("Permanent", "General", ""), Status.REJECTED, is_final=True),
    Heard("full", bounced("Transient", "MailboxFull", "full"), Status.TEMPORARY_FAILURE, is_final=True),
    Heard("undetermined", bounced("Undetermined", "Undetermined", ""), Status.UNRECOGNIZED, is_final=True),
    Heard(
        "a complaint",
        signed("email.complained"),
        Status.DELIVERED,
        is_final=True,
        opt_out=SuppressionReason.COMPLAINT,
    ),
    Heard("a word of tomorrow", signed("email.teleported"), Status.UNRECOGNIZED),
    Heard("news of a domain", signed("domain.updated"), None),
)


def make(client: httpx.AsyncClient, url: str, budget: timedelta, clock: Clock) -> Provider:
    secret = "whsec_" + base64.b64encode(SECRET.encode()).decode()
    return Resend(client, url, Credential(TOKEN), SENDER, Credential(secret), budget=budget, clock=clock)


def content(received: Received) -> tuple[str, str]:
    fields = json_of(received)
    tags = fields["tags"]
    assert isinstance(tags, list)
    return tags[0]["value"], str(fields["text"])


SUBJECTS = (
    Subject(
        name="resend",
        message=EMAIL,
        make=make,
        fake=FakeResend,
        taken=answer(200, {"id": ID}),
        provider_id=ID,
        content=content,
        said=(*SAID, COMPLAINT),
        unknown_word={"last_event": "levitating 🛸 anna@example.test"},
        unknown_message=answer(404, {"statusCode": 404, "name": "not_found", "message": "Email not found"}),
        refusals=REFUSALS,
        unheard=lambda http: answer(http, {"statusCode": http, "name": "unheard_of", "message": "?"}),
        heard=HEARD,
        signature_header="svix-signature",
    ),
)
