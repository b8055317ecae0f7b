"""The sandbox as an ASGI app, and as a server inside a running event loop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from starlette.applications import Starlette

from sandbox.api import Api
from sandbox.callbacks import PATIENCE, Callbacks
from sandbox.config import Config
from sandbox.hangup import TRANSPORTS, Transports
from sandbox.inbox import Inbox
from sandbox.mailroom import Mailroom
from sandbox.serving import Running, serving


def build(config: Config) -> Starlette:
    """Assemble the app; setting `app.state.stopping` releases the replies that are held back."""
    room = Mailroom(config)
    stopping = asyncio.Event()

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[dict[str, object]]:
        transports: Transports = {}
        async with httpx.AsyncClient(timeout=PATIENCE.total_seconds(), trust_env=False) as client:
            callbacks = Callbacks(config, client)
            yield {TRANSPORTS: transports, "callbacks": callbacks}
            await callbacks.close()

    app = Starlette(
        routes=[*Api(config, room, stopping).routes(), *Inbox(room).routes()],
        lifespan=lifespan,
    )
    app.state.stopping = stopping
    return app


@asynccontextmanager
async def serve(config: Config, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[Running]:
    """Serve a sandbox until the block is left. Raises OSError where the port is taken."""
    async with serving(build(config), host, port) as running:
        yield running
