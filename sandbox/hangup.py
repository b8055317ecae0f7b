"""Dropping a connection without a word, which ASGI has no message for."""

import asyncio
from collections.abc import MutableMapping
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

TRANSPORTS: Final = "transports"
"""Where the server's lifespan keeps the open connections, by the caller's address."""

Transports = MutableMapping[tuple[str, int], asyncio.Transport]


class Droppable(H11Protocol):
    """Uvicorn's HTTP/1.1, with the open connections where an endpoint can find its own."""

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn does
        super().connection_made(transport)
        if self.client is not None:
            self.app_state[TRANSPORTS][self.client] = transport

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.client is not None:
            self.app_state[TRANSPORTS].pop(self.client, None)


async def hang_up(request: Request) -> Response:
    """Close the caller's connection; the response that is returned reaches nobody."""
    transports: Transports = getattr(request.state, TRANSPORTS)
    if request.client is not None:
        transports[request.client.host, request.client.port].abort()
    await request.receive()  # the body is read: what comes next is the disconnect
    return Response()
