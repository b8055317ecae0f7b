"""The provider's API under `/v1`: submissions, look-ups and suppressions."""

import asyncio
import math
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox import shapes
from sandbox.callbacks import Callbacks
from sandbox.config import Config
from sandbox.fates import BUSY_FOR, BUSY_TIMES, QUEUED, SLOW_REPLY, Fate, fate_of
from sandbox.hangup import hang_up
from sandbox.mailroom import Draft, Mailroom, Message, Mismatch


class Refused(Exception):  # noqa: N818  # it is an answer, not a fault of the program
    """A submission that was not accepted."""

    def __init__(self, status: HTTPStatus, error: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(error)
        self.error = error
        self.response = JSONResponse({"error": error}, status, headers)


class Api:
    """Answers callers; every answer to a submission is recorded."""

    def __init__(self, config: Config, room: Mailroom, stopping: asyncio.Event) -> None:
        self._config = config
        self._room = room
        self._stopping = stopping

    def routes(self) -> list[Route]:
        """Return what the API answers."""
        return [
            Route("/v1/messages", self.submit, methods=["POST"]),
            Route("/v1/messages", self.find, methods=["GET"]),
            Route("/v1/messages/{id}", self.show, methods=["GET"]),
            Route("/healthz", self.healthy, methods=["GET"]),
            Route("/v1/suppressions", self.suppress, methods=["POST"]),
            Route("/v1/suppressions/{address}", self.suppressed, methods=["GET"]),
            Route("/v1/suppressions/{address}", self.lift, methods=["DELETE"]),
        ]

    async def submit(self, request: Request) -> Response:
        """Take a message, or play the fault that its address names."""
        draft = shapes.draft(await request.body())
        if draft is None:
            return JSONResponse({"error": "invalid_request"}, HTTPStatus.BAD_REQUEST)
        key = request.headers.get("Idempotency-Key") if self._config.honours_keys else None
        try:
            first = self._first(draft, key)
        except Refused as refused:
            self._room.record(draft, refused.error)
            return refused.response
        if first is not None:
            self._room.record(draft, "repeated")
            return self._receipt(first)
        self._room.record(draft, "accepted")
        return await self._accept(draft, key, request)

    def _first(self, draft: Draft, key: str | None) -> Message | None:
        """Return the message that this one repeats; raises Refused for one that is not accepted."""
        try:
            first = self._room.honoured(key, draft)
        except Mismatch:
            raise Refused(HTTPStatus.CONFLICT, "key_mismatch") from None
        if first is None:
            self._admit(draft)
        return first

    def _admit(self, draft: Draft) -> None:
        match fate_of(draft.channel, draft.to):
            case Fate.DENIED:
                raise Refused(HTTPStatus.UNAUTHORIZED, "denied")
            case Fate.DOWN:
                raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "not_accepted")
            case Fate.BUSY if self._room.times(draft.key) < BUSY_TIMES:
                wait = math.ceil(self._config.scaled(BUSY_FOR).total_seconds())
                raise Refused(HTTPStatus.TOO_MANY_REQUESTS, "busy", {"Retry-After": str(wait)})
            case _ if not shapes.is_address(draft):
                raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_recipient")
            case _ if self._room.is_suppressed(draft.to):
                raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "suppressed")

    async def _accept(self, draft: Draft, key: str | None, request: Request) -> Response:
        message = self._room.accept(draft, key)
        callbacks: Callbacks = request.state.callbacks
        callbacks.follow(message)
        match message.fate:
            case Fate.LOST:
                return await hang_up(request)
            case Fate.SLOW:
                await self._dawdle()
        return self._receipt(message)

    async def _dawdle(self) -> None:
        """Hold the reply back, unless the server is stopping."""
        try:
            async with asyncio.timeout(self._config.scaled(SLOW_REPLY).total_seconds()):
                await self._stopping.wait()
        except TimeoutError:
            return

    def _receipt(self, message: Message) -> Response:
        return JSONResponse(shapes.state(message, QUEUED, message.at), HTTPStatus.CREATED)

    async def show(self, request: Request) -> Response:
        """Say where one message stands."""
        message = self._room.by_id(request.path_params["id"])
        if message is None:
            return JSONResponse({"error": "unknown_message"}, HTTPStatus.NOT_FOUND)
        return JSONResponse(self._state(message))

    async def find(self, request: Request) -> Response:
        """Say what was accepted under a key, in the manner that can."""
        key = request.query_params.get("key")
        if not self._config.honours_keys:
            return JSONResponse({"error": "no_look_up_by_key"}, HTTPStatus.NOT_FOUND)
        if key is None:
            return JSONResponse({"error": "invalid_request"}, HTTPStatus.BAD_REQUEST)
        return JSONResponse({"messages": [self._state(found) for found in self._room.by_key(key)]})

    def _state(self, message: Message) -> shapes.Json:
        step = self._room.step(message)
        return shapes.state(message, step, message.at + self._config.scaled(step.after))

    async def healthy(self, _request: Request) -> Response:
        """Say that it answers."""
        return JSONResponse({"status": "ok"})

    async def suppress(self, request: Request) -> Response:
        """Put an address on the list."""
        address = shapes.address(await request.body())
        if address is None:
            return JSONResponse({"error": "invalid_request"}, HTTPStatus.BAD_REQUEST)
        self._room.suppress(address)
        return JSONResponse({"suppressed": True}, HTTPStatus.CREATED)

    async def suppressed(self, request: Request) -> Response:
        """Say whether an address is on the list."""
        return JSONResponse({"suppressed": self._room.is_suppressed(request.path_params["address"])})

    async def lift(self, request: Request) -> Response:
        """Take an address off the list."""
        self._room.lift(request.path_params["address"])
        return Response(status_code=HTTPStatus.NO_CONTENT)
