"""A receiver without sockets: the whole app, a real ledger, adapters at a fixed time, a fake engine."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode
from typing_extensions import override

from activities.catalogue import Catalogue
from activities.keyring import Keyring
from activities.providers.errors import Misconfigured
from activities.providers.provider import Provider
from activities.providers.registry import Providers
from activities.settings import Settings
from activities.store.errors import Unreachable
from activities.store.ledger import Ledger
from activities.store.notices import Terms
from receiver.app import build
from receiver.parts import Parts
from tests.providers.subject import NOW
from workflows.policy.keys import attempt_key
from workflows.policy.models import NoticeRequest, Observation, Recipient
from workflows.policy.words import Channel

SHIPPED = Catalogue.load(Path(__file__).parents[2] / "notices")
KEYRING = Keyring.plaintext()
HASH = "e" * 64
API_KEY = "key-of-the-backends"
BEARER = {"Authorization": f"Bearer {API_KEY}"}
PUBLIC = "https://standby.example.com"
"""The address by which providers sign in these tests."""

SETTINGS = {"STANDBY_API_KEY": API_KEY, "STANDBY_PUBLIC_URL": PUBLIC, "STANDBY_SANDBOX_SECRET": "our-own"}
PERSONAL = ("anna.secret", "example.test", "2025550142", "+4915112345678", "t0p", "secret-link")
"""What no answer and no line of the log may hold."""

ASKED = NoticeRequest(
    kind="password_reset",
    event_id="e-1",
    recipient=Recipient(id="u-1", email="anna.secret@example.test", phone="+12025550142"),
)
EMAIL, SMS = (attempt_key(ASKED.key, each) for each in (Channel.EMAIL, Channel.SMS))


@dataclass
class Handle:
    """A run as the fake engine has it."""

    id: str
    engine: "Engine"

    async def signal(self, _signal: object, seen: Observation) -> None:
        self.engine.fail()
        if self.id not in self.engine.running:
            raise RPCError("workflow not found", RPCStatusCode.NOT_FOUND, b"")
        self.engine.heard.append(seen)

    async def describe(self, **_: object) -> object:
        self.engine.fail()
        raise RPCError("workflow not found", RPCStatusCode.NOT_FOUND, b"")

    async def result(self) -> object:
        return await self.describe()

    async def execute_update(self, *_: object, **__: object) -> object:
        return await self.describe()


@dataclass
class Engine:
    """Runs nothing, and remembers what it was told; `failure` is what every call ends in."""

    running: set[str] = field(default_factory=lambda: {ASKED.key})
    heard: list[Observation] = field(default_factory=list)
    failure: RPCError | None = None
    namespace: str = "default"
    started: list[str] = field(default_factory=list)

    @property
    def client(self) -> Client:
        return cast("Client", self)

    @property
    def workflow_service(self) -> Any:  # noqa: ANN401 - as much of it as is asked for
        return SimpleNamespace(describe_namespace=self._describe)

    @property
    def service_client(self) -> Any:  # noqa: ANN401 - the same
        return SimpleNamespace(config=SimpleNamespace(target_host="127.0.0.1:1"))

    def get_workflow_handle_for(self, _workflow: object, name: str) -> Handle:
        return Handle(name, self)

    async def start_workflow(self, _workflow: object, _request: object, **options: object) -> Handle:
        self.fail()
        name = str(options["id"])
        self.started.append(name)
        return Handle(name, self)

    def fail(self) -> None:
        if self.failure is not None:
            raise self.failure

    def away(self) -> None:
        self.failure = RPCError("connection refused", RPCStatusCode.UNAVAILABLE, b"")

    async def _describe(self, _asked: object, *, retry: bool, timeout: timedelta) -> None:  # noqa: ASYNC109
        assert retry
        assert timeout
        self.fail()


class Adapters(Providers):
    """Some adapters, by their own names; whoever else is asked for lacks a setting."""

    def __init__(self, *adapters: Provider) -> None:
        self._named = {each.name: each for each in adapters}

    @override
    def named(self, name: str) -> Provider:
        if name not in self._named:
            raise Misconfigured(f"STANDBY_{name.upper()}_API_KEY: is not set")
        return self._named[name]


def parts(
    ledger: Ledger,
    engine: Engine,
    adapters: Sequence[Provider] = (),
    settings: Mapping[str, str] | None = None,
) -> Parts:
    read = Settings.read(SETTINGS if settings is None else settings)
    return Parts(read, KEYRING, SHIPPED, ledger, Adapters(*adapters), engine.client, lambda: NOW)


@asynccontextmanager
async def calling(made: Parts) -> AsyncIterator[httpx.AsyncClient]:
    """Speak HTTP to the whole app."""
    transport = httpx.ASGITransport(build(made))
    async with httpx.AsyncClient(transport=transport, base_url=PUBLIC) as client:
        yield client


async def admitted(ledger: Ledger, asked: NoticeRequest = ASKED) -> None:
    """Put the notice on record, as its workflow does first."""
    kind = SHIPPED.get(asked.kind)
    terms = Terms(kind.policy, kind.digest, NOW + timedelta(minutes=10), "chain-1")
    await ledger.notices.admit(asked, terms, at=NOW)


async def dispatched(ledger: Ledger, provider: str, key: str = EMAIL) -> None:
    """Put an attempt on record whose reply has not come yet."""
    await admitted(ledger)
    await ledger.attempts.claim(key, provider=provider, address_hash=HASH, at=NOW)


def is_problem(answer: httpx.Response, status: int) -> bool:
    """Whether an answer is a problem of that status and shape, and tells nothing personal."""
    told: dict[str, object] = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(told) >= {"type", "title", "status", "detail"}
    assert not any(each in answer.text for each in PERSONAL)
    return [answer.status_code, told["status"]] == [status, status]


@contextmanager
def gone(ledger: Ledger) -> Iterator[None]:
    """Let a ledger be one that cannot be reached, for the block."""
    whole = dict(vars(ledger))
    vars(ledger).update({name: _Gone() for name in (*whole, "story", "challenge_story")})
    try:
        yield
    finally:
        vars(ledger).clear()
        vars(ledger).update(whole)


class _Gone:
    """A room of a ledger, or one of its methods."""

    def __getattr__(self, _name: str) -> object:
        return self

    async def __call__(self, *_: object, **__: object) -> None:
        raise Unreachable("ledger: PostgreSQL db:5432/standby cannot be reached")
