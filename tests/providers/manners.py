"""A real sandbox over HTTP, in either manner, with a clock that a test turns."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import httpx

from activities.providers.base import Message, Reported
from activities.providers.sandbox import Sandbox
from activities.variables import Credential
from sandbox.config import Config
from sandbox.fates import Fate
from sandbox.server import serve
from sandbox.serving import Running
from tests.providers.subject import EMAIL, SECRET, SMS
from workflows.policy.words import Channel

BEGINNING = datetime(2026, 12, 1, 10, 0, tzinfo=UTC)

SCALE = 0.05
"""A reply that takes 40 s takes 2 s here."""

BUDGET = timedelta(seconds=1)


@dataclass(slots=True)
class Clock:
    """Stands still until it is turned."""

    now: datetime = BEGINNING

    def __call__(self) -> datetime:
        """Tell the time."""
        return self.now

    def turn(self, by: timedelta) -> None:
        """Let time pass."""
        self.now += by


@dataclass(frozen=True, slots=True)
class House:
    """A sandbox that runs, and the adapter that talks to it."""

    running: Running
    client: httpx.AsyncClient
    honours_keys: bool
    clock: Clock = field(default_factory=Clock)

    @property
    def provider(self) -> Sandbox:
        """The adapter, with a short budget."""
        return Sandbox(
            self.client,
            self.running.url,
            Credential(SECRET),
            self.honours_keys,
            budget=BUDGET,
            clock=self.clock,
        )

    async def state(self, message: Message, provider_id: str | None) -> Reported | None:
        """Ask what became of a message."""
        return await self.provider.look_up(message.channel, message.key, provider_id)

    async def accepted(self, key: str) -> list[dict[str, str]]:
        """List what the inbox holds under a key."""
        rows = (await self.client.get(f"{self.running.url}/inbox.json")).json()
        return [row for row in rows if row["key"] == key]

    async def submissions(self, key: str) -> list[str]:
        """List how the submissions under a key were answered."""
        listed = (await self.client.get(f"{self.running.url}/submissions.json")).json()
        return [row["answer"] for row in listed["submissions"] if row["key"] == key]


@asynccontextmanager
async def house(client: httpx.AsyncClient, config: Config) -> AsyncIterator[House]:
    """Run a sandbox with a clock of its own."""
    clock = Clock()
    async with serve(replace(config, clock=clock, scale=SCALE, secret=SECRET)) as running:
        yield House(running, client, config.honours_keys, clock)


def message(fate: Fate, key: str, channel: Channel = Channel.EMAIL) -> Message:
    """Address a message to a fate."""
    if channel is Channel.SMS:
        return replace(SMS, key=key, to=fate.number())
    return replace(EMAIL, key=key, to=fate.email())
