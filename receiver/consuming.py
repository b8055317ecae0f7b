"""Tries at a secret, from a page or from a backend: made into digests, judged, answered evenly.

The ledger is asked first, and the engine only where the secret is right: whoever guesses can neither fill a
workflow nor wait in its line, and learns nothing from how long an engine takes.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final, Self

from activities.challenge import code_digest, link_digest
from activities.store.challenge_rows import ChallengeRow
from activities.store.errors import StoreError
from activities.transitions import tried
from client import verifying
from client.verifying import NOT_CONSUMED, PATIENCE, NoAnswerError
from receiver.evenly import Evenly
from receiver.parts import Parts
from receiver.turns import Turns
from workflows.policy.keys import CHALLENGE
from workflows.policy.verification import Consumption, Presented
from workflows.policy.words import ChallengeState

MOST: Final = 64
"""Tries in hand at once at one door: what people send through pages takes no place of backends."""

TELLING: Final = timedelta(minutes=1)
"""How long a workflow may be without a worker, as during a deployment, and still hear of its last guess."""

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
    guesses: Turns = field(default_factory=lambda: Turns(at_once=1))
    room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST))
    telling: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    """By challenge, what its workflow is being told behind everybody's back."""
    patience: timedelta = PATIENCE
    """With waiting for a turn."""

    def another_door(self) -> Self:
        """Return the same trials behind a door of its own: only the room is not shared."""
        return replace(self, room=asyncio.Semaphore(MOST))

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
        return await self._consume(row, Presented(link=digest), once)

    async def _by_code(self, challenge_id: str, code: str, once: str) -> Consumption:
        digits = _digits(code)
        if len(digits) not in _CODE or not CHALLENGE.fullmatch(challenge_id):
            return NOT_CONSUMED
        presented = Presented(code=code_digest(self.parts.keyring, challenge_id, digits))
        row = await self.parts.ledger.challenges.find(challenge_id)
        if row is not None and row.matches(presented):
            return await self._consume(row, presented, once)
        if row is not None and row.counts_guesses(self.parts.clock()):
            await self._guess(row, presented, _attempt(presented, once))
        return NOT_CONSUMED

    async def _consume(self, row: ChallengeRow, presented: Presented, once: str) -> Consumption:
        """Put a right secret to the engine, unless it is known to be good no longer."""
        attempt_id = _attempt(presented, once)
        if not await self._may_work(row, attempt_id):
            return NOT_CONSUMED
        async with self.turns.of(row.id):
            return await verifying.consume(self.parts.client, row.id, presented, attempt_id, self.patience)

    async def _may_work(self, row: ChallengeRow, attempt_id: str) -> bool:
        match row.state:
            case ChallengeState.ACTIVE:
                return True
            case ChallengeState.CONSUMED:
                # The second of two clicks on one page is told what the first was told.
                return bool(await self.parts.ledger.challenges.tried(row.id, attempt_id))
            case _:
                return False

    async def _guess(self, row: ChallengeRow, presented: Presented, attempt_id: str) -> None:
        """Put a wrong code on record; what comes in a flood behind the last one that counts is let by."""
        async with self.guesses.of(row.id) as line:
            if line.is_over:
                return
            trial = await self.parts.ledger.challenges.consume(
                row.id, presented, attempt_id, at=self.parts.clock()
            )
            line.is_over = trial is None or trial.state is not ChallengeState.ACTIVE
        if trial is not None:
            tried(self.parts.meters, row.kind, trial)
            if trial.state is ChallengeState.DEAD:
                self._tell(row.id, presented)

    def _tell(self, challenge_id: str, presented: Presented) -> None:
        """Let the workflow know of the last guess, so that it ends; nobody waits: the ledger's word holds."""
        if challenge_id in self.telling:
            return
        told = asyncio.create_task(self._tells(challenge_id, presented))
        self.telling[challenge_id] = told
        told.add_done_callback(lambda _: self.telling.pop(challenge_id))

    async def _tells(self, challenge_id: str, presented: Presented) -> None:
        with suppress(NoAnswerError):
            await verifying.consume(self.parts.client, challenge_id, presented, _last(challenge_id), TELLING)


def _attempt(presented: Presented, once: str) -> str:
    """Name a try by its rendering and by what was brought: who knows one has not yet the answer to it.

    A page that comes back with another code is another try.
    """
    return opaque(f"{once}\0{presented.link or presented.code}")


def _last(challenge_id: str) -> str:
    """Name what a workflow is told of its last guess: of all processes that saw it, one is heard."""
    return opaque(f"{challenge_id}\0dead")


def _digits(code: str) -> str:
    """Return the digits of a code as ASCII, in whatever script and groups they were typed; else nothing."""
    typed = "".join(code.split())
    return "".join(str(int(each)) for each in typed) if typed.isdecimal() else ""
