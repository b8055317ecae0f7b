"""The body of a request, read within bounds of size and time."""

import asyncio
from datetime import timedelta
from http import HTTPStatus
from typing import Final

from starlette.requests import ClientDisconnect, Request

from receiver.problems import Problem

LARGEST: Final = 1024 * 1024
"""Bytes of a body: a provider's largest batch, and far more than any notice."""

PATIENCE: Final = timedelta(seconds=10)
"""How long a body may take to arrive: who sends it drop by drop holds a place that others need."""

_DIGITS: Final = 18
"""Of a length that a server can count with."""


async def body(request: Request, largest: int = LARGEST, *, patience: timedelta = PATIENCE) -> bytes:
    """Return the raw body; raises Problem for one that is too large, or that comes too slowly."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and (len(announced) > _DIGITS or int(announced) > largest):
        raise _too_large(largest)
    try:
        async with asyncio.timeout(patience.total_seconds()):
            return await _whole(request, largest)
    except ClientDisconnect:
        raise Problem(HTTPStatus.BAD_REQUEST, "the body did not arrive whole") from None
    except TimeoutError:
        words = "the body did not arrive in time"
        raise Problem(HTTPStatus.REQUEST_TIMEOUT, words, headers={"Connection": "close"}) from None


async def _whole(request: Request, largest: int) -> bytes:
    read = bytearray()
    async for piece in request.stream():
        read += piece
        if len(read) > largest:
            raise _too_large(largest)
    return bytes(read)


def _too_large(largest: int) -> Problem:
    words = f"the body is larger than {largest} bytes"
    return Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, words, headers={"Connection": "close"})
