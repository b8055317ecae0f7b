"""Everything a notice needs, in one process and its child: engine, sandbox provider, ledger, worker."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from temporalio.client import Client

from activities.catalogue import Catalogue
from activities.connect import connect
from activities.hosting import Parts, hosted
from activities.keyring import Keyring
from activities.settings import Settings, keyring
from activities.store.migrate import migrate
from activities.telemetry import tracing
from console.engine import EngineAt, development_engine
from sandbox.config import Config
from sandbox.server import serve
from sandbox.serving import Running

KEYS = "keys.toml"
LEDGER = "ledger.db"


@dataclass(frozen=True, slots=True)
class Wanted:
    """How a stack is to be."""

    home: Path
    """Where its state is kept."""
    engine: EngineAt
    sandbox_port: int = 0
    scale: float = 1.0
    """Multiplies every duration, of policies and of the sandbox alike."""
    environ: Mapping[str, str] | None = None
    """What the user's environment adds: where the kinds are, how logs are written."""


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
    keys = wanted.home / KEYS
    if not keys.exists():
        Keyring.create(keys)
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(serve(Config(scale=wanted.scale), port=wanted.sandbox_port))
        variables = {
            "STANDBY_DATABASE_URL": f"sqlite+aiosqlite:///{(wanted.home / LEDGER).resolve()}",
            "STANDBY_KEY_FILE": str(keys.resolve()),
            "STANDBY_SANDBOX_URL": sandbox.url,
            "TEMPORAL_ADDRESS": wanted.engine.address,
        }
        settings = Settings.read({**(wanted.environ or {}), **variables})
        catalogue = Catalogue.load(settings.notices).scaled(wanted.scale)
        await migrate(settings.database_url.get_secret_value())
        engine = await stack.enter_async_context(development_engine(wanted.home, wanted.engine))
        ring = keyring(settings)
        client = await connect(ring, plugins=[tracing()], environ={"TEMPORAL_ADDRESS": engine.address})
        await stack.enter_async_context(hosted(client, Parts(settings, ring, catalogue)))
        yield Stack(client, engine, sandbox, settings, catalogue, variables)
