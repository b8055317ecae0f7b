"""An ASGI app as a server inside a running event loop, which finishes what is in hand before it leaves."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import uvicorn
from starlette.types import ASGIApp
from typing_extensions import override

from activities.discreet import PublicError
from receiver.connections import Limits, within
from receiver.lasting import LONGEST

_BACKLOG: Final = 2048

FINISH: Final = LONGEST + timedelta(seconds=2)
"""How long requests in hand may take once it is told to leave; longer than any of them is allowed to."""


class CannotListenError(PublicError):
    """The address cannot be had; one line that names it, and ends in what to do."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; port 0 takes a free one."""

    host: str = "127.0.0.1"
    port: int = 0

    @property
    def url(self) -> str:
        """The base URL; an IPv6 address stands in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


class _Embedded(uvicorn.Server):
    """Leaves signals to the process that it lives in, and says when it is ready."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    @override
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@asynccontextmanager
async def serving(
    app: ASGIApp, at: Address, *, finish: timedelta = FINISH, limits: Limits | None = None
) -> AsyncIterator[Address]:
    """Serve until the block is left, and yield where; raises CannotListenError.

    Leaving it takes no more connections, and waits for the requests in hand, at most as long as `finish`.
    """
    listener = _bound(at)
    server = _Embedded(_config(app, finish, limits or Limits()))
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await server.ready.wait()
        yield Address(at.host, listener.getsockname()[1])
    finally:
        server.should_exit = True
        await running


def _config(app: ASGIApp, finish: timedelta, limits: Limits) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=within(limits),
        ws="none",
        lifespan="off",
        # Paths hold tokens, so none is ever logged; below ERROR the server tells of what strangers send.
        access_log=False,
        log_config=None,
        log_level="error",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=max(1, round(finish.total_seconds())),
    )


def _bound(at: Address) -> socket.socket:
    """Return a listening socket; raises CannotListenError."""
    try:
        return _tcp(at)
    except UnicodeError:
        raise CannotListenError("cannot listen: the host is no name: choose another address") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        words = f"cannot listen at {at.host} port {at.port} ({reason}): choose another address"
        raise CannotListenError(words) from None


def _tcp(at: Address) -> socket.socket:
    """Bind a TCP socket that says it is one: else asyncio leaves Nagle on, and every reply takes 40 ms."""
    found = socket.getaddrinfo(at.host, at.port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        # Here, where it can still be told: of two who start at once both may have bound.
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener
