"""A provider as a server that remembers what it accepted, and does wrong what it is told to."""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import ClassVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.hangup import TRANSPORTS, hang_up
from sandbox.serving import Running, serving

Endpoint = Callable[[Request], Awaitable[Response]]


class Fault(Enum):
    """What goes wrong with the next submission."""

    LOST = auto()
    """It is accepted, and the connection is dropped without a reply."""
    BROKEN = auto()
    """It is accepted, and a 500 says that something went wrong."""
    BUSY = auto()
    """It is not accepted: 429, as the provider says it."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A submission, as the provider reads it."""

    to: str
    key: str | None
    """Our key as it came with the content: whole, or as its label."""
    text: str
    idempotency: str | None = None
    """The key that the provider promises to honour."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers that the message carries."""
    content: object = None
    """All of it, to tell a repetition from another message under the same key."""


@dataclass(slots=True)
class Stored:
    """A message that was accepted."""

    id: str
    draft: Draft
    word: str
    """The provider's own."""
    detail: Mapping[str, object] = field(default_factory=dict)
    """What stands beside the word."""


class FakeApi(ABC):
    """One provider; a subclass says how it reads and writes, and nothing of what goes wrong."""

    first_word: ClassVar[str]
    """Of a message that was just accepted."""
    choice_word: ClassVar[str] = ""
    """Its word for an address that is held back by its person's own choice."""

    def __init__(self) -> None:
        self.messages: list[Stored] = []
        self.suppressed: dict[str, str] = {}
        """Addresses on the provider's own list, and its word for why."""
        self.submissions = 0
        """Requests to send, accepted or not."""
        self.faults: deque[Fault] = deque()
        self.lags = False
        """Whether what was accepted cannot be looked up yet."""
        self.denies = False
        """Whether our credentials are wrong."""
        self.violations: list[str] = []
        """Where requests differ from the provider's official description."""

    @abstractmethod
    def routes(self) -> list[Route]:
        """Return what the API answers."""

    @abstractmethod
    def credentials_hold(self, request: Request) -> bool:
        """Say whether a request brings the right credentials (SECRET)."""

    @abstractmethod
    def busy(self) -> Response:
        """Say 429, as the provider does."""

    def denied(self) -> Response:
        """Say that the credentials are wrong, as the provider does."""
        return JSONResponse({"error": "denied"}, 401)

    def broken(self) -> Response:
        """Say 500, as the provider does."""
        return JSONResponse({"error": "internal"}, 500)

    def mismatch(self) -> Response:
        """Say that a key stands for another content, as the provider does."""
        return JSONResponse({"error": "mismatch"}, 409)

    def new_id(self) -> str:
        """Return the id of the next message, in the provider's shape."""
        return f"m-{len(self.messages) + 1}"

    def known(self) -> list[Stored]:
        """Return what can be looked up."""
        return [] if self.lags else self.messages

    def by_id(self, provider_id: str) -> Stored | None:
        """Return a message that can be looked up."""
        return next((each for each in self.known() if each.id == provider_id), None)

    async def submit(self, request: Request, draft: Draft, receipt: Callable[[Stored], Response]) -> Response:
        """Take a submission, or do the next thing wrong; the send endpoint of a subclass ends here."""
        self.submissions += 1
        fault = self.faults.popleft() if self.faults else None
        if fault is Fault.BUSY:
            return self.busy()
        first = next(
            (
                each
                for each in self.messages
                if draft.idempotency and each.draft.idempotency == draft.idempotency
            ),
            None,
        )
        if first is not None and first.draft.content != draft.content:
            return self.mismatch()
        stored = first or Stored(self.new_id(), draft, self.first_word)
        if first is None:
            self.messages.append(stored)
        match fault:
            case Fault.LOST:
                return await hang_up(request)
            case Fault.BROKEN:
                return self.broken()
            case _:
                return receipt(stored)

    def app(self) -> Starlette:
        """Assemble the server."""

        @asynccontextmanager
        async def lifespan(_app: Starlette) -> AsyncIterator[dict[str, object]]:
            yield {TRANSPORTS: {}}

        routes = [
            Route(each.path, self._guarded(each.endpoint), methods=each.methods) for each in self.routes()
        ]
        app = Starlette(routes=routes, lifespan=lifespan)
        app.state.stopping = asyncio.Event()
        return app

    def _guarded(self, endpoint: Endpoint) -> Endpoint:
        async def guarded(request: Request) -> Response:
            if self.denies or not self.credentials_hold(request):
                return self.denied()
            return await endpoint(request)

        return guarded


@asynccontextmanager
async def running(fake: FakeApi) -> AsyncIterator[Running]:
    """Serve a fake on a free port of this machine."""
    async with serving(fake.app()) as server:
        yield server
