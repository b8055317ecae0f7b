"""One HTTP request, performed once; how its failure to bring an answer is read.

========================================================  =============  ==============
what happened                                             to a send      to a look-up
========================================================  =============  ==============
name not found, refused, connect timeout, TLS             NotSent        ReadFailed
write or read timeout, reset, budget spent, cut body      Ambiguous      ReadFailed
========================================================  =============  ==============

What a complete answer means is read in `activities.providers.answers`.
"""

import asyncio
import zlib
from collections.abc import Mapping
from datetime import timedelta
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import MappingProxyType
from typing import Final

import httpx

from activities.providers import answers
from activities.providers.answers import Answer, Json
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, ReadFailed

CONNECT_TIMEOUT: Final = timedelta(seconds=5)
POOL_TIMEOUT: Final = timedelta(seconds=5)
WRITE_TIMEOUT: Final = timedelta(seconds=10)
READ_TIMEOUT: Final = timedelta(seconds=15)

SEND_BUDGET: Final = timedelta(seconds=20)
"""The whole of a send, whatever its phases; well below the start-to-close of the activity around it."""

READ_BUDGET: Final = timedelta(seconds=10)

KEEP_ALIVE: Final = timedelta(seconds=5)
"""Shorter than most servers': a send on a connection that is just being closed is ambiguous for nothing."""

LONGEST_BODY: Final = 1_000_000

_GZIP: Final = 16 + zlib.MAX_WBITS

_NO_SCHEME = "the address of the API must start with https:// or http://"

_WORDS: Mapping[type[Exception], str] = MappingProxyType(
    {
        httpx.ConnectError: "connection failed",
        httpx.ConnectTimeout: "connect timeout",
        httpx.PoolTimeout: "no free connection",
        httpx.ProxyError: "proxy refused the connection",
        httpx.ReadTimeout: "read timeout",
        httpx.WriteTimeout: "write timeout",
        httpx.RemoteProtocolError: "connection dropped",
        httpx.ReadError: "connection reset while reading",
        httpx.WriteError: "connection reset while writing",
        TimeoutError: "time budget spent",
    },
)


def new_client(transport: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncClient:
    """Make the one client of a process: no retries, redirects or cookies, nothing from the environment."""
    limits = httpx.Limits(max_connections=100, keepalive_expiry=KEEP_ALIVE.total_seconds())
    return httpx.AsyncClient(
        transport=transport
        or httpx.AsyncHTTPTransport(http2=True, retries=0, limits=limits, trust_env=False),
        timeout=httpx.Timeout(
            connect=CONNECT_TIMEOUT.total_seconds(),
            pool=POOL_TIMEOUT.total_seconds(),
            write=WRITE_TIMEOUT.total_seconds(),
            read=READ_TIMEOUT.total_seconds(),
        ),
        follow_redirects=False,
        trust_env=False,
        # A cookie would outlive its answer, and one that is not ASCII makes httpx refuse every later request.
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        headers={"User-Agent": "standby", "Accept-Encoding": "gzip"},
    )


async def submit(
    client: httpx.AsyncClient,
    request: httpx.Request,
    budget: timedelta = SEND_BUDGET,
) -> Answer:
    """Perform a send once; raises NotSent or Ambiguous where no complete answer came, else Misconfigured."""
    try:
        return await _perform(client, request, budget)
    except httpx.UnsupportedProtocol:
        raise Misconfigured(_NO_SCHEME) from None
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError) as fault:
        raise NotSent(_named(fault)) from None
    except Exception as fault:  # noqa: BLE001  # whatever broke, the request may have left
        raise Ambiguous(_named(fault)) from None


async def fetch(
    client: httpx.AsyncClient,
    request: httpx.Request,
    budget: timedelta = READ_BUDGET,
    longest: int = LONGEST_BODY,
) -> Answer:
    """Perform a look-up once; raises ReadFailed where no complete answer came, else Misconfigured."""
    try:
        return await _perform(client, request, budget, longest)
    except httpx.UnsupportedProtocol:
        raise Misconfigured(_NO_SCHEME) from None
    except Exception as fault:  # noqa: BLE001  # whatever broke, nothing was learnt
        raise ReadFailed(_named(fault)) from None


async def check(client: httpx.AsyncClient, request: httpx.Request) -> Json:
    """Perform a check of the set-up once, and return its fields; raises ReadFailed or Misconfigured."""
    fields = answers.found(await fetch(client, request))
    if fields is None:
        raise ReadFailed("it does not know what was asked for")
    return fields


async def _perform(
    client: httpx.AsyncClient, request: httpx.Request, budget: timedelta, longest: int = LONGEST_BODY
) -> Answer:
    async with asyncio.timeout(budget.total_seconds()):
        response = await client.send(request, stream=True, follow_redirects=False)
        try:
            body = bytearray()
            async for chunk in _as_it_came(response):
                body += chunk
                if len(body) > longest:
                    raise httpx.DecodingError("too long")
        finally:
            await response.aclose()
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status_code, headers, _unpacked(bytes(body), headers, longest))


def _as_it_came(response: httpx.Response) -> httpx.AsyncByteStream:
    """Return the body without the library's unpacking, which knows no bounds."""
    if not isinstance(response.stream, httpx.AsyncByteStream):
        raise httpx.DecodingError("no stream")
    return response.stream


def _unpacked(body: bytes, headers: Mapping[str, str], longest: int) -> bytes:
    """Undo the one encoding that is asked for, within bounds: a small body may unpack to a huge one."""
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding in {"", "identity"}:
        return body
    if encoding != "gzip":
        raise httpx.DecodingError("an encoding that was not asked for")
    unpacking = zlib.decompressobj(_GZIP)
    found = unpacking.decompress(body, longest + 1)
    if len(found) > longest or not unpacking.eof:
        raise httpx.DecodingError("too long, or cut short")
    return found


def _named(fault: Exception) -> str:
    """Name a fault by its class: what these exceptions say may quote addresses and content."""
    return _WORDS.get(type(fault), f"{type(fault).__name__} on the wire")
