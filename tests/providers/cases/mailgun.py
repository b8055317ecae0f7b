"""Mailgun, with answers and callbacks as it documents them."""

import hashlib
import hmac
import json
from datetime import timedelta
from urllib.parse import parse_qs

import httpx

from activities.providers import labels
from activities.providers.base import Callback
from activities.providers.configured import Sender
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, Rejected
from activities.providers.mailgun import OLDEST, Mailgun
from activities.providers.provider import Provider
from activities.providers.signatures import Clock
from activities.variables import Credential
from tests.providers.fakes.mailgun import DOMAIN, KEY, FakeMailgun
from tests.providers.scripted import Received, answer
from tests.providers.subject import EMAIL, NOW, SECRET, Heard, Json, Refusal, Said, Subject
from workflows.policy.keys import attempt_digest
from workflows.policy.words import Status, SuppressionReason

SENDER = Sender("Example <notices@example.com>", "Example", "notices@example.com")
ID = f"20261201100000.1.E9F32C40C2BFD43E@{DOMAIN}"
TOKEN = "a8ce0edb2dd8301dee6c2405235584e45aa91d1e9f979f3de0"
TAG = attempt_digest(EMAIL.key)

Event = dict[str, object]
Outcome = tuple[Status, bool, SuppressionReason | None]

PENDING: Outcome = (Status.PENDING, False, None)
DELIVERED: Outcome = (Status.DELIVERED, True, None)
DEFERRED: Outcome = (Status.TEMPORARY_FAILURE, False, None)
GIVEN_UP: Outcome = (Status.TEMPORARY_FAILURE, True, None)
REJECTED: Outcome = (Status.REJECTED, True, None)
INVALID: Outcome = (Status.INVALID_RECIPIENT, True, None)
COMPLAINED: Outcome = (Status.DELIVERED, True, SuppressionReason.COMPLAINT)
UNSUBSCRIBED: Outcome = (Status.DELIVERED, True, SuppressionReason.UNSUBSCRIBED)


def event(word: str, second: float = 0) -> Event:
    return {
        "event": word,
        "timestamp": NOW.timestamp() + second,
        "id": "CPgfbmQMTCKtHW6uIWtuVe",
        "recipient": EMAIL.to,
        "tags": [TAG],
        "user-variables": {"standby": labels.label(EMAIL.key)},
        "message": {"headers": {"message-id": ID, "to": EMAIL.to}},
    }


def failed(reason: str, code: int, said: str, severity: str = "permanent", **status: object) -> Event:
    delivery = {"code": code, "message": said, "description": None, **status}
    return {**event("failed"), "severity": severity, "reason": reason, "delivery-status": delivery}


DELAYED = {**failed("generic", 550, "smtp; 550 5.1.1 user unknown"), "flags": {"is-delayed-bounce": True}}
TOLD: tuple[tuple[Event, Outcome], ...] = (
    (event("accepted"), PENDING),
    ({**event("delivered"), "delivery-status": {"code": 250, "message": "OK"}}, DELIVERED),
    (event("opened"), DELIVERED),
    (event("clicked"), DELIVERED),
    (event("complained"), COMPLAINED),
    (event("unsubscribed"), UNSUBSCRIBED),
    ({**event("rejected"), "reject": {"reason": "Sandbox subdomains are for test purposes only."}}, REJECTED),
    (failed("generic", 498, "No MX for [example.com]", "temporary"), DEFERRED),
    (failed("greylisted", 450, "4.2.0 greylisted", "temporary"), DEFERRED),
    (failed("espblock", 550, "5.1.1 user unknown", "temporary"), DEFERRED),
    (failed("bounce", 550, "5.1.1 The email account does not exist."), INVALID),
    (failed("bounce", 550, "No such mailbox"), INVALID),
    (failed("bounce", 550, "", **{"enhanced-code": "5.1.1"}), INVALID),
    (failed("bounce", 550, "", **{"bounce-code": "5.1.10"}), INVALID),
    (failed("bounce", 550, "Relay Not Permitted"), REJECTED),
    (failed("bounce", 550, "5.7.1 spam"), REJECTED),
    (failed("bounce", 550, "5.1.1 Recipient overquota"), GIVEN_UP),
    (failed("bounce", 552, "5.2.2 mailbox full"), GIVEN_UP),
    (failed("bounce", 0, ""), REJECTED),
    (failed("bounce", 250, "2.0.0 queued, and bounced later"), REJECTED),
    (failed("generic", 552, "5.2.2 mailbox full"), GIVEN_UP),
    (failed("generic", 550, "rejected"), REJECTED),
    (failed("espblock", 554, "5.7.9 policy"), REJECTED),
    (failed("espblock", 421, "4.7.0 deferred due to user complaints"), REJECTED),
    (failed("espblock", 550, "5.1.1 user unknown"), INVALID),
    (failed("blacklisted", 553, "listed by Spamhaus"), REJECTED),
    (failed("greylisted", 451, "4.7.1 greylisted"), REJECTED),
    (failed("old", 602, "Too old"), GIVEN_UP),
    (failed("old", 550, "5.1.1 user unknown"), GIVEN_UP),
    (failed("hardfail", 602, "Too old"), GIVEN_UP),
    (failed("hardfail", 550, "5.1.1 user unknown"), INVALID),
    (failed("suppress-bounce", 605, "Not delivering to previously bounced address"), REJECTED),
    (
        failed("suppress-complaint", 607, "Not delivering to a user who marked your messages as spam"),
        (Status.REJECTED, True, SuppressionReason.COMPLAINT),
    ),
    (
        failed("suppress-unsubscribe", 606, "Not delivering to unsubscribed address"),
        (Status.REJECTED, True, SuppressionReason.UNSUBSCRIBED),
    ),
    (
        failed("generic", 606, "Not delivering to unsubscribed address"),
        (Status.REJECTED, True, SuppressionReason.UNSUBSCRIBED),
    ),
    (failed("bounce", 550, "5.1.1 user unknown", "unheard of"), (Status.UNRECOGNIZED, False, None)),
    (DELAYED, INVALID),
)


def page(*events: Event) -> Json:
    return {"items": list(events), "paging": {"next": "https://api.mailgun.net/v3/x/events/W3siY"}}


LATE = {**DELAYED, "timestamp": NOW.timestamp() + 60}
SEVERAL: tuple[tuple[Json, Outcome], ...] = (
    (page(LATE, event("delivered", 5), event("accepted")), INVALID),
    (page(event("delivered", 5), LATE, event("accepted")), INVALID),
    (page(event("accepted"), failed("generic", 421, "later", "temporary"), event("delivered", 9)), DELIVERED),
    (page(event("delivered", 9), failed("generic", 421, "later", "temporary"), event("accepted")), DELIVERED),
    (page(failed("generic", 421, "later", "temporary"), event("accepted", 9)), DEFERRED),
    (page(event("opened", 30), event("unsubscribed", 20), event("delivered", 5)), UNSUBSCRIBED),
    (page(event("delivered", 5), event("complained", 2), LATE), COMPLAINED),
    (page(event("stored"), event("accepted")), PENDING),
    (page(event("teleported", 9), event("accepted")), PENDING),
)
SAID = (
    *(Said(page(each), *outcome) for each, outcome in TOLD),
    *(Said(each, *outcome) for each, outcome in SEVERAL),
)


def refusal(http: int, said: str, error: type[Exception], status: Status | None = None) -> Refusal:
    return Refusal(http, {"message": said}, error, status)


PROBATION = (
    "Domain mg.example.com is not allowed to send: You are sending too fast. Your account is on probation."
)
REFUSALS = (
    refusal(400, "to parameter is not a valid address", Rejected, Status.INVALID_RECIPIENT),
    refusal(
        400,
        "'to' parameter is not a valid address. please check documentation",
        Rejected,
        Status.INVALID_RECIPIENT,
    ),
    refusal(400, "from parameter is not a valid address", Misconfigured),
    refusal(400, "'from' parameter is not a valid address. please check documentation", Misconfigured),
    refusal(400, "h:reply-to parameter is not a valid address", Rejected, Status.REJECTED),
    refusal(400, "Need at least one of 'text' or 'html' parameters specified", Rejected, Status.REJECTED),
    refusal(400, PROBATION, Misconfigured),
    refusal(400, "Domain mg.example.com is not allowed to send: recipient limit exceeded", Misconfigured),
    refusal(400, "Sandbox subdomains are for test purposes only. Please add your own domain", Misconfigured),
    refusal(403, "Domain x is not allowed to send: Free accounts are for test purposes only.", Misconfigured),
    refusal(401, "Invalid private key", Misconfigured),
    Refusal(401, b"Forbidden", Misconfigured),
    refusal(402, "Request failed", Misconfigured),
    refusal(403, "Forbidden", Misconfigured),
    refusal(404, "Domain not found: mg.example.com", Misconfigured),
    refusal(413, "Request entity too large", Rejected, Status.REJECTED),
    refusal(429, "Too Many Requests", NotSent),
    refusal(500, "Internal Server Error", Ambiguous),
    refusal(502, "to parameter is not a valid address", Ambiguous),
    refusal(503, "Service Unavailable", Ambiguous),
    refusal(504, "Gateway Timeout", Ambiguous),
    Refusal(200, b"Mailgun Magnificent API", Misconfigured),
    Refusal(200, {"message": "Queued. Thank you."}, Ambiguous),
    Refusal(200, {"id": "<>", "message": "Queued. Thank you."}, Ambiguous),
)


def signed(told: object, token: str = TOKEN, key: str = SECRET, **beside: str) -> Callback:
    timestamp = str(int(NOW.timestamp()))
    signature = hmac.new(key.encode(), f"{timestamp}{token}".encode(), hashlib.sha256).hexdigest()
    proof = {"timestamp": timestamp, "token": token, "signature": signature, **beside}
    return Callback(json.dumps({"signature": proof, "event-data": told}).encode(), {})


HEARD = (
    *(
        Heard(
            f"{each['event']} {each.get('reason', '')} {each.get('delivery-status', '')}", signed(each), *out
        )
        for each, out in TOLD
    ),
    Heard("a word of tomorrow", signed(event("teleported")), Status.UNRECOGNIZED),
    Heard("a copy", signed(event("stored")), None),
    Heard("of nobody's", signed({"event": "delivered", "message": {}}), None),
    Heard(
        "without our variable",
        signed({**event("delivered"), "user-variables": {}}),
        Status.DELIVERED,
        is_final=True,
        names_attempt=False,
    ),
)


def make(client: httpx.AsyncClient, url: str, budget: timedelta, clock: Clock) -> Provider:
    key, secret = Credential(KEY), Credential(SECRET)
    return Mailgun(client, url, key, DOMAIN, SENDER, secret, budget=budget, clock=clock)


def content(received: Received) -> tuple[str, str]:
    fields = parse_qs(received.body.decode(), strict_parsing=True)
    return fields["v:standby"][0], fields["text"][0]


SUBJECTS = (
    Subject(
        name="mailgun",
        message=EMAIL,
        punycode=False,
        make=make,
        fake=FakeMailgun,
        taken=answer(200, {"id": f"<{ID}>", "message": "Queued. Thank you."}),
        provider_id=ID,
        content=content,
        said=SAID,
        unknown_word=page(event("levitating 🛸 anna@example.test")),
        unknown_message=answer(200, page()),
        refusals=REFUSALS,
        unheard=lambda http: answer(http, {"message": "?"}),
        heard=HEARD,
        signs_body=False,
        oldest=OLDEST,
    ),
)
