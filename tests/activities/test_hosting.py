"""A worker process: what it offers, what it refuses to start with, and how it ends."""

import asyncio
import inspect
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from temporalio import activity
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from activities.catalogue import Catalogue
from activities.connect import runtime
from activities.hosting import (
    FINISH_SENDS,
    EngineRefusedError,
    Parts,
    activities,
    hosted,
    open_ledger,
    running,
    worker_of,
)
from activities.providers.registry import PROVIDERS
from activities.settings import Settings, SettingsError
from activities.store.errors import Unmigrated
from activities.store.ledger import Ledger
from tests.activities.given import EMAIL, KEYRING, RESET, SHIPPED, Deployment, Scripted, request, row_of
from tests.servers import dev_server
from tests.workflows import stage
from workflows import calls, options
from workflows.challenge_calls import Challenging
from workflows.policy.keys import attempt_key
from workflows.policy.terms import Watch
from workflows.policy.words import AttemptState

ROOT = Path(__file__).parents[2]
NOBODY = cast("Client", None)
"""A client that nothing may be asked of."""


def parts(catalogue: Catalogue = SHIPPED, **settings: str) -> Parts:
    return Parts(Settings.model_validate(settings), KEYRING, catalogue)


ASKED_FOR = (calls.Admitting, calls.Eligibility, calls.Delivery, calls.Chronicle, Challenging)


def names(offered: Iterable[Callable[..., object]]) -> list[str | None]:
    """Return the names under which the engine knows these activities, sorted."""
    known = [activity._Definition.from_callable(each) for each in offered]
    return sorted((each.name for each in known if each is not None), key=str)


def test_everything_that_a_workflow_may_ask_for_is_offered_once(ledger: Ledger) -> None:
    declared = [each for part in ASKED_FOR for _, each in inspect.getmembers(part, inspect.isfunction)]

    assert names(activities(parts(), ledger, Deployment(Scripted()))) == names(declared)
    assert len(names(declared)) == 12


KNOWN = ", ".join(sorted(PROVIDERS))
FILE = "notices/password_reset/policy.toml"


def changed(watch: Watch) -> Catalogue:
    kind = replace(RESET, policy=RESET.policy.model_copy(update={"email": watch}))
    return Catalogue({kind.name: kind})


@pytest.mark.parametrize(
    ("catalogue", "settings", "problem"),
    [
        (
            SHIPPED,
            {"sms": "sandbx"},
            f"STANDBY_SMS: provider 'sandbx' is not known: choose one of {KNOWN}",
        ),
        (
            changed(Watch(provider="pigeon")),
            {},
            f"{FILE}: email.provider: provider 'pigeon' is not known: choose one of {KNOWN}",
        ),
    ],
    ids=["of the deployment", "of a kind"],
)
async def test_a_mistyped_provider_is_found_before_the_first_notice(
    migrated: Path, catalogue: Catalogue, settings: dict[str, str], problem: str
) -> None:
    given = parts(catalogue, database_url=f"sqlite+aiosqlite:///{migrated}", **settings)

    with pytest.raises(SettingsError) as caught:
        async with hosted(NOBODY, given):
            pass

    assert str(caught.value) == problem


async def test_a_ledger_that_is_not_migrated_is_refused_with_what_to_do(tmp_path: Path) -> None:
    empty = tmp_path / "empty.db"
    empty.touch()
    given = parts(database_url=f"sqlite+aiosqlite:///{empty}")

    with pytest.raises(Unmigrated, match="run: standby migrate"):
        async with hosted(NOBODY, given):
            pass


async def test_a_ledger_is_open_for_the_block(migrated: Path) -> None:
    async with open_ledger(Settings.model_validate({"database_url": f"sqlite:///{migrated}"})) as ledger:
        assert await ledger.story("password_reset:reset-1:user-1") is None


@pytest.fixture(scope="module")
async def real() -> AsyncIterator[Client]:
    """An engine that knows its namespaces, as that for tests does not."""
    env = await WorkflowEnvironment.start_local(dev_server_existing_path=dev_server(), runtime=runtime())
    yield env.client
    await env.shutdown()


def in_namespace(client: Client, name: str) -> Client:
    return Client(client.service_client, namespace=name)


async def test_a_namespace_that_is_not_there_is_one_line_before_anything_starts(
    migrated: Path, real: Client
) -> None:
    given = parts(database_url=f"sqlite:///{migrated}")
    address = real.service_client.config.target_host

    with pytest.raises(EngineRefusedError) as caught:
        async with hosted(in_namespace(real, "nope"), given):
            pytest.fail("it started")

    assert str(caught.value) == (
        f"the Temporal engine at {address} has no namespace 'nope': set TEMPORAL_NAMESPACE,"
        " or: temporal operator namespace create --namespace nope"
    )


async def test_a_worker_that_the_engine_ends_ends_the_block_in_one_line(ledger: Ledger, real: Client) -> None:
    nowhere = in_namespace(real, "nope")
    worker = worker_of(nowhere, parts(), ledger, Deployment(Scripted()))

    with pytest.raises(EngineRefusedError, match="ended this worker in namespace 'nope': check ") as caught:
        async with running(worker, nowhere):
            await stage.soon(asyncio.Event().wait())

    assert "\n" not in str(caught.value)


async def test_an_error_of_the_block_stays_what_it_is(ledger: Ledger, real: Client) -> None:
    worker = worker_of(real, parts(), ledger, Deployment(Scripted()))

    with pytest.raises(LookupError, match="of the block"):
        async with running(worker, real):
            raise LookupError("of the block")


async def test_the_worker_s_process_says_it_in_one_line_and_ends(migrated: Path, real: Client) -> None:
    environ = {
        "STANDBY_DATABASE_URL": f"sqlite:///{migrated}",
        "STANDBY_PLAINTEXT": "1",
        "TEMPORAL_ADDRESS": real.service_client.config.target_host,
        "TEMPORAL_NAMESPACE": "nope",
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "worker.py", cwd=ROOT, env=environ, stdout=PIPE, stderr=PIPE
    )

    out, err = await stage.soon(process.communicate())

    assert (process.returncode, out) == (1, b"")
    [line] = err.decode().splitlines()
    assert "has no namespace 'nope'" in line


def test_a_clean_shutdown_outlasts_every_send() -> None:
    assert options.SEND["start_to_close_timeout"] < FINISH_SENDS


async def test_a_worker_that_is_stopped_finishes_what_is_on_the_wire(ledger: Ledger) -> None:
    asked, on_the_wire = request(), asyncio.Event()

    async def until_the_worker_is_stopped() -> None:
        on_the_wire.set()
        await activity.wait_for_worker_shutdown()

    provider = Scripted(meanwhile=until_the_worker_is_stopped)
    async with stage.open_engine() as engine:
        worker = worker_of(engine.client, parts(), ledger, Deployment(provider))
        async with worker:
            await stage.start(engine.client, asked)
            await stage.soon(on_the_wire.wait())

    row = await row_of(ledger, attempt_key(asked.key, EMAIL))
    assert (row.state, len(provider.crossed)) == (AttemptState.SUBMITTED, 1)
    assert worker.config()["graceful_shutdown_timeout"] == FINISH_SENDS
