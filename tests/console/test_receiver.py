"""`standby receiver`: it serves until it is told to stop, and says in one line why it cannot."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager

import httpx
import pytest

from console.engine import free_port
from tests.console.shell import BAD, ROOT, UNREACHABLE, Shell

FAILED = 1


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def names(said: str, *words: str) -> bool:
    """Whether a text is one line, in which these words are."""
    return said.count("\n") == 1 and all(each in said for each in words)


@pytest.mark.parametrize(
    ("changed", "code", "words"),
    [
        ({"STANDBY_PUBLIC_URL": "standby.example"}, BAD, ["STANDBY_PUBLIC_URL", "without a path"]),
        ({"STANDBY_API_KEY": "two words"}, BAD, ["STANDBY_API_KEY"]),
        ({"STANDBY_KEY_FILE": ""}, BAD, ["STANDBY_KEY_FILE", "standby key new"]),
        ({"STANDBY_KEY_FILE": "nowhere.toml"}, BAD, ["nowhere.toml"]),
        ({"STANDBY_NOTICES": "nowhere"}, FAILED, ["nowhere"]),
        ({"TEMPORAL_ADDRESS": "127.0.0.1:1"}, UNREACHABLE, ["127.0.0.1:1"]),
        ({"STANDBY_DATABASE_URL": "sqlite:///nowhere/ledger.db"}, UNREACHABLE, ["ledger", "nowhere"]),
        ({"STANDBY_DATABASE_URL": "mysql://ledger"}, BAD, ["STANDBY_DATABASE_URL"]),
        ({"TEMPORAL_NAMESPACE": "nowhere"}, FAILED, ["nowhere", "TEMPORAL_NAMESPACE"]),
    ],
)
async def test_what_it_cannot_start_without_is_one_line(
    shell: Shell, changed: Mapping[str, str], code: int, words: list[str]
) -> None:
    notices = {"STANDBY_NOTICES": str(ROOT / "notices")}
    said = await shell.spawn("receiver", "--port", str(free_port()), **{**notices, **changed})
    assert (said.code, said.out) == (code, "")
    assert names(said.err, *words), said.err


async def test_a_ledger_without_tables_says_what_to_run(shell: Shell) -> None:
    given = {"STANDBY_DATABASE_URL": "sqlite:///new.db", "STANDBY_NOTICES": str(ROOT / "notices")}
    said = await shell.spawn("receiver", "--port", str(free_port()), **given)
    assert said.code == UNREACHABLE
    assert names(said.err, "standby migrate")


async def test_a_port_that_is_taken_is_one_line(shell: Shell, taken: int) -> None:
    given = {"STANDBY_NOTICES": str(ROOT / "notices")}
    said = await shell.spawn("receiver", "--port", str(taken), **given)
    assert said.code == FAILED
    assert names(said.err, str(taken), "standby receiver --port N")


@pytest.mark.parametrize("port", ["0", "65536", "x"])
async def test_a_port_that_is_none_is_bad_input(alone: Shell, port: str) -> None:
    said = await alone.run("receiver", "--port", port)
    assert said.code == BAD
    assert "--port" in said.err


@asynccontextmanager
async def served(shell: Shell, port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the command in a process of its own, and wait until it answers."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("STANDBY_", "TEMPORAL_"))
    }
    given = {"PYTHONPATH": str(ROOT), "STANDBY_NOTICES": str(ROOT / "notices"), "STANDBY_LOG": "text"}
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "starter", "receiver", "--port", str(port)),
        cwd=shell.folder,
        env={**kept, **given, **shell.environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with httpx.AsyncClient(trust_env=False) as client:
            while not await _is_ready(client, port):
                assert child.returncode is None, await child.communicate()
                await asyncio.sleep(0.05)
        yield child
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()


async def _is_ready(client: httpx.AsyncClient, port: int) -> bool:
    try:
        answer = await client.get(f"http://127.0.0.1:{port}/readyz")
    except httpx.TransportError:
        return False
    return answer.status_code == httpx.codes.OK


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
async def test_it_serves_until_it_is_told_to_stop(shell: Shell, told: signal.Signals) -> None:
    async with served(shell, free_port()) as child:
        child.send_signal(told)
        out, err = await child.communicate()
    assert (child.returncode, out) == (0, b""), err.decode()
    lines = err.decode().splitlines()
    assert "receiver started" in lines[0]
    assert "receiver stopping" in lines[-1]
    # What is not set, and therefore does not work, is said at once.
    assert [each for each in lines if "STANDBY_PUBLIC_URL" in each]
    assert [each for each in lines if "STANDBY_API_KEY" in each]
