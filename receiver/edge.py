"""What holds for every answer: headers that keep it to itself, a bound on what is in hand, no surprises."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from logging import ERROR
from types import MappingProxyType
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from activities.logs import event
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

MOST: Final = 256
"""Requests in hand at once; whoever comes beyond is asked to come again."""

ALIVE: Final = "/healthz"
"""Answered however busy it is: a process that is at work must not be taken for dead."""


class Edge:
    """Wraps the whole app; nothing that it logs holds an address of a request."""

    def __init__(self, app: ASGIApp, *, is_https: bool = False, most: int = MOST) -> None:
        self._app = app
        self._headers = {**HEADERS, **(HTTPS_ONLY if is_https else {})}
        self._most = most
        self._in_hand = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send, self._headers)
        if self._in_hand >= self._most and scope["path"] != ALIVE:
            await _busy().answer()(scope, receive, answer)
            return
        self._in_hand += 1
        try:
            await self._app(scope, receive, answer)
        except asyncio.CancelledError:
            if not answer.has_begun:
                await _leaving().answer()(scope, receive, answer)
            raise
        except Exception as error:
            if answer.has_begun:
                raise
            # Of an error that nobody foresaw the class alone is known to hold nothing of the request.
            event("request failed", level=ERROR, error=type(error).__name__)
            await _failed().answer()(scope, receive, answer)
        finally:
            self._in_hand -= 1


class _Answer:
    """Passes an answer on, with the headers that it does not have itself."""

    def __init__(self, send: Send, headers: Mapping[str, str]) -> None:
        self._send = send
        self._headers = headers
        self.has_begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            given = MutableHeaders(scope=message)
            for name, value in self._headers.items():
                given.setdefault(name, value)
        await self._send(message)


def _busy() -> Problem:
    words = "too much is in hand: the same request again is safe"
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, words, headers={"Retry-After": "1"})


def _leaving() -> Problem:
    words = "this process is leaving, and could not finish: the same request again is safe"
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, words, headers={"Retry-After": "1"})


def _failed() -> Problem:
    return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "something went wrong here; it is in the log")
