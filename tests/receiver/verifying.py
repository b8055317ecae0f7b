"""A deployment that verifies: real engine and ledger, a worker whose messages go nowhere, the HTTP edge."""

import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn, cast

import httpx
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from temporalio.client import Client
from temporalio.converter import DataConverter
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from activities.catalogue import Catalogue
from activities.challenge import Secrets, Seed, derive
from activities.challenging import LedgerChallenging
from activities.converter import data_converter
from activities.keyring import Keyring
from activities.settings import Settings
from activities.store.database import new_engine
from activities.store.ledger import Ledger
from activities.store.migrate import migrate
from client.verifying import NOT_CONSUMED, PATIENCE, begin_verification, opened
from receiver import pages, verifications
from receiver.consuming import Trials
from receiver.evenly import Evenly
from receiver.parts import Parts
from receiver.problems import Problem, answered
from tests.servers import dev_server
from tests.workflows.fakes import World
from tests.workflows.policies import RESET
from tests.workflows.stage import soon
from workflows import attributes
from workflows.hosting import FAILURES, WORKFLOWS
from workflows.policy import verification_contract
from workflows.policy.keys import verification_id
from workflows.policy.verification import Consumption, Presented, VerificationRequest, Verified
from workflows.sandbox import RUNNER
from workflows.verification import Verification

NOTICES = Path(__file__).parents[2] / "notices"
AT_ONCE = "signup_at_once"
"""A kind like the shipped one, whose next message may be asked for at once."""
KEY = "key-of-the-backends"
QUEUE, DESERTED = "verifying", "deserted"
RETURN = "https://shop.example/welcome"
SETTINGS = Settings.read(
    {
        "STANDBY_API_KEY": KEY,
        "STANDBY_PUBLIC_URL": "https://standby.example",
        "STANDBY_RETURN_URLS": f"{RETURN} https://other.example",
        "STANDBY_TASK_QUEUE": QUEUE,
    }
)
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
BEARER = {"Authorization": f"Bearer {KEY}"}


def document(**changes: object) -> dict[str, object]:
    """Return what a backend asks for, of an account and to an address that no other test has."""
    name = secrets.token_hex(8)
    asked = {
        "account_id": f"account-{name}",
        "challenge_id": f"challenge-{name}",
        "purpose": "signup",
        "to": {"email": f"{name}@example.test"},
        "method": "both",
        "expires_at": (datetime.now(UTC) + timedelta(minutes=10)).isoformat(),
        "return_url": f"{RETURN}?lang=en",
    }
    return {name: value for name, value in (asked | changes).items() if value is not None}


def request(**changes: object) -> VerificationRequest:
    return verification_contract.validate(document(**changes))


class Untouchable:
    """A part that nobody may use."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(name)


@dataclass
class Listening:
    """An engine that answers every update as a wrong secret is answered, and keeps what it was asked."""

    asked: list[tuple[str, str]] = field(default_factory=list)
    """Workflow and update, by their ids."""

    def get_workflow_handle_for(self, _workflow: object, workflow_id: str) -> "_Heard":
        return _Heard(self, workflow_id)


@dataclass
class _Heard:
    engine: Listening
    workflow_id: str

    async def execute_update(self, _update: object, _presented: Presented, *, id: str) -> Consumption:  # noqa: A002
        self.engine.asked.append((self.workflow_id, id))
        return NOT_CONSUMED


def alone(settings: Settings = SETTINGS) -> Parts:
    """Return parts of which nothing but settings and keys may be used."""
    nothing = cast("Any", Untouchable())
    return Parts(settings, Keyring.plaintext(), nothing, nothing, nothing, nothing)


@dataclass
class Stopwatch:
    """A clock that stands still but for what is slept, or let pass; seconds."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def read(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    @property
    def evenly(self) -> Evenly:
        return Evenly(timedelta(seconds=1), self.read, self.sleep)


def app(parts: Parts, trials: Trials | None = None) -> Starlette:
    """Return the routes of verifications, and the answers of the whole app to what goes wrong."""
    trials = trials or Trials(parts, Stopwatch().evenly)
    return Starlette(
        routes=[*pages.routes(trials), *verifications.routes(trials)],
        exception_handlers={Problem: answered, HTTPException: answered},
    )


@asynccontextmanager
async def browsing(served: Starlette) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(served)
    async with httpx.AsyncClient(transport=transport, base_url="https://standby.example") as client:
        yield client


@dataclass(frozen=True)
class Town:
    """A deployment, from its edge and from inside."""

    parts: Parts

    async def begun(self, **changes: object) -> str:
        """Begin a verification, and return its id once a worker has opened it."""
        asked = request(**changes)
        handle = (await begin_verification(self.parts.client, asked, QUEUE)).handle
        told = await opened(handle, PATIENCE)
        assert told is not None
        assert told.refusal is None
        return told.challenge_id

    async def ended(self, challenge_id: str) -> Verified:
        """Wait for the end of a verification."""
        handle = self.parts.client.get_workflow_handle_for(Verification.run, verification_id(challenge_id))
        return await soon(handle.result())

    async def withdrawn(self, challenge_id: str) -> None:
        """End a verification that nobody waits for any more."""
        handle = self.parts.client.get_workflow_handle_for(Verification.run, verification_id(challenge_id))
        await handle.signal(Verification.withdraw)
        await self.ended(challenge_id)

    async def secrets_of(self, challenge_id: str) -> Secrets:
        """Return what a person was sent."""
        row = await self.parts.ledger.challenges.find(challenge_id)
        assert row is not None
        return derive(self.parts.keyring, Seed(row.key_id, row.nonce), digits=row.code_digits)

    async def cut_off(self) -> Parts:
        """Return the same deployment after its engine went away."""
        env = await _engine(self.parts.client.data_converter)
        await env.shutdown()
        return replace(self.parts, client=env.client)

    @property
    def engineless(self) -> Parts:
        """The same deployment, whose engine nobody may use."""
        return replace(self.parts, client=cast("Any", Untouchable()))

    @property
    def without_keys(self) -> Parts:
        """The same deployment, seen by a process that cannot read what the workers say."""
        has, old = self.parts.client, data_converter(Keyring.plaintext())
        client = Client(has.service_client, namespace=has.namespace, data_converter=old)
        return replace(self.parts, client=client)

    @property
    def deserted(self) -> Parts:
        """The same deployment, with a queue that no worker serves."""
        settings = self.parts.settings.model_copy(update={"task_queue": DESERTED})
        return replace(self.parts, settings=settings)


@asynccontextmanager
async def town(folder: Path) -> AsyncIterator[Town]:
    """Run a whole deployment for the block."""
    url, keyring = f"sqlite:///{folder / 'ledger.db'}", Keyring.create(folder / "keys.toml")
    await migrate(url)
    async with AsyncExitStack() as stack:
        env = await stack.enter_async_context(await _engine(data_converter(keyring)))
        engine = new_engine(url)
        stack.push_async_callback(engine.dispose)
        ledger, catalogue = Ledger(engine), Catalogue.load(_notices(folder / "notices"))
        challenging = LedgerChallenging(catalogue, ledger, keyring, SETTINGS)
        made = (
            *(challenging.open, challenging.ask, challenging.seek),
            *(challenging.consume, challenging.end),
        )
        await stack.enter_async_context(
            Worker(
                env.client,
                task_queue=QUEUE,
                workflows=WORKFLOWS,
                activities=[*World(RESET).activities, *made],
                workflow_runner=RUNNER,
                workflow_failure_exception_types=FAILURES,
            )
        )
        nothing = cast("Any", Untouchable())
        yield Town(Parts(SETTINGS, keyring, catalogue, ledger, nothing, env.client))


def _notices(folder: Path) -> Path:
    """Copy the shipped kinds, and add one that is quicker."""
    shutil.copytree(NOTICES, folder)
    shutil.copytree(NOTICES / "signup_verification", folder / AT_ONCE)
    policy = folder / AT_ONCE / "policy.toml"
    policy.write_text(policy.read_text().replace('cooldown = "30s"', 'cooldown = "PT0.001S"'))
    sample = folder / AT_ONCE / "sample.json"
    sample.write_text(sample.read_text().replace("signup_verification", AT_ONCE))
    return folder


async def _engine(converter: DataConverter) -> WorkflowEnvironment:
    return await WorkflowEnvironment.start_local(
        dev_server_existing_path=dev_server(),
        dev_server_extra_args=["--dynamic-config-value", 'history.timerProcessorMaxTimeShift="10ms"'],
        dev_server_log_level="never",
        data_converter=converter,
        search_attributes=attributes.ALL,
    )
