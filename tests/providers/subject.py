"""What the contract is run on: one adapter in one manner, with what its provider documents."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

import httpx

from activities.providers import wire
from activities.providers.base import Callback, Message
from activities.providers.provider import Provider
from activities.providers.signatures import TOLERANCE, Clock
from tests.providers.fakes.api import FakeApi
from tests.providers.scripted import Received, answer
from workflows.policy.words import Channel, Status, SuppressionReason

SECRET = "a-secret-of-tests"
NOW = datetime(2026, 12, 1, 10, 0, tzinfo=UTC)
"""The time by every signed callback of these tests."""

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
    """A documented answer to a look-up and what it must read as."""

    says: Json
    """Handed to `Subject.state`: as much of the provider's answer as tells one row from another."""
    status: Status
    is_final: bool
    opt_out: SuppressionReason | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A documented error of a send and what it must read as."""

    http: int
    body: bytes | Json
    error: type[Exception]
    status: Status | None = None
    """Where it is Rejected."""
    opt_out: SuppressionReason | None = None

    @property
    def answer(self) -> bytes:
        """The whole answer."""
        return answer(self.http, self.body)


@dataclass(frozen=True, slots=True)
class Heard:
    """A documented callback, as the provider sends it at NOW about the subject's message."""

    name: str
    callback: Callback
    status: Status | None
    """None: it tells of nothing."""
    is_final: bool = False
    opt_out: SuppressionReason | None = None
    names_attempt: bool = True
    """Whether it says whose attempt it is, by key or by digest."""


class Make(Protocol):
    """Makes the adapter for a server."""

    def __call__(self, client: httpx.AsyncClient, url: str, budget: timedelta, clock: Clock) -> Provider:
        """Make it."""
        ...


def as_json(fields: Json) -> bytes:
    """Answer a look-up with these fields."""
    return answer(200, fields)


def unheard_in_json(http: int) -> bytes:
    """Answer with an error that nobody documented."""
    return answer(http, {"error": "unheard of"})


@dataclass(frozen=True, slots=True)
class Subject:
    """One adapter in one manner, with what its provider documents."""

    name: str
    message: Message
    """EMAIL or SMS."""
    make: Make
    fake: Callable[[], FakeApi] | None
    """The provider itself, as a server that remembers; None for the sandbox, which is one."""
    taken: bytes
    """The whole answer to an accepted send."""
    content: Callable[[Received], tuple[str, str]]
    """The key (as its label, where it is one) and the text in a request, as the provider reads them."""
    carries_key: bool = True
    """Whether a request has a place for our key."""
    lists_faults: bool = True
    """Whether its list takes addresses for a fault; else people's choices alone."""
    punycode: bool = True
    """Whether it is told domains in ASCII; else it wants them as they are written."""
    acceptance: Status = Status.PENDING
    """What an accepted send reads as."""
    provider_id: str = "sb_1"
    """The id in `taken`."""
    state: Callable[[Json], bytes] = as_json
    """The whole answer to a look-up that says this."""
    said: tuple[Said, ...] = ()
    unknown_word: Json | None = None
    """A look-up's answer with a word that nobody documented."""
    unknown_message: bytes = answer(404, {"error": "unknown_message"})
    """The whole answer to a look-up of what the provider does not know."""
    refusals: tuple[Refusal, ...] = ()
    unheard: Callable[[int], bytes] = unheard_in_json
    """The whole answer with this HTTP status, in the provider's own shape, of an undocumented error."""
    heard: tuple[Heard, ...] = ()
    signature_header: str = ""
    """The header whose alteration must be noticed; "" where callbacks are not signed."""
    signs_body: bool = True
    oldest: timedelta | None = TOLERANCE
    """How old a callback may be, by its own timestamp; None where it has none."""

    def at(
        self,
        client: httpx.AsyncClient,
        url: str,
        budget: timedelta = wire.SEND_BUDGET,
        clock: Clock = lambda: NOW,
    ) -> Provider:
        """Make the adapter for a server."""
        return self.make(client, url, budget, clock)


def json_of(received: Received) -> dict[str, object]:
    """Return the JSON object of a request."""
    fields = json.loads(received.body)
    assert isinstance(fields, dict)
    return fields
