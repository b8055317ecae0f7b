"""What a test puts on the engine: a deployment in one of two manners, its workers, and a notice's traces."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import httpx
from temporalio.client import Client, Plugin

from activities.catalogue import Catalogue
from activities.connect import connect
from activities.hosting import Parts, hosted, open_ledger
from activities.keyring import Keyring
from activities.settings import Settings, keyring
from activities.store.ledger import Ledger
from activities.store.migrate import migrate
from activities.store.records import AttemptRow, Story
from client.starting import Handle, begin
from console.engine import EngineAt
from sandbox.config import Config
from sandbox.server import serve
from sandbox.serving import Running
from tests.endtoend.doomed import READY, STRUCK, Point
from tests.endtoend.scenes import PATIENCE, ended, until
from workflows.policy.address import canonical
from workflows.policy.models import NoticeRequest, Result
from workflows.policy.words import Channel

QUICK = 1 / 20
"""Ten minutes are thirty seconds, and the email's fallback deadline comes after five."""
CALM = 1 / 5
"""Ten minutes are two: the fallback deadline comes after a dead worker was noticed."""

MANNERS = {"honoured": True, "not_honoured": False}
"""Whether the provider honours keys, by the name that tests give it."""


@dataclass(frozen=True)
class Ending:
    """One notice that has closed, as the engine, the ledger and the provider tell it."""

    result: Result
    story: Story
    submissions: list[tuple[str, str]]
    """Channel and answer of every call to the provider, refused ones too."""
    reached: list[str]
    """The channels of the accepted messages, in order."""

    def attempt(self, channel: Channel) -> AttemptRow:
        (row,) = [each for each in self.story.attempts if each.channel is channel]
        return row


@dataclass(frozen=True)
class Stricken:
    """A worker process of its own."""

    process: asyncio.subprocess.Process

    async def says(self, word: bytes) -> None:
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE.total_seconds()):
            assert await self.process.stdout.readline() == word

    async def struck(self) -> None:
        """Wait until it was hit."""
        await self.says(STRUCK)

    def hold(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def let_go(self) -> None:
        self.process.send_signal(signal.SIGCONT)


@dataclass(frozen=True)
class Manner:
    """A deployment around one sandbox: one that honours keys, or one that does not."""

    honours_keys: bool
    home: Path
    engine: EngineAt
    sandbox: Running
    keys: Path | None
    """None seals nothing."""
    queue: str
    scale: float
    ledger_url: str
    choices: Mapping[str, str] = field(default_factory=dict)
    """Further variables: which providers, and how they are reached."""

    @property
    def environ(self) -> dict[str, str]:
        sealing = {"STANDBY_KEY_FILE": str(self.keys)} if self.keys else {"STANDBY_PLAINTEXT": "1"}
        return {
            "STANDBY_DATABASE_URL": self.ledger_url,
            "STANDBY_SANDBOX_URL": self.sandbox.url,
            "STANDBY_SANDBOX_HONOURS_KEYS": "1" if self.honours_keys else "0",
            "STANDBY_TASK_QUEUE": self.queue,
            "TEMPORAL_ADDRESS": self.engine.address,
            **sealing,
            **self.choices,
        }

    @property
    def settings(self) -> Settings:
        return Settings.read(self.environ)

    @property
    def parts(self) -> Parts:
        settings = self.settings
        catalogue = Catalogue.load(settings.notices, settings.public_url).scaled(self.scale)
        return Parts(settings, keyring(settings), catalogue)

    async def client(self, *plugins: Plugin) -> Client:
        return await connect(keyring(self.settings), environ=self.environ, plugins=plugins)

    @asynccontextmanager
    async def worker(self, *plugins: Plugin) -> AsyncIterator[Client]:
        client = await self.client(*plugins)
        async with hosted(client, self.parts):
            yield client

    @asynccontextmanager
    async def process(
        self, point: Point = Point.NEVER, blow: signal.Signals = signal.SIGKILL
    ) -> AsyncIterator[Stricken]:
        """Run a worker process of its own, which is hit once at that point."""
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.endtoend.doomed", point, blow.name, str(self.scale)),
            env=os.environ | self.environ,
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            stricken = Stricken(child)
            await stricken.says(READY)
            yield stricken
        finally:
            if child.returncode is None:
                child.kill()
            await child.wait()

    @asynccontextmanager
    async def ledger(self) -> AsyncIterator[Ledger]:
        async with open_ledger(self.settings) as ledger:
            yield ledger

    async def story(self, key: str) -> Story:
        async with self.ledger() as ledger:
            story = await ledger.story(key)
        assert story is not None
        return story

    async def submissions(self, key: str) -> list[tuple[str, str]]:
        """Every submission for a notice, refused ones too: channel and answer."""
        async with httpx.AsyncClient(trust_env=False) as http:
            listed = (await http.get(f"{self.sandbox.url}/submissions.json")).json()["submissions"]
        return [(row["channel"], row["answer"]) for row in listed if str(row["key"]).startswith(f"{key}:")]

    async def inbox(self, key: str) -> list[dict[str, str]]:
        """Every accepted message for a notice, in order."""
        async with httpx.AsyncClient(trust_env=False) as http:
            rows: list[dict[str, str]] = (await http.get(f"{self.sandbox.url}/inbox.json")).json()
        return sorted(
            (row for row in rows if row["key"].startswith(f"{key}:")), key=lambda row: str(row["at"])
        )

    async def reached(self, key: str) -> list[str]:
        return [row["channel"] for row in await self.inbox(key)]

    async def submitted(self, key: str, count: int = 1) -> None:
        """Wait until so many calls for a notice have reached the provider."""
        await until(lambda: self._counts(key, count))

    async def _counts(self, key: str, count: int) -> bool:
        return len(await self.submissions(key)) >= count

    async def ending(self, handle: Handle) -> Ending:
        """Wait for the end of a notice, and gather its traces."""
        result = await ended(handle)
        return await self.traces(result)

    async def traces(self, result: Result) -> Ending:
        key = result.key
        return Ending(result, await self.story(key), await self.submissions(key), await self.reached(key))


@dataclass(frozen=True)
class Town:
    """The engine, and a way to found deployments on it."""

    engine: EngineAt
    home: Path
    founded: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def deployment(
        self,
        *,
        honours_keys: bool = True,
        scale: float = QUICK,
        sealed: bool = True,
        ledger_url: str | None = None,
        choices: Mapping[str, str] = MappingProxyType({}),
    ) -> AsyncIterator[Manner]:
        """Found one with a sandbox, a migrated ledger and a task queue of its own."""
        name = f"queue-{len(self.founded)}"
        self.founded.append(name)
        home = self.home / name
        home.mkdir()
        url = ledger_url or f"sqlite:///{home / 'ledger.db'}"
        keys = home / "keys.toml" if sealed else None
        if keys:
            Keyring.create(keys)
        await migrate(url)
        async with serve(Config(honours_keys=honours_keys, scale=scale)) as sandbox:
            yield Manner(honours_keys, home, self.engine, sandbox, keys, name, scale, url, choices)


def hashed(manner: Manner, channel: Channel, address: str) -> str:
    """Return what the ledger knows an address by."""
    return manner.parts.keyring.address_hash(channel, canonical(channel, address))


async def send(client: Client, manner: Manner, request: NoticeRequest) -> Handle:
    return (await begin(client, request, task_queue=manner.queue)).handle
