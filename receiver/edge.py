"""What holds for every answer: headers that keep it to itself, a bound on what is in hand, no surprises."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from http import HTTPStatus
from logging import ERROR
from types import MappingProxyType
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from activities.logs import event
from receiver.places import Bounds, Place, Places
from receiver.problems import Problem

HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Cache-Control": "no-store",
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        # Addresses hold tokens, which no other site may learn.
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "X-Robots-Tag": "noindex, nofollow",
    }
)
"""On every answer that does not say otherwise itself."""

HTTPS_ONLY: Mapping[str, str] = MappingProxyType({"Strict-Transport-Security": "max-age=31536000"})

ALIVE: Final = "/healthz"
READY: Final = "/readyz"

ALWAYS: Final = frozenset({ALIVE, READY})
"""Answered however busy it is: a process that is at work must not be taken for one that is not."""

KEPT: Final = ("/callbacks/", "/notices", "/results/", "/verifications")
"""How addresses begin that want a key or a signature; all others share the places of strangers."""


class Edge:
    """Wraps the whole app; nothing that it logs holds an address of a request.

    `longest` is how long any request may take; None leaves that to the app.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        is_https: bool = False,
        bounds: Bounds | None = None,
        longest: timedelta | None = None,
    ) -> None:
        self._app = app
        self._headers = {**HEADERS, **(HTTPS_ONLY if is_https else {})}
        self._places = Places(bounds or Bounds())
        self._longest = None if longest is None else longest.total_seconds()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send, self._headers)
        if scope["path"] in ALWAYS:
            await self._serve(scope, receive, answer)
            return
        try:
            with self._places.held(receive, is_open=not scope["path"].startswith(KEPT)) as place:
                answer.place = place
                await self._serve(scope, place.receive, answer)
        except Problem as full:
            await full.answer()(scope, receive, answer)

    async def _serve(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        limit = asyncio.timeout(self._longest)
        try:
            async with limit:
                await self._app(scope, receive, answer)
        except asyncio.CancelledError:
            if not answer.has_begun:
                await _leaving().answer()(scope, receive, answer)
            raise
        except Exception as error:
            if answer.has_begun:
                raise
            if limit.expired():
                await _late().answer()(scope, receive, answer)
                return
            # Of an error that nobody foresaw the class alone is known to hold nothing of the request.
            event("request failed", level=ERROR, error=type(error).__name__)
            await _failed().answer()(scope, receive, answer)


class _Answer:
    """Passes an answer on, with the headers that it does not have itself."""

    def __init__(self, send: Send, headers: Mapping[str, str]) -> None:
        self._send = send
        self._headers = headers
        self.place: Place | None = None
        """Given back as soon as there is an answer: waiting for somebody to read costs no place."""
        self.has_begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            if self.place is not None:
                self.place.leave()
            given = MutableHeaders(scope=message)
            for name, value in self._headers.items():
                given.setdefault(name, value)
        await self._send(message)


def _late() -> Problem:
    words = "it took too long: the same request again is safe"
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, words, headers={"Retry-After": "5"})


def _leaving() -> Problem:
    words = "this process is leaving, and could not finish: the same request again is safe"
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, words, headers={"Retry-After": "1"})


def _failed() -> Problem:
    return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "something went wrong here; it is in the log")
