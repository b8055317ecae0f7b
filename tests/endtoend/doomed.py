"""A worker that is struck down at a chosen point: `python -m tests.endtoend.doomed POINT SIGNAL SCALE`.

SIGKILL ends it as a power cut does, SIGSTOP holds it as a paused machine is held: SIGCONT lets it go on as
if no time had passed. It says `ready` when it works and `struck` when it is hit, which happens once.
"""

import asyncio
import os
import signal
import sys
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio import activity
from temporalio.plugin import SimplePlugin
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    Interceptor,
    PollerBehaviorSimpleMaximum,
    WorkerConfig,
)
from typing_extensions import override

from activities.catalogue import Catalogue
from activities.connect import connect, finish
from activities.hosting import Parts, open_ledger, worker_of
from activities.providers.base import Message, Reported
from activities.providers.provider import Provider
from activities.providers.registry import Providers
from activities.providers.wire import new_client
from activities.settings import Settings, keyring
from activities.store.attempts import Attempts, Claim
from workflows.policy.words import Channel

READY = b"ready\n"
STRUCK = b"struck\n"


class Point(StrEnum):
    """Where it is struck."""

    NEVER = "never"
    AT_CHECK = "check"
    """The check was handed to this worker, and has not begun."""
    AT_SEND = "send"
    """The send was handed to this worker, and has not begun."""
    BEFORE_CLAIM = "before_claim"
    BEFORE_WIRE = "before_wire"
    AFTER_WIRE = "after_wire"
    AFTER_LOOK_UP = "after_look_up"
    """The provider has answered a read, and nothing of it is on record."""


@dataclass
class Blow:
    """What hits the worker, and where."""

    point: Point
    sign: signal.Signals
    landed: bool = False

    def at(self, point: str) -> None:
        """Strike, if this is the point: nothing is flushed, nobody is told."""
        if point == self.point and not self.landed:
            self.landed = True
            say(STRUCK)
            os.kill(os.getpid(), self.sign)


def say(word: bytes) -> None:
    sys.stdout.buffer.write(word)
    sys.stdout.buffer.flush()


class Doom(SimplePlugin):
    """Makes a worker that asks for one task at a time: held, it keeps no others from its colleagues."""

    def __init__(self, blow: Blow) -> None:
        super().__init__("doom", interceptors=[Striking(blow)])

    @override
    def configure_worker(self, config: WorkerConfig) -> WorkerConfig:
        config = super().configure_worker(config)
        config["max_concurrent_activities"] = 1
        config["max_cached_workflows"] = 0
        config["workflow_task_poller_behavior"] = PollerBehaviorSimpleMaximum(1)
        return config


@dataclass(frozen=True)
class Striking(Interceptor):
    """Strikes when a task has arrived and none of the product's code has run for it."""

    blow: Blow

    @override
    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return StrickenTask(next, self.blow)


class StrickenTask(ActivityInboundInterceptor):
    def __init__(self, inner: ActivityInboundInterceptor, blow: Blow) -> None:
        super().__init__(inner)
        self._blow = blow

    @override
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        self._blow.at(activity.info().activity_type)
        return await super().execute_activity(input)


class DoomedAttempts(Attempts):
    """Is struck before it writes a claim."""

    def __init__(self, engine: AsyncEngine, blow: Blow) -> None:
        super().__init__(engine)
        self._blow = blow

    @override
    async def claim(
        self, key: str, *, provider: str, address_hash: str, at: datetime, carries: bool = False
    ) -> Claim:
        self._blow.at(Point.BEFORE_CLAIM)
        return await super().claim(key, provider=provider, address_hash=address_hash, at=at, carries=carries)


@dataclass(frozen=True)
class DoomedProvider:
    """Is struck beside the wire."""

    inner: Provider
    blow: Blow

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    async def send(self, message: Message) -> Reported:
        self.blow.at(Point.BEFORE_WIRE)
        reported = await self.inner.send(message)
        self.blow.at(Point.AFTER_WIRE)
        return reported

    async def look_up(self, channel: Channel, key: str, provider_id: str | None) -> Reported | None:
        found = await self.inner.look_up(channel, key, provider_id)
        self.blow.at(Point.AFTER_LOOK_UP)
        return found


class DoomedProviders(Providers):
    """Gives out providers that are struck."""

    blow: Blow

    @override
    def named(self, name: str) -> Provider:
        doomed: object = DoomedProvider(super().named(name), self.blow)
        return doomed  # type: ignore[return-value]  # it has all that its inner has


async def work(blow: Blow, scale: float) -> None:
    """Work until killed."""
    settings = Settings.read(os.environ)
    catalogue = Catalogue.load(settings.notices, settings.public_url).scaled(scale)
    parts = Parts(settings, keyring(settings), catalogue)
    client = await connect(parts.keyring, plugins=[Doom(blow)])
    async with open_ledger(settings) as ledger, new_client() as http:
        providers = DoomedProviders(settings, http)
        providers.blow = blow
        ledger.attempts = DoomedAttempts(ledger._engine, blow)
        async with worker_of(client, parts, ledger, providers):
            say(READY)
            await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(work(Blow(Point(sys.argv[1]), signal.Signals[sys.argv[2]]), float(sys.argv[3])))
    finish(0)
