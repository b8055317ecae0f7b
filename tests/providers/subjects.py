"""What the contract is run on: every adapter, in every manner that it knows.

A new provider adds a `Subject` here, and nothing else, to be held to the whole contract.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

import httpx

from activities.providers import wire
from activities.providers.base import Message, Provider
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, Rejected
from activities.providers.sandbox import Sandbox
from workflows.policy.words import Channel, Status

SECRET = "a secret of tests"

EMAIL = Message(
    key="password_reset:e-1:u-1:email:1",
    channel=Channel.EMAIL,
    to="anna.secret@example.test",
    subject="Réinitialiser 🔑",
    text="Grüße, 王芳 👋 https://app.example.test/reset?token=t0p",
    html="<p>Grüße, 王芳 👋</p>",
)
SMS = Message(
    key="password_reset:e-1:u-1:sms:1",
    channel=Channel.SMS,
    to="+12025550142",
    subject=None,
    text="Código 4711 👋",
)
PERSONAL = ("anna.secret", "2025550142", "t0p", "王芳", "4711")
"""What must never be seen outside a message."""

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Said:
    """A documented status and what it must read as."""

    fields: Json
    status: Status
    is_final: bool


@dataclass(frozen=True, slots=True)
class Refusal:
    """A documented error and what it must read as."""

    http: int
    fields: Json
    error: type[Exception]
    status: Status | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """One adapter in one manner, with what its provider documents."""

    name: str
    make: Callable[[httpx.AsyncClient, str, timedelta], Provider]
    taken: Json
    """The body of an accepted send."""
    state: Callable[[Json], Json]
    """The body of a look-up that says this."""
    said: tuple[Said, ...]
    refusals: tuple[Refusal, ...]
    content: Callable[[bytes], tuple[str, str]]
    """The key and the text in a request, as the provider reads them."""

    def at(self, client: httpx.AsyncClient, url: str, budget: timedelta = wire.SEND_BUDGET) -> Provider:
        """Make the adapter for a server."""
        return self.make(client, url, budget)


def _sandbox(name: str, *, honours_keys: bool) -> Subject:
    known = {"id": "sb_1", "key": EMAIL.key, "at": "2026-01-02T03:04:05+00:00"}
    bounce = {"status": "bounced"}

    def make(client: httpx.AsyncClient, url: str, budget: timedelta) -> Provider:
        return Sandbox(client, url, SECRET, honours_keys, budget=budget)

    def content(body: bytes) -> tuple[str, str]:
        fields = json.loads(body)
        return fields["key"], fields["text"]

    return Subject(
        name=name,
        make=make,
        taken=known | {"status": "queued"},
        state=lambda fields: {**known, **fields},
        said=(
            Said({"status": "queued"}, Status.PENDING, is_final=False),
            Said({"status": "sent"}, Status.ACCEPTED, is_final=False),
            Said({"status": "deferred", "code": "4.2.0"}, Status.TEMPORARY_FAILURE, is_final=False),
            Said({"status": "delivered"}, Status.DELIVERED, is_final=True),
            Said(bounce | {"code": "5.1.1"}, Status.INVALID_RECIPIENT, is_final=True),
            Said(bounce | {"code": "5.7.1"}, Status.REJECTED, is_final=True),
            Said(bounce | {"code": "5.2.2"}, Status.TEMPORARY_FAILURE, is_final=True),
            Said(bounce | {"code": "4.4.7"}, Status.TEMPORARY_FAILURE, is_final=True),
            Said(bounce, Status.UNRECOGNIZED, is_final=True),
        ),
        refusals=(
            Refusal(401, {"error": "denied"}, Misconfigured),
            Refusal(503, {"error": "not_accepted"}, NotSent),
            Refusal(429, {"error": "busy"}, NotSent),
            Refusal(409, {"error": "key_mismatch"}, Ambiguous),
            Refusal(422, {"error": "invalid_recipient"}, Rejected, Status.INVALID_RECIPIENT),
            Refusal(422, {"error": "suppressed"}, Rejected, Status.REJECTED),
            Refusal(400, {"error": "invalid_request"}, Rejected, Status.REJECTED),
        ),
        content=content,
    )


SUBJECTS = (
    _sandbox("sandbox honouring keys", honours_keys=True),
    _sandbox("sandbox honouring none", honours_keys=False),
)
