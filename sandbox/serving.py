"""Any ASGI app as a server inside a running event loop."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import uvicorn
from starlette.applications import Starlette
from typing_extensions import override

from sandbox.hangup import Droppable


@dataclass(frozen=True, slots=True)
class Running:
    """Where a sandbox listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The base URL, which is also the inbox page."""
        return f"http://{self.host}:{self.port}"


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


def _bound(host: str, port: int) -> socket.socket:
    """Bind a TCP socket that says it is one: else asyncio leaves Nagle on, and every reply takes 40 ms."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    return listener


@asynccontextmanager
async def serving(app: Starlette, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[Running]:
    """Serve until the block is left; port 0 takes a free one. Raises OSError where the port is taken.

    Leaving it sets `app.state.stopping`, which releases the replies that are held back.
    """
    listener = _bound(host, port)
    server = _Embedded(
        uvicorn.Config(app, http=Droppable, ws="none", lifespan="on", access_log=False, log_config=None),
    )
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await server.ready.wait()
        yield Running(host, listener.getsockname()[1])
    finally:
        app.state.stopping.set()
        server.should_exit = True
        await running
