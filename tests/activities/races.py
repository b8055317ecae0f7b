"""Several runs of one dispatch, each on a worker of its own, let on from one transaction to the next."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from typing_extensions import override

from activities.clock import EngineClock
from activities.providers.base import Capabilities, Message, Reported
from activities.providers.errors import Misconfigured, NotSent
from activities.store.attempts import Attempts, Claim, Fresh
from activities.store.evidence import Evidence
from activities.store.filings import Kept
from activities.store.ledger import Ledger
from tests.activities.given import NOW, Scripted, dispatcher, outcome
from workflows import calls
from workflows.policy.models import Observation

DISPROVES = (NotSent, Misconfigured)
"""Answers which prove that this crossing was not accepted."""


@dataclass
class Crossing:
    """One submission; `disproved` once its own provider has said that it was not accepted."""

    provider: str
    at: datetime
    disproved: bool = False


@dataclass
class World:
    """What really happened, and when it is."""

    window: timedelta | None
    crossings: list[Crossing] = field(default_factory=list)
    now: datetime = NOW
    doubled: bool = False

    def cross(self, provider: str) -> Crossing:
        """Let a message through, and note where it may be a second one."""
        doubtful = [each for each in self.crossings if not each.disproved]
        honoured = self.window is not None and all(
            each.provider == provider and self.now < each.at + self.window for each in doubtful
        )
        self.doubled |= bool(doubtful) and not honoured
        crossing = Crossing(provider, self.now)
        self.crossings.append(crossing)
        return crossing


class Turn:
    """Holds a run where it is until the test lets it go on."""

    def __init__(self) -> None:
        self._go, self._held = asyncio.Event(), asyncio.Event()

    async def here(self) -> None:
        self._go.clear()
        self._held.set()
        await self._go.wait()

    async def next(self, run: asyncio.Task[str]) -> None:
        """Let a run go on, and wait until it is held again or has ended."""
        self._held.clear()
        self._go.set()
        held = asyncio.ensure_future(self._held.wait())
        await asyncio.wait({run, held}, return_when=asyncio.FIRST_COMPLETED)
        held.cancel()


class HeldAttempts(Attempts):
    """Holds a run before and after each of its transactions: elsewhere nothing can come between."""

    def __init__(self, ledger: Ledger, turn: Turn) -> None:
        super().__init__(ledger._engine)
        self._turn = turn

    @override
    async def claim(
        self, key: str, *, provider: str, address_hash: str, at: datetime, carries: bool = False
    ) -> Claim:
        await self._turn.here()
        claim = await super().claim(key, provider=provider, address_hash=address_hash, at=at, carries=carries)
        await self._turn.here()
        return claim

    @override
    async def repeat(self, key: str, *, at: datetime) -> bool:
        repeated = await super().repeat(key, at=at)
        await self._turn.here()
        return repeated

    @override
    async def release(self, key: str, claim: Fresh, *, note: str) -> bool:
        await self._turn.here()
        return await super().release(key, claim, note=note)


class HeldEvidence(Evidence):
    """Holds a run between the answer and its record."""

    def __init__(self, ledger: Ledger, turn: Turn) -> None:
        super().__init__(ledger._engine)
        self._turn = turn

    @override
    async def observe(self, seen: Observation, *, at: datetime, next_at: datetime | None = None) -> Kept:
        await self._turn.here()
        return await super().observe(seen, at=at, next_at=next_at)


@dataclass(kw_only=True)
class Wire(Scripted):
    """A provider that holds each message on the wire."""

    world: World
    turn: Turn

    @override
    async def send(self, message: Message) -> Reported:
        crossing = self.world.cross(self.name)
        await self.turn.here()
        try:
            return await super().send(message)
        except DISPROVES:
            crossing.disproved = True
            raise


class RunClock(EngineClock):
    """The world's time, as a run sees it that began at some moment."""

    def __init__(self, world: World) -> None:
        self._world, self._started = world, world.now

    @property
    @override
    def elapsed(self) -> timedelta:
        return self._world.now - self._started


@dataclass
class Run:
    """One run of the activity, on a worker of its own."""

    world: World
    turn: Turn
    begin: Callable[[], Coroutine[object, object, str]]
    task: asyncio.Task[str] | None = None

    async def live(self, happening: int | timedelta | str) -> None:
        match happening:
            case int():
                for _ in range(happening):
                    await self.step()
            case timedelta():
                self.world.now += happening
            case _:
                await self.die()

    async def step(self) -> None:
        if self.task is None:
            self.task = asyncio.ensure_future(self.begin())
        if not self.task.done():
            await self.turn.next(self.task)

    async def die(self) -> None:
        """The worker is killed where it is; one that has not begun never begins."""
        self.task = self.task or asyncio.ensure_future(asyncio.sleep(0, ""))
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task

    async def finish(self) -> None:
        while self.task is None or not self.task.done():
            await self.step()


def run(world: World, ledger: Ledger, call: calls.Send, name: str, answer: Reported | Exception) -> Run:
    """Return a run on a worker of its own, whose deployment may have another provider by now."""
    turn = Turn()
    own = Ledger(ledger._engine)
    own.attempts, own.evidence = HeldAttempts(ledger, turn), HeldEvidence(ledger, turn)
    wire = Wire(name, Capabilities(idempotent_for=world.window), [answer], world=world, turn=turn)
    return Run(world, turn, lambda: outcome(dispatcher(own, wire).send(call, RunClock(world))))
