"""Who has a place here: requests at work, those of strangers among them, and bodies that still arrive.

Waiting for somebody to send, or to read an answer, costs no place. What strangers can fill are their own
places, and those of bodies that are not whole, where whoever has taken longest gives way to whoever comes.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus

from starlette.types import Message, Receive

from receiver.problems import Problem


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much one process has in hand at once."""

    most: int = 256
    """Requests at work; whoever comes beyond is asked to come again."""
    strangers: int = 128
    """Of those, the ones at addresses that anybody may open."""
    arriving: int = 256
    """Bodies that are not whole, of a megabyte at most."""


@dataclass(slots=True)
class Places:
    """The places of one process."""

    bounds: Bounds = Bounds()
    _taken: int = 0
    _strangers: int = 0
    _arriving: "dict[Place, None]" = field(default_factory=dict)
    """The longest on its way first."""

    @contextmanager
    def held(self, receive: Receive, *, is_open: bool) -> "Iterator[Place]":
        """Hold a place for the block; raises Problem where there is none."""
        place = Place(self, receive, is_open=is_open)
        self.take(place)
        try:
            yield place
        finally:
            self.leave(place)

    def take(self, place: "Place") -> None:
        """Raises Problem where all are taken that it could have."""
        self._arriving.pop(place, None)
        of_strangers = place.is_open and self._strangers >= self.bounds.strangers
        if of_strangers or self._taken >= self.bounds.most:
            raise _busy()
        place.is_held = True
        self._taken += 1
        self._strangers += place.is_open

    def leave(self, place: "Place") -> None:
        """Give back what a request has."""
        self._arriving.pop(place, None)
        if place.is_held:
            place.is_held = False
            self._taken -= 1
            self._strangers -= place.is_open

    def wait(self, place: "Place") -> None:
        """Let a request wait for its body; beyond the most, the one that has waited longest is sent away."""
        if place.is_held:
            self.leave(place)
        self._arriving.setdefault(place)
        if len(self._arriving) > self.bounds.arriving:
            longest = next(iter(self._arriving))
            del self._arriving[longest]
            longest.give_way()


class Place:
    """The place of one request, which has none while its body is on the way."""

    def __init__(self, places: Places, receive: Receive, *, is_open: bool) -> None:
        self.is_open = is_open
        self.is_held = False
        self._places = places
        self._receive = receive
        self._is_whole = False
        self._wait: asyncio.Timeout | None = None

    async def receive(self) -> Message:
        """Receive as ASGI does.

        Raises TimeoutError where the body has to give way, Problem where it is whole and no place is free.
        """
        if self._is_whole:
            return await self._receive()
        self._places.wait(self)
        message = await self._next()
        if message["type"] == "http.request" and not message.get("more_body", False):
            self._is_whole = True
            self._places.take(self)
        return message

    def leave(self) -> None:
        """Give it back before the request is over."""
        self._places.leave(self)

    def give_way(self) -> None:
        """End the wait for more of the body."""
        if self._wait is not None:
            self._wait.reschedule(asyncio.get_running_loop().time())

    async def _next(self) -> Message:
        try:
            async with asyncio.timeout(None) as self._wait:
                return await self._receive()
        finally:
            self._wait = None


def _busy() -> Problem:
    words = "too much is in hand: the same request again is safe"
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, words, headers={"Retry-After": "1"})
