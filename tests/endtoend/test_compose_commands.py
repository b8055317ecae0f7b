"""What docker-compose.yml starts, started here: each command of ours with its environment, and one notice."""

import asyncio
import os
import secrets
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are not worth a dependency for one call
from sqlalchemy import text
from sqlalchemy.engine import make_url
from temporalio.testing import WorkflowEnvironment

from activities.keyring import Keyring
from activities.store.database import new_engine
from console.engine import free_port
from tests.endtoend.scenes import PATIENCE, until
from tests.postgres import REQUIRED, NoPostgresError, server
from tests.servers import dev_server

ROOT = Path(__file__).parents[2]
SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    try:
        with server() as url:
            yield url
    except NoPostgresError as missing:
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(str(missing))
        pytest.skip(str(missing))


async def database(postgres: str) -> str:
    """Make one as the service `ledger` does, and return its URL."""
    name = f"standby_compose_{os.getpid()}"
    engine = new_engine(postgres).execution_options(isolation_level="AUTOCOMMIT")
    async with engine.connect() as connection:
        await connection.execute(text(f"CREATE DATABASE {name}"))
    await engine.dispose()
    return make_url(postgres).set(database=name).render_as_string(hide_password=False)


@dataclass(frozen=True)
class Machine:
    """This host in place of the containers: their names and ports, as they are here."""

    here: Mapping[str, str]
    folder: Path

    @property
    def environ(self) -> dict[str, str]:
        bare = {
            name: value for name, value in os.environ.items() if not name.startswith(("STANDBY_", "OTEL_"))
        }
        # `python` is the one of the image.
        return bare | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}

    def told(self, written: str) -> str:
        """Return what a container would read, for here."""
        for name, local in self.here.items():
            written = written.replace(name, local)
        return written.replace("$$", "$")

    def of(self, service: str) -> tuple[Sequence[str], dict[str, str]]:
        """Return the command and the environment of a service."""
        given = SERVICES[service]
        command = [self.told(each) for each in given["command"]]
        if command[0] == "standby":
            command = [sys.executable, "-m", "starter", *command[1:]]
        port = {"8026": "--port"}
        if service == "receiver":
            command += [port["8026"], self.here["127.0.0.1:8026"].rpartition(":")[2]]
        environ = {name: self.told(value) for name, value in given.get("environment", {}).items()}
        return command, environ

    async def job(self, service: str) -> None:
        """Run a service that ends."""
        command, environ = self.of(service)
        child = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env=self.environ | environ)
        async with asyncio.timeout(PATIENCE.total_seconds()):
            assert await child.wait() == 0, service

    @asynccontextmanager
    async def running(self, service: str, **changed: str) -> AsyncIterator[None]:
        """Run a service for the block, and end it as Docker does."""
        command, environ = self.of(service)
        with (self.folder / f"{service}.log").open("wb") as log:
            child = await asyncio.create_subprocess_exec(
                *command, cwd=ROOT, env=self.environ | environ | changed, stdout=log, stderr=log
            )
        try:
            yield
            assert child.returncode is None, f"{service} has ended"
        finally:
            if child.returncode is None:
                child.terminate()
            assert await child.wait() in {0, -15}, service


async def answers(url: str) -> None:
    async def is_there() -> bool:
        async with httpx.AsyncClient(trust_env=False) as http:
            try:
                return (await http.get(url)).status_code == httpx.codes.OK
            except httpx.TransportError:
                return False

    await until(is_there)


def secrets_of(folder: Path, ledger_url: str) -> None:
    """Make the secrets as the comment in the file says."""
    for name in ("sandbox", "api_key", "codec_key"):
        (folder / name).write_text(secrets.token_hex(24))
    (folder / "ledger_url").write_text(ledger_url)
    Keyring.create(folder / "keys")


def ports() -> tuple[str, str, str, str]:
    receiver, sandbox, first, second = (f"127.0.0.1:{free_port()}" for _ in range(4))
    return receiver, sandbox, first, second


async def test_every_command_of_the_stack_runs_and_a_notice_is_delivered(
    tmp_path: Path, postgres: str
) -> None:
    receiver, sandbox, of_worker, of_receiver = ports()
    secrets_of(tmp_path, await database(postgres))
    async with AsyncExitStack() as stack:
        bare = await WorkflowEnvironment.start_local(dev_server_existing_path=dev_server())
        engine = await stack.enter_async_context(bare)
        address = engine.client.service_client.config.target_host
        here = {
            "/run/secrets/": f"{tmp_path}/",
            "temporal:7233": address,
            "http://sandbox:8025": f"http://{sandbox}",
            "http://receiver:8026": f"http://{receiver}",
            "127.0.0.1:8026": receiver,
            "http://collector:4318": f"http://127.0.0.1:{free_port()}",
            "0.0.0.0:9464": "127.0.0.1:9464",
            "0.0.0.0": "127.0.0.1",  # noqa: S104 - what is replaced
        }
        machine = Machine(here, tmp_path)
        port = {"STANDBY_SANDBOX_PORT": sandbox.rpartition(":")[2]}
        await stack.enter_async_context(machine.running("sandbox", **port))
        await machine.job("migrate")
        await machine.job("temporal-setup")
        await answers(f"http://{sandbox}/inbox.json")
        metrics = "STANDBY_METRICS_ADDRESS"
        await stack.enter_async_context(machine.running("worker", **{metrics: of_worker}))
        await stack.enter_async_context(machine.running("receiver", **{metrics: of_receiver}))
        for url in (f"{receiver}/readyz", f"{of_worker}/metrics", f"{of_receiver}/metrics"):
            await answers(f"http://{url}")
        sample = ROOT / "notices" / "password_reset" / "sample.json"
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "starter", "send", str(sample), "--wait"),
            cwd=tmp_path,
            env=machine.environ | {"STANDBY_KEY_FILE": str(tmp_path / "keys"), "TEMPORAL_ADDRESS": address},
        )
        assert await child.wait() == 0
