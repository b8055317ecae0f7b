"""Telnyx, with answers and callbacks as it documents them; from a number, and from a messaging profile."""

import base64
import json
from dataclasses import replace
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from activities.providers import configured
from activities.providers.base import Callback
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, Rejected
from activities.providers.provider import Provider
from activities.providers.signatures import Clock
from activities.providers.telnyx import Telnyx
from activities.variables import Credential
from tests.providers.fakes.telnyx import NUMBER, PROFILE, TOKEN, FakeTelnyx
from tests.providers.scripted import Received, answer
from tests.providers.subject import NOW, SMS, Heard, Json, Refusal, Said, Subject, json_of
from workflows.policy.words import Status, SuppressionReason

ID = "40385f64-5717-4562-b3fc-2c963f66afa6"
EVENT_ID = "4ee8c3a6-4995-4309-a3c6-38e3db9ea4be"
CALLBACK = "https://standby.example.com/callbacks/telnyx"
LABELLED = configured.labelled(CALLBACK, SMS.key)

SIGNING_KEY = Ed25519PrivateKey.from_private_bytes(b"a signing key of tests, 32 bytes")
PUBLIC_KEY = base64.b64encode(SIGNING_KEY.public_key().public_bytes_raw()).decode()

STOP = "Blocked due to STOP message"

STATUSES = (
    ("queued", Status.PENDING, False),
    ("sending", Status.PENDING, False),
    ("sent", Status.ACCEPTED, False),
    ("delivered", Status.DELIVERED, True),
    ("delivery_unconfirmed", Status.UNRECOGNIZED, True),
    ("expired", Status.TEMPORARY_FAILURE, True),
    ("sending_failed", Status.REJECTED, True),
    ("delivery_failed", Status.REJECTED, True),
)

DELIVERIES = (
    ("10001", "Inactive phone number", Status.REJECTED),
    ("40001", "Not routable", Status.INVALID_RECIPIENT),
    ("40002", "Blocked as spam - temporary", Status.TEMPORARY_FAILURE),
    ("40003", "Blocked as spam - permanent", Status.REJECTED),
    ("40004", "Rejected by destination", Status.REJECTED),
    ("40005", "Message expired during transmission", Status.TEMPORARY_FAILURE),
    ("40006", "Recipient server unavailable", Status.TEMPORARY_FAILURE),
    ("40008", "Undeliverable", Status.REJECTED),
    ("40009", "Invalid message body", Status.REJECTED),
    ("40010", "Unregistered 10DLC message", Status.REJECTED),
    ("40011", "Too many requests", Status.TEMPORARY_FAILURE),
    ("40012", "Invalid messaging destination number", Status.INVALID_RECIPIENT),
    ("40013", "Invalid messaging source number", Status.REJECTED),
    ("40014", "Message expired in queue", Status.TEMPORARY_FAILURE),
    ("40015", "Blocked as spam - internal", Status.REJECTED),
    ("40016", "T-Mobile 10DLC sending limit reached", Status.TEMPORARY_FAILURE),
    ("40017", "AT&T 10DLC spam message rejected", Status.REJECTED),
    ("40018", "AT&T 10DLC sending limit reached", Status.TEMPORARY_FAILURE),
    ("40100", "Number not messaging enabled", Status.REJECTED),
    ("40150", "Toll-free number not in voice registry", Status.REJECTED),
    ("40151", "Message enablement pending with other provider", Status.REJECTED),
    # Of a delivery by registered senders, these say something else than of a request.
    ("40300", "Number not registered for 10DLC", Status.REJECTED),
    ("40301", "Campaign suspended", Status.REJECTED),
    ("40302", "Brand suspended", Status.REJECTED),
    ("40310", "Rate limit exceeded", Status.REJECTED),
    ("40318", "Message queue full", Status.TEMPORARY_FAILURE),
    ("40320", "Content flagged by carrier", Status.REJECTED),
    ("49999", "Unheard of", Status.REJECTED),
)
"""What a failed delivery means, by code and title."""


def failed(code: str, title: str, word: str = "delivery_failed") -> dict[str, object]:
    return {"word": word, "errors": [{"code": code, "title": title, "detail": "As documented."}]}


SAID = (
    *(Said({"word": word}, status, is_final) for word, status, is_final in STATUSES),
    *(Said(failed(code, title), status, is_final=True) for code, title, status in DELIVERIES),
    Said(failed("40005", "Message expired", "expired"), Status.TEMPORARY_FAILURE, is_final=True),
    Said(failed("40001", "Not routable", "sending_failed"), Status.INVALID_RECIPIENT, is_final=True),
    Said(failed("40001", "Not routable", "delivered"), Status.DELIVERED, is_final=True),
    Said(failed("40300", STOP), Status.REJECTED, is_final=True, opt_out=SuppressionReason.STOPPED),
)


def refusal(
    http: int,
    code: str,
    error: type[Exception],
    status: Status | None = None,
    *,
    title: str = "As documented",
    opt_out: SuppressionReason | None = None,
) -> Refusal:
    detail = f"It was {SMS.to}."
    body = {"errors": [{"code": code, "title": title, "detail": detail}]}
    return Refusal(http, body, error, status, opt_out)


STOPPED = SuppressionReason.STOPPED
REFUSALS = (
    refusal(400, "10001", Rejected, Status.REJECTED),
    refusal(400, "10002", Rejected, Status.REJECTED, title="Invalid phone number"),
    refusal(400, "10002", Rejected, Status.INVALID_RECIPIENT, title="The 'to' number is invalid"),
    refusal(422, "10002", Misconfigured, title="The 'from' number is invalid"),
    refusal(422, "10003", Misconfigured),
    refusal(422, "10004", Rejected, Status.REJECTED),
    refusal(404, "10005", Misconfigured),
    refusal(500, "10007", Ambiguous),
    refusal(408, "10008", Ambiguous),
    refusal(401, "10009", Misconfigured),
    refusal(403, "10010", Misconfigured),
    refusal(429, "10011", NotSent),
    refusal(400, "10015", Rejected, Status.REJECTED),
    refusal(422, "10016", Rejected, Status.REJECTED, title="Phone number must be in +E.164 format"),
    refusal(422, "10016", Rejected, Status.INVALID_RECIPIENT, title="'to' must be in +E.164 format"),
    refusal(403, "10039", Misconfigured, title="Only pre-verified destinations are allowed"),
    refusal(401, "20002", Misconfigured),
    refusal(401, "20006", Misconfigured),
    refusal(403, "20012", Misconfigured),
    refusal(403, "20013", Misconfigured),
    refusal(403, "20014", Misconfigured),
    refusal(403, "20015", Misconfigured),
    refusal(403, "20016", Misconfigured),
    refusal(403, "20017", Misconfigured),
    refusal(400, "20100", Misconfigured),
    refusal(400, "40001", Rejected, Status.INVALID_RECIPIENT),
    refusal(400, "40009", Rejected, Status.REJECTED),
    refusal(400, "40010", Misconfigured),
    refusal(400, "40011", Rejected, Status.TEMPORARY_FAILURE),
    refusal(400, "40012", Rejected, Status.INVALID_RECIPIENT),
    refusal(400, "40013", Misconfigured),
    refusal(400, "40100", Misconfigured),
    refusal(409, "40300", Rejected, Status.REJECTED, title=STOP, opt_out=STOPPED),
    refusal(403, "40300", Rejected, Status.REJECTED, title=STOP, opt_out=STOPPED),
    refusal(
        422, "40300", Rejected, Status.REJECTED, title="Blocked by an existing block rule", opt_out=STOPPED
    ),
    refusal(400, "40300", Rejected, Status.REJECTED, title="Number not registered for 10DLC"),
    refusal(400, "40301", Rejected, Status.REJECTED),
    refusal(400, "40302", Rejected, Status.REJECTED),
    refusal(400, "40305", Misconfigured, title="Invalid 'from' address"),
    refusal(400, "40306", Misconfigured),
    refusal(400, "40309", Rejected, Status.REJECTED, title="Invalid destination region"),
    refusal(400, "40310", Rejected, Status.INVALID_RECIPIENT, title="Invalid 'to' address"),
    refusal(400, "40310", Rejected, Status.REJECTED, title="Rate limit exceeded"),
    refusal(400, "40312", Misconfigured),
    refusal(400, "40314", Misconfigured),
    refusal(400, "40315", Misconfigured),
    refusal(400, "40316", Rejected, Status.REJECTED),
    refusal(400, "40318", NotSent),
    refusal(400, "40319", Rejected, Status.REJECTED),
    refusal(400, "40320", Misconfigured),
    refusal(400, "40321", Misconfigured),
    refusal(400, "40322", Rejected, Status.REJECTED),
    refusal(400, "40328", Rejected, Status.REJECTED),
    refusal(400, "40329", Misconfigured),
)


def message(says: Json) -> dict[str, object]:
    """Return a message, as answers and callbacks have it."""
    return {
        "record_type": "message",
        "direction": "outbound",
        "id": ID,
        "from": {"phone_number": NUMBER},
        "to": [{"phone_number": SMS.to, "status": says.get("word"), "carrier": "T-MOBILE USA, INC."}],
        "text": SMS.text,
        "webhook_url": LABELLED,
        "errors": says.get("errors", []),
    }


def event(kind: str, payload: Json, delivered_to: str = LABELLED) -> dict[str, object]:
    data = {
        "record_type": "event",
        "id": EVENT_ID,
        "event_type": kind,
        "occurred_at": "2026-12-01T09:59:58.000+00:00",
        "payload": payload,
    }
    return {"data": data, "meta": {"attempt": 1, "delivered_to": delivered_to}}


def signed(said: Json, url: str = LABELLED) -> Callback:
    body, timestamp = json.dumps(said).encode(), f"{int(NOW.timestamp())}"
    signature = base64.b64encode(SIGNING_KEY.sign(f"{timestamp}|".encode() + body)).decode()
    headers = {"telnyx-signature-ed25519": signature, "telnyx-timestamp": timestamp}
    return Callback(body, headers, url)


def finalized(says: Json) -> Callback:
    return signed(event("message.finalized", message(says)))


HEARD = (
    Heard("sent", signed(event("message.sent", message({"word": "sent"}))), Status.ACCEPTED),
    *(Heard(f"{said.says}", finalized(said.says), said.status, said.is_final, said.opt_out) for said in SAID),
    Heard("a word of tomorrow", finalized({"word": "teleported"}), Status.UNRECOGNIZED),
    Heard(
        "by the address it was delivered to",
        signed(event("message.finalized", message({"word": "delivered"}) | {"webhook_url": None})),
        Status.DELIVERED,
        is_final=True,
    ),
    Heard(
        "at the profile's own address",
        signed(event("message.finalized", message({"word": "delivered"}) | {"webhook_url": None}, CALLBACK)),
        Status.DELIVERED,
        is_final=True,
        names_attempt=False,
    ),
    Heard("a text that came in", signed(event("message.received", {"id": ID, "text": "STOP"})), None),
    Heard("an event of tomorrow", signed(event("message.imagined", message({"word": "sent"}))), None),
)


def make(client: httpx.AsyncClient, url: str, budget: timedelta, clock: Clock) -> Telnyx:
    return Telnyx(
        client, url, Credential(TOKEN), NUMBER, CALLBACK, Credential(PUBLIC_KEY), budget=budget, clock=clock
    )


def make_by_profile(client: httpx.AsyncClient, url: str, budget: timedelta, clock: Clock) -> Provider:
    return replace(make(client, url, budget, clock), sender=PROFILE)


def content(received: Received) -> tuple[str, str]:
    fields = json_of(received)
    query = parse_qs(urlsplit(str(fields["webhook_url"])).query, strict_parsing=True)
    return query["attempt"][0], str(fields["text"])


BY_NUMBER = Subject(
    name="telnyx",
    message=SMS,
    make=make,
    fake=FakeTelnyx,
    taken=answer(200, {"data": message({"word": "queued"})}),
    provider_id=ID,
    content=content,
    state=lambda says: answer(200, {"data": message(says)}),
    said=SAID,
    unknown_word={"word": "levitating 🛸 anna@example.test"},
    unknown_message=answer(404, {"errors": [{"code": "10005", "title": "Resource not found"}]}),
    refusals=REFUSALS,
    unheard=lambda http: answer(http, {"errors": [{"code": "99999", "title": "Unheard of"}]}),
    heard=HEARD,
    signature_header="telnyx-signature-ed25519",
)

SUBJECTS = (BY_NUMBER, replace(BY_NUMBER, name="telnyx by profile", make=make_by_profile))
