"""Tries at a secret, from a page or from a backend: made into digests, put to the engine, answered evenly."""

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from activities.challenge import code_digest, link_digest
from activities.store.errors import StoreError
from client import verifying
from client.verifying import NOT_CONSUMED, PATIENCE, NoAnswerError
from receiver.evenly import Evenly
from receiver.parts import Parts
from receiver.turns import Turns
from workflows.policy.keys import CHALLENGE
from workflows.policy.verification import Consumption, Presented

MOST: Final = 128
"""Tries in hand at once: half of what one process has in hand at all."""

_CODE: Final = range(6, 9)
"""How many digits a code can have."""


def fresh_once() -> str:
    """Make the name of a try that nobody can guess."""
    return secrets.token_urlsafe(18)


def opaque(name: str) -> str:
    """Return the id of an update: it stands in the engine's history for everybody to read."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Trials:
    """Where secrets are presented; one to a process, so that its turns count all tries."""

    parts: Parts
    evenly: Evenly = field(default_factory=Evenly)
    turns: Turns = field(default_factory=Turns)
    room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST))
    patience: timedelta = PATIENCE
    """With waiting for a turn."""

    async def link(self, token: str, once: str, of: str | None = None) -> Consumption:
        """Try the secret of a link, of any challenge or of this one; raises NoAnswerError."""
        return await self._evenly(lambda: self._by_link(token, once, of))

    async def code(self, challenge_id: str, code: str, once: str) -> Consumption:
        """Try a code; raises NoAnswerError. What cannot be one is wrong, and does not count as a guess."""
        return await self._evenly(lambda: self._by_code(challenge_id, code, once))

    async def _evenly(self, trying: Callable[[], Awaitable[Consumption]]) -> Consumption:
        if self.room.locked():
            # Each failure waits for its time: guesses must not take the place of callbacks meanwhile.
            raise NoAnswerError
        async with self.room:
            return await self.evenly.answer(self._bounded(trying))

    async def _bounded(self, trying: Callable[[], Awaitable[Consumption]]) -> Consumption:
        try:
            async with asyncio.timeout(self.patience.total_seconds()):
                return await trying()
        except (StoreError, TimeoutError):
            raise NoAnswerError from None

    async def _by_link(self, token: str, once: str, of: str | None) -> Consumption:
        digest = link_digest(self.parts.keyring, token)
        row = await self.parts.ledger.challenges.by_link(digest)
        if row is None or of not in {None, row.id}:
            return NOT_CONSUMED
        return await self._present(row.id, Presented(link=digest), once)

    async def _by_code(self, challenge_id: str, code: str, once: str) -> Consumption:
        digits = _digits(code)
        if len(digits) not in _CODE:
            return NOT_CONSUMED
        digest = code_digest(self.parts.keyring, challenge_id, digits)
        return await self._present(challenge_id, Presented(code=digest), once)

    async def _present(self, challenge_id: str, presented: Presented, once: str) -> Consumption:
        if not CHALLENGE.fullmatch(challenge_id):
            return NOT_CONSUMED
        async with self.turns.of(challenge_id):
            return await verifying.consume(
                self.parts.client, challenge_id, presented, _attempt(presented, once), self.patience
            )


def _attempt(presented: Presented, once: str) -> str:
    """Name a try by its rendering and by what was brought: who knows one has not yet the answer to it.

    A page that comes back with another code is another try.
    """
    return opaque(f"{once}\0{presented.link or presented.code}")


def _digits(code: str) -> str:
    """Return the digits of a code as ASCII, in whatever script and groups they were typed; else nothing."""
    typed = "".join(code.split())
    return "".join(str(int(each)) for each in typed) if typed.isdecimal() else ""
