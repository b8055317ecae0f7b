"""A server that says exactly what a test tells it to, over a real socket, and remembers what it was asked."""

import asyncio
import json
import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum, auto
from socket import SO_LINGER, SOL_SOCKET

PATIENCE = timedelta(seconds=60)


class Fault(Enum):
    """What a server can do instead of answering, once the whole request has arrived."""

    SILENCE = auto()
    DROP = auto()
    RESET = auto()


@dataclass(frozen=True, slots=True)
class Received:
    """One request."""

    line: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def identity(self) -> tuple[str, str | None, bytes]:
        """What a provider could tell two submissions apart by."""
        return self.line, self.headers.get("idempotency-key"), self.body


@dataclass(slots=True)
class Scripted:
    """The script: the same answer to every request, until it is changed."""

    url: str
    answer: bytes | Fault
    requests: list[Received] = field(default_factory=list)
    _arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def received(self, count: int) -> list[Received]:
        """Wait until so many requests have arrived."""
        async with asyncio.timeout(PATIENCE.total_seconds()), self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)
        return self.requests

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read one request and do as the script says."""
        try:
            received = await _read(reader)
            async with self._arrived:
                self.requests.append(received)
                self._arrived.notify_all()
            await self._reply(reader, writer)
        finally:
            writer.close()

    async def _reply(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        match self.answer:
            case Fault.SILENCE:
                await reader.read()
            case Fault.RESET:
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, linger)
            case bytes() as answer:
                writer.write(answer)
                await writer.drain()


async def _read(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *rest = head.strip().split("\r\n")
    headers = {name.lower(): value for name, value in (field.split(": ", 1) for field in rest)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(line, headers, body)


def answer(status: int, body: bytes | Mapping[str, object] = b"", **headers: str) -> bytes:
    """Write an HTTP answer; a mapping is sent as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"HTTP/1.1 {status} So", "Connection: close", f"Content-Length: {len(content)}"]
    lines += [f"{name}: {value}" for name, value in named.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


@asynccontextmanager
async def scripted(says: bytes | Fault = b"") -> AsyncIterator[Scripted]:
    """Serve a script on a free port of this machine."""
    script = Scripted("", says)
    server = await asyncio.start_server(script.handle, "127.0.0.1", 0)
    script.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield script
    finally:
        server.close()
