"""Connections, which strangers open at will: so many at most, and none for long that asks or takes nothing.

The server's own bound on concurrency is of no use against strangers: it closes nothing, and answers 503 to
whoever asks next. Here whoever has been silent longest gives way to whoever comes.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar, Final

from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

_PATIENCE: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Limits:
    """What connections are allowed."""

    head: timedelta = _PATIENCE
    """To bring the head of a request, the first or another, and the rest of what was answered early."""
    unread: timedelta = _PATIENCE
    """To read on, once an answer no longer fits into what the system keeps for it."""
    most: int = 768
    """Of one process, which can often open a thousand files, and needs some for its own work."""


class Punctual(H11Protocol):
    """Closes a connection on which no request begins in time, or whose answers nobody reads."""

    limits: ClassVar[Limits] = Limits()
    _silent_since: float = 0
    _deadline: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    @property
    def is_silent(self) -> bool:
        """Whether no request is at work on it."""
        return self.cycle is None or self.cycle.response_complete  # type: ignore[redundant-expr]  # it begins as None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > self.limits.most:
            self._make_room()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._deadline, self._unread):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    @override
    def on_response_complete(self) -> None:
        # First, as another request may be there already: it then begins within.
        self._wait()
        super().on_response_complete()

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(self.limits.unread.total_seconds(), self.transport.abort)

    @override
    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()

    def _wait(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._silent_since = self.loop.time()
        self._deadline = self.loop.call_later(self.limits.head.total_seconds(), self._end)

    def _end(self) -> None:
        """Hang up, also where what was answered last has not been read yet."""
        if self.is_silent:
            self.transport.abort()

    def _make_room(self) -> None:
        others = list(self._open())
        if len(others) >= self.limits.most:
            silent = [each for each in others if each.is_silent]
            leaving = min(silent, key=lambda each: each._silent_since, default=self)  # noqa: SLF001 - of its own kind
            leaving.transport.abort()

    def _open(self) -> "Iterator[Punctual]":
        for each in self.connections:
            if isinstance(each, Punctual) and each is not self and not each.transport.is_closing():
                yield each


def within(limits: Limits) -> type[asyncio.Protocol]:
    """Return the protocol with limits of its own: the server makes each connection's itself."""

    class Within(Punctual):
        pass

    Within.limits = limits
    return Within
