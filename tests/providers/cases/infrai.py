"""Infrai on either channel, with answers as it publishes them and as its clients read them."""

from datetime import timedelta
from types import MappingProxyType

import httpx

from activities.providers.base import Message
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, Rejected
from activities.providers.infrai import Infrai
from activities.providers.provider import Provider
from activities.providers.signatures import Clock
from activities.variables import Credential
from tests.providers.fakes.infrai import TOKEN, FakeInfrai
from tests.providers.scripted import Received, answer
from tests.providers.subject import EMAIL, SMS, Json, Refusal, Said, Subject, as_json, json_of
from workflows.policy.words import Channel, Status, SuppressionReason

ID = "em_01jh8x"
SENDERS = MappingProxyType({Channel.EMAIL: "notices@example.com", Channel.SMS: "+12025550100"})

WORDS = (
    ("queued", Status.PENDING, False),
    ("pending", Status.PENDING, False),
    ("scheduled", Status.PENDING, False),
    ("accepted", Status.PENDING, False),
    ("sent", Status.ACCEPTED, False),
    ("delivered", Status.DELIVERED, True),
    ("opened", Status.DELIVERED, True),
    ("open", Status.DELIVERED, True),
    ("clicked", Status.DELIVERED, True),
    ("hard_bounce", Status.REJECTED, True),
    ("bounced", Status.REJECTED, True),
    ("bounce", Status.REJECTED, True),
    ("failed", Status.REJECTED, True),
    ("rejected", Status.REJECTED, True),
    ("suppressed", Status.REJECTED, True),
    ("soft_bounce", Status.TEMPORARY_FAILURE, False),
    ("deferred", Status.TEMPORARY_FAILURE, False),
    ("delayed", Status.TEMPORARY_FAILURE, False),
    ("", Status.UNRECOGNIZED, False),
)
SAID = tuple(
    Said({name: word}, status, is_final)
    for name in ("state", "status")
    for word, status, is_final in (*WORDS, ("Delivered", Status.DELIVERED, True))
)


def hard(**beside: object) -> Json:
    return {"state": "hard_bounce", **beside}


TOLD = (
    Said({"state": "complained"}, Status.DELIVERED, True, SuppressionReason.COMPLAINT),
    Said(hard(reason="550 5.1.1 user unknown"), Status.INVALID_RECIPIENT, is_final=True),
    Said(hard(code="5.1.1"), Status.INVALID_RECIPIENT, is_final=True),
    Said(hard(hint="no such user"), Status.INVALID_RECIPIENT, is_final=True),
    Said(hard(reason="550 5.7.1 spam"), Status.REJECTED, is_final=True),
    Said(hard(reason="552 5.2.2 mailbox full"), Status.REJECTED, is_final=True),
    Said({"state": "bounced", "reason": "550 5.1.1 user unknown"}, Status.REJECTED, is_final=True),
)


def enveloped(data: Json) -> Json:
    return {"ok": True, "data": data, "error": None, "metadata": {"vendor": "ses", "request_id": "r-1"}}


def refused(code: str, said: str = "message") -> Json:
    return {"ok": False, "data": None, "error": {"code": code, said: "As documented."}}


def refusal(http: int, code: str, error: type[Exception], status: Status | None = None) -> Refusal:
    return Refusal(http, refused(code), error, status)


REFUSALS = (
    refusal(400, "INVALID_REQUEST", Rejected, Status.REJECTED),
    refusal(422, "INVALID_REQUEST", Rejected, Status.REJECTED),
    Refusal(400, refused("INVALID_REQUEST", "hint"), Rejected, Status.REJECTED),
    Refusal(400, {"error": "not an object"}, Rejected, Status.REJECTED),
    refusal(200, "INVALID_REQUEST", Ambiguous),
    Refusal(200, {"ok": False, "error": None}, Ambiguous),
    refusal(200, "INSUFFICIENT_CREDIT", Misconfigured),
    refusal(402, "INSUFFICIENT_CREDIT", Misconfigured),
    refusal(402, "ANOTHER_WORD_FOR_IT", Misconfigured),
    refusal(401, "UNAUTHORIZED", Misconfigured),
    refusal(403, "FORBIDDEN", Misconfigured),
    refusal(409, "IDEMPOTENCY_MISMATCH", Ambiguous),
    refusal(429, "RATE_LIMITED", NotSent),
    refusal(500, "INTERNAL", Ambiguous),
    refusal(503, "UNAVAILABLE", Ambiguous),
)


def make(client: httpx.AsyncClient, url: str, budget: timedelta, clock: Clock) -> Provider:  # noqa: ARG001
    return Infrai(client, url, Credential(TOKEN), SENDERS, budget=budget)


def content(received: Received) -> tuple[str, str]:
    fields = json_of(received)
    return received.headers["idempotency-key"], str(fields.get("body", fields.get("text")))


def subject(message: Message, id_field: str) -> Subject:
    taken = {id_field: ID, "state": "queued", "to": message.to, "subject": message.subject}
    return Subject(
        name=f"infrai {message.channel}",
        message=message,
        make=make,
        fake=FakeInfrai,
        taken=answer(200, enveloped(taken)),
        provider_id=ID,
        content=content,
        state=lambda fields: as_json(enveloped({id_field: ID, **fields})),
        said=(*SAID, *TOLD) if message.channel is Channel.EMAIL else SAID,
        unknown_word={"state": "levitating 🛸 anna@example.test"},
        unknown_message=answer(404, refused("NOT_FOUND")),
        refusals=REFUSALS,
        unheard=lambda http: answer(http, refused("UNHEARD_OF")),
    )


SUBJECTS = (subject(EMAIL, "email_id"), subject(SMS, "sms_id"))
