"""The sandbox, in both manners; its server is the real one (`test_sandbox.py`)."""

import hashlib
import hmac
import json
from datetime import timedelta

import httpx

from activities.providers.base import Callback
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, Rejected
from activities.providers.provider import Provider
from activities.providers.sandbox import Sandbox
from activities.providers.signatures import Clock
from activities.variables import Credential
from tests.providers.scripted import Received, answer
from tests.providers.subject import EMAIL, NOW, SECRET, Heard, Json, Refusal, Said, Subject, as_json, json_of
from workflows.policy.words import Status

KNOWN = {"id": "sb_1", "key": EMAIL.key, "at": "2026-01-02T03:04:05+00:00"}
BOUNCE = {"status": "bounced"}

SAID = (
    Said({"status": "queued"}, Status.PENDING, is_final=False),
    Said({"status": "sent"}, Status.ACCEPTED, is_final=False),
    Said({"status": "deferred", "code": "4.2.0"}, Status.TEMPORARY_FAILURE, is_final=False),
    Said({"status": "delivered"}, Status.DELIVERED, is_final=True),
    Said(BOUNCE | {"code": "5.1.1"}, Status.INVALID_RECIPIENT, is_final=True),
    Said(BOUNCE | {"code": "5.7.1"}, Status.REJECTED, is_final=True),
    Said(BOUNCE | {"code": "5.2.2"}, Status.TEMPORARY_FAILURE, is_final=True),
    Said(BOUNCE | {"code": "4.4.7"}, Status.TEMPORARY_FAILURE, is_final=True),
    Said(BOUNCE, Status.UNRECOGNIZED, is_final=True),
)
REFUSALS = (
    Refusal(401, {"error": "denied"}, Misconfigured),
    Refusal(503, {"error": "not_accepted"}, NotSent),
    Refusal(429, {"error": "busy"}, NotSent),
    Refusal(409, {"error": "key_mismatch"}, Ambiguous),
    Refusal(422, {"error": "invalid_recipient"}, Rejected, Status.INVALID_RECIPIENT),
    Refusal(422, {"error": "suppressed"}, Rejected, Status.REJECTED),
    Refusal(400, {"error": "invalid_request"}, Rejected, Status.REJECTED),
)


def signed(fields: Json) -> Callback:
    body = json.dumps({"event_id": "ev-1", "message": {**KNOWN, **fields}}).encode()
    timestamp = str(int(NOW.timestamp()))
    digest = hmac.new(SECRET.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return Callback(body, {"sandbox-timestamp": timestamp, "sandbox-signature": digest})


HEARD = (
    Heard("delivered", signed({"status": "delivered"}), Status.DELIVERED, is_final=True),
    Heard("sent", signed({"status": "sent"}), Status.ACCEPTED),
)


def content(received: Received) -> tuple[str, str]:
    fields = json_of(received)
    return str(fields["key"]), str(fields["text"])


def subject(name: str, *, honours_keys: bool) -> Subject:
    def make(client: httpx.AsyncClient, url: str, budget: timedelta, clock: Clock) -> Provider:
        return Sandbox(client, url, Credential(SECRET), honours_keys, budget=budget, clock=clock)

    return Subject(
        name=name,
        message=EMAIL,
        make=make,
        fake=None,
        taken=answer(201, KNOWN | {"status": "queued"}),
        content=content,
        state=lambda fields: as_json({"messages": [{**KNOWN, **fields}], **KNOWN, **fields}),
        said=SAID,
        unknown_word={"status": "levitating 🛸 anna@example.test"},
        refusals=REFUSALS,
        heard=HEARD,
        signature_header="sandbox-signature",
    )


SUBJECTS = (
    subject("sandbox honouring keys", honours_keys=True),
    subject("sandbox honouring none", honours_keys=False),
)
