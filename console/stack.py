"""Everything a notice needs, in one process and its child: engine, sandbox, ledger, worker, receiver."""

import os
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from temporalio.client import Client

from activities.catalogue import Catalogue
from activities.connect import connect, measured
from activities.hosting import Parts, hosted
from activities.keyring import Keyring
from activities.settings import Settings, keyring
from activities.store.migrate import migrate
from activities.tracing import plugins
from console.engine import EngineAt, development_engine
from receiver import hosting as receiving
from receiver.decoding_session import PATH as CODEC
from receiver.serving import Address
from sandbox.config import Config
from sandbox.server import serve
from sandbox.serving import Running

KEYS = "keys.toml"
LEDGER = "ledger.db"
API_KEY = "api_key"
"""What backends show to the receiver of a stack."""
CODEC_KEY = "codec_key"
"""What people show to it, to read in the UI what is sealed."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How a stack is to be."""

    home: Path
    """Where its state is kept."""
    engine: EngineAt
    sandbox_port: int = 0
    scale: float = 1.0
    """Multiplies every duration, of policies and of the sandbox alike."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """What the user's environment adds: where the kinds are, how logs are written."""
    receiver_port: int | None = None
    """Where the receiver listens; without one there is none, and the sandbox calls nobody back."""

    @property
    def receiver(self) -> Address | None:
        """Where the receiver listens, on loopback only."""
        return None if self.receiver_port is None else Address(port=self.receiver_port)


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack that runs."""

    client: Client
    engine: EngineAt
    sandbox: Running
    settings: Settings
    catalogue: Catalogue
    variables: Mapping[str, str]
    """How another process reaches it."""


@asynccontextmanager
async def running(wanted: Wanted) -> AsyncIterator[Stack]:
    """Run a stack for the block; raises PublicError with what to do where a part does not start."""
    wanted.home.mkdir(parents=True, exist_ok=True)
    variables = _variables(wanted)
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(
            serve(_sandbox(wanted, Settings.read({**wanted.environ, **variables})), port=wanted.sandbox_port)
        )
        variables = _entrance(wanted, sandbox.url) | variables | {"STANDBY_SANDBOX_URL": sandbox.url}
        settings = Settings.read({**wanted.environ, **variables})
        catalogue = Catalogue.load(settings.notices, settings.public_url).scaled(wanted.scale)
        await migrate(settings.database_url.get_secret_value())
        codec = None if wanted.receiver is None else f"{settings.public_url}{CODEC}"
        engine = await stack.enter_async_context(development_engine(wanted.home, wanted.engine, codec=codec))
        ring = keyring(settings)
        client = await connect(
            ring,
            plugins=plugins(),
            environ={"TEMPORAL_ADDRESS": engine.address},
            sdk=measured(settings, wanted.environ),
        )
        parts = Parts(settings, ring, catalogue)
        await stack.enter_async_context(hosted(client, parts))
        if wanted.receiver is not None:
            await stack.enter_async_context(receiving.hosted(client, parts, wanted.receiver))
        yield Stack(client, engine, sandbox, settings, catalogue, variables)


def _variables(wanted: Wanted) -> dict[str, str]:
    """Return what names the state of a stack, and make its keys where there are none yet."""
    keys = wanted.home / KEYS
    if not keys.exists():
        Keyring.create(keys)
    return {
        "STANDBY_DATABASE_URL": f"sqlite+aiosqlite:///{(wanted.home / LEDGER).resolve()}",
        "STANDBY_KEY_FILE": str(keys.resolve()),
        "TEMPORAL_ADDRESS": wanted.engine.address,
    }


def _sandbox(wanted: Wanted, settings: Settings) -> Config:
    """Return a sandbox that calls back where the user says, else the receiver, where there is one."""
    at = wanted.receiver
    own = None if at is None else f"{at.url}/callbacks/sandbox"
    url = wanted.environ.get("STANDBY_SANDBOX_CALLBACK_URL") or own
    return Config(scale=wanted.scale, secret=settings.sandbox.secret.reveal(), callback_url=url)


def _entrance(wanted: Wanted, inbox: str) -> dict[str, str]:
    """Return what the receiver needs besides, but for what the user chose: a tunnel, or keys of their own."""
    if wanted.receiver is None:
        return {}
    url = wanted.receiver.url
    made = {
        "STANDBY_PUBLIC_URL": url,
        "STANDBY_RETURN_URLS": f"{url} {inbox}",
        "STANDBY_UI_ORIGIN": wanted.engine.ui,
    }
    for name, file in (("STANDBY_API_KEY", API_KEY), ("STANDBY_CODEC_KEY", CODEC_KEY)):
        if not {name, f"{name}_FILE"} & _given(wanted):
            made[f"{name}_FILE"] = str(_key(wanted.home / file).resolve())
    return {name: value for name, value in made.items() if not {name, f"{name}_FILE"} & _given(wanted)}


def _given(wanted: Wanted) -> frozenset[str]:
    return frozenset(name for name, value in wanted.environ.items() if value)


def _key(file: Path) -> Path:
    """Make a key that only its owner can read, once."""
    if not file.exists():
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as made:
            made.write(f"{secrets.token_urlsafe(32)}\n")
    return file
