"""Vonage, with answers and receipts as it documents them; with its Reports API, and without."""

import hashlib
import hmac
import json
from dataclasses import replace
from datetime import datetime, timedelta
from urllib.parse import parse_qs, urlencode

import httpx
import jwt

from activities.providers.base import Callback
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, Rejected
from activities.providers.provider import Provider
from activities.providers.signatures import Clock
from activities.providers.vonage import OLDEST, Vonage
from activities.variables import Credential
from tests.providers.fakes.vonage import API_SECRET, KEY, FakeVonage
from tests.providers.scripted import Received, answer
from tests.providers.subject import NOW, SMS, Heard, Json, Refusal, Said, Subject
from workflows.policy.words import Status

ID = "0A0000000123ABCD1"
SIGNATURE_SECRET = "a-signature-secret-of-tests-which-is-long"
CALLBACK = "https://standby.example.com/callbacks/vonage"

STATUSES = (
    ("submitted", None, Status.PENDING, False),
    ("accepted", "0", Status.ACCEPTED, False),
    ("buffered", "0", Status.ACCEPTED, False),
    ("delivered", "0", Status.DELIVERED, True),
    ("expired", None, Status.TEMPORARY_FAILURE, True),
    ("expired", "1", Status.TEMPORARY_FAILURE, True),
    ("failed", None, Status.REJECTED, True),
    ("rejected", None, Status.REJECTED, True),
    ("unknown", None, Status.UNRECOGNIZED, True),
    ("failed", "1", Status.UNRECOGNIZED, True),
    ("failed", "2", Status.TEMPORARY_FAILURE, True),
    ("failed", "3", Status.INVALID_RECIPIENT, True),
    ("rejected", "3", Status.INVALID_RECIPIENT, True),
    ("failed", "4", Status.REJECTED, True),
    ("failed", "5", Status.TEMPORARY_FAILURE, True),
    ("rejected", "6", Status.REJECTED, True),
    ("failed", "7", Status.TEMPORARY_FAILURE, True),
    ("failed", "8", Status.TEMPORARY_FAILURE, True),
    ("failed", "9", Status.REJECTED, True),
    ("rejected", "10", Status.REJECTED, True),
    ("rejected", "11", Status.REJECTED, True),
    ("failed", "12", Status.TEMPORARY_FAILURE, True),
    ("failed", "13", Status.REJECTED, True),
    ("failed", "14", Status.REJECTED, True),
    ("failed", "15", Status.REJECTED, True),
    ("rejected", "50", Status.REJECTED, True),
    ("rejected", "51", Status.REJECTED, True),
    ("rejected", "52", Status.REJECTED, True),
    ("rejected", "53", Status.REJECTED, True),
    ("rejected", "54", Status.REJECTED, True),
    ("failed", "99", Status.UNRECOGNIZED, True),
    ("failed", "77", Status.REJECTED, True),
    ("unknown", "1", Status.UNRECOGNIZED, True),
)
"""Status and error code, as receipts and records bring them together."""


def submitted(*parts: Json) -> dict[str, object]:
    return {"message-count": f"{len(parts)}", "messages": list(parts)}


def refusal(
    code: str, error: type[Exception], status: Status | None = None, said: str = "As documented."
) -> Refusal:
    return Refusal(200, submitted({"status": code, "error-text": said}), error, status)


REFUSALS = (
    refusal("1", NotSent),
    refusal("2", Rejected, Status.REJECTED),
    refusal("3", Rejected, Status.REJECTED),
    refusal("4", Misconfigured),
    refusal("5", Ambiguous),
    refusal("6", Rejected, Status.REJECTED),
    refusal("6", Rejected, Status.INVALID_RECIPIENT, "Invalid message: unrecognised prefix"),
    refusal("6", Rejected, Status.INVALID_RECIPIENT, "The destination number is not valid"),
    # The description of the error, which names the number as an example only.
    refusal("6", Rejected, Status.REJECTED, "For example, an unrecognized number prefix"),
    refusal("6", Rejected, Status.REJECTED, "Unroutable message - rejected"),
    refusal("6", Rejected, Status.REJECTED, "The sender is not allowed for this prefix"),
    refusal("7", Rejected, Status.REJECTED),
    refusal("8", Misconfigured),
    refusal("9", Misconfigured),
    refusal("10", NotSent),
    refusal("11", Misconfigured),
    refusal("12", Rejected, Status.REJECTED),
    refusal("14", Misconfigured),
    refusal("15", Misconfigured),
    refusal("22", Rejected, Status.REJECTED),
    refusal("23", Misconfigured),
    refusal("29", Misconfigured),
    refusal("32", Misconfigured),
    refusal("33", Rejected, Status.INVALID_RECIPIENT),
    refusal("77", Ambiguous),
    Refusal(200, submitted({"message-id": ID}), Ambiguous),
    Refusal(200, submitted(), Ambiguous),
)


def receipt(status: str, code: str | None = None, **beside: str) -> dict[str, str]:
    said = {
        "msisdn": SMS.to.removeprefix("+"),
        "to": "Example & Co",
        "network-code": "310090",
        "messageId": ID,
        "price": "0.03330000",
        "status": status,
        "scts": "2612011000",
        "api-key": KEY,
        "client-ref": SMS.key,
        "message-timestamp": "2026-12-01 09:59:58",
        **beside,
    }
    return said if code is None else said | {"err-code": code}


def signed(said: Json, secret: str = SIGNATURE_SECRET, at: datetime = NOW) -> dict[str, object]:
    """Sign parameters as the SMS API does."""
    stamped = {**said, "nonce": "aaaaaaaa-bbbb-cccc", "timestamp": f"{int(at.timestamp())}"}
    values = {name: f"{value}".replace("&", "_").replace("=", "_") for name, value in stamped.items()}
    base = "".join(f"&{name}={values[name]}" for name in sorted(values))
    return stamped | {"sig": hmac.new(secret.encode(), base.encode(), hashlib.sha256).hexdigest().upper()}


def as_form(said: Json) -> Callback:
    return Callback(urlencode(said).encode(), {"content-type": "application/x-www-form-urlencoded"}, CALLBACK)


def as_json(said: Json) -> Callback:
    return Callback(json.dumps(said).encode(), {"content-type": "application/json"}, CALLBACK)


def as_query(said: Json) -> Callback:
    return Callback(b"", {}, f"{CALLBACK}?{urlencode(said)}", "GET")


def by_token(said: Json, **claims: object) -> Callback:
    """Sign a body as Vonage's newer APIs do."""
    body = json.dumps(said).encode()
    vouched = {
        "iat": int(NOW.timestamp()),
        "jti": "c5ba8f24-1a14-4c10-bfdf-3fbe8ce511b5",
        "iss": "Vonage",
        "payload_hash": hashlib.sha256(body).hexdigest(),
        "api_key": KEY,
        **claims,
    }
    token = jwt.encode(vouched, SIGNATURE_SECRET, "HS256")
    return Callback(body, {"authorization": f"Bearer {token}"}, CALLBACK)


def heard(name: str, callback: Callback, status: Status, *, is_final: bool) -> Heard:
    return Heard(name, callback, status, is_final)


RECEIPTS = tuple(
    heard(f"{word} {code}", as_form(signed(receipt(word, code))), status, is_final=is_final)
    for word, code, status, is_final in STATUSES
)
TOKENS = tuple(
    heard(f"{word} {code}", by_token(receipt(word, code)), status, is_final=is_final)
    for word, code, status, is_final in STATUSES
)
INBOUND = {"msisdn": "12025550142", "to": "12025550100", "messageId": ID, "text": "STOP", "type": "text"}

HEARD = (
    *RECEIPTS,
    heard("in JSON", as_json(signed(receipt("delivered", "0"))), Status.DELIVERED, is_final=True),
    heard("in the query", as_query(signed(receipt("delivered", "0"))), Status.DELIVERED, is_final=True),
    heard("a word of tomorrow", as_form(signed(receipt("teleported"))), Status.UNRECOGNIZED, is_final=False),
    Heard(
        "a receipt without our key",
        as_form(signed(receipt("delivered", "0", **{"client-ref": ""}))),
        Status.DELIVERED,
        is_final=True,
        names_attempt=False,
    ),
    Heard("a text that came in", as_form(signed(INBOUND)), None),
)


def record(said: Json) -> bytes:
    """Answer a look-up with the one record of a message."""
    found = {"message_id": ID, "to": SMS.to, "date_finalized": "2026-12-01T09:59:58+0000", **said}
    return answer(200, {"request_status": "SUCCESS", "items_count": 1, "records": [found]})


def make(client: httpx.AsyncClient, url: str, budget: timedelta, clock: Clock) -> Vonage:
    return Vonage(
        client,
        url,
        url,
        KEY,
        Credential(API_SECRET),
        "+12025550100",
        callback=CALLBACK,
        signature_secret=Credential(SIGNATURE_SECRET),
        budget=budget,
        clock=clock,
    )


def make_reporting(client: httpx.AsyncClient, url: str, budget: timedelta, clock: Clock) -> Provider:
    return replace(make(client, url, budget, clock), reports=True)


def content(received: Received) -> tuple[str, str]:
    form = parse_qs(received.body.decode(), strict_parsing=True)
    return form["client-ref"][0], form["text"][0]


PLAIN = Subject(
    name="vonage",
    message=SMS,
    make=make,
    fake=FakeVonage,
    taken=answer(200, submitted({"to": "12025550142", "message-id": ID, "status": "0"})),
    provider_id=ID,
    content=content,
    acceptance=Status.ACCEPTED,
    refusals=REFUSALS,
    unheard=lambda http: answer(http, submitted({"status": "77", "error-text": "?"})),
    heard=HEARD,
    oldest=OLDEST,
)
REPORTING = replace(
    PLAIN,
    name="vonage that reports",
    make=make_reporting,
    acceptance=Status.PENDING,
    state=record,
    said=tuple(
        Said({"status": word, "error_code": code}, status, is_final)
        for word, code, status, is_final in STATUSES
    ),
    unknown_word={"status": "levitating 🛸 anna@example.test"},
    unknown_message=answer(200, {"request_status": "SUCCESS", "records": [], "ids_not_found": ID}),
    heard=TOKENS,
    signature_header="authorization",
)

SUBJECTS = (PLAIN, REPORTING)
