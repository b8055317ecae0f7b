"""`standby receiver`: it serves until it is told to stop, and says in one line why it cannot."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import httpx
import pytest

from activities.store.engine import open_engine
from activities.store.ledger import Ledger
from console.engine import free_port
from sandbox.callbacks import signature
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
        ({"TEMPORAL_ADDRESS": "http://x y"}, UNREACHABLE, ["TEMPORAL_ADDRESS", "127.0.0.1:7233"]),
        ({"TEMPORAL_ADDRESS": "ä..b:7233"}, UNREACHABLE, ["TEMPORAL_ADDRESS"]),
        (
            {"STANDBY_API_KEY_FILE": "empty"},
            BAD,
            ["STANDBY_API_KEY_FILE", "is empty", "must hold the secret"],
        ),
        ({"STANDBY_EMAIL": "nosuch"}, BAD, ["STANDBY_EMAIL", "nosuch", "postmark"]),
        ({"STANDBY_EMAIL": "postmark"}, BAD, ["STANDBY_EMAIL: ", "STANDBY_POSTMARK_SERVER_TOKEN"]),
        ({"STANDBY_SMS": "telnyx"}, BAD, ["STANDBY_SMS: ", "STANDBY_TELNYX_API_KEY"]),
    ],
)
async def test_what_it_cannot_start_without_is_one_line(
    shell: Shell, changed: Mapping[str, str], code: int, words: list[str]
) -> None:
    notices = {"STANDBY_NOTICES": str(ROOT / "notices")}
    (shell.folder / "empty").touch()
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
    assert names(said.err, str(taken), "standby receiver --host H --port N")


@pytest.mark.parametrize("host", ["ä..b", "a" * 300, "no such host", ""])
async def test_a_host_that_is_none_is_one_line(shell: Shell, host: str) -> None:
    given = {"STANDBY_NOTICES": str(ROOT / "notices")}
    said = await shell.spawn("receiver", "--host", host, **given)
    assert (said.code, said.out) == (FAILED, "")
    assert names(said.err, "cannot listen", "--host H")


@pytest.mark.parametrize("port", ["0", "65536", "x"])
async def test_a_port_that_is_none_is_bad_input(alone: Shell, port: str) -> None:
    said = await alone.run("receiver", "--port", port)
    assert said.code == BAD
    assert "--port" in said.err


@asynccontextmanager
async def served(shell: Shell, port: int, **changed: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the command in a process of its own, and wait until it answers."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("STANDBY_", "TEMPORAL_"))
    }
    given = {"PYTHONPATH": str(ROOT), "STANDBY_NOTICES": str(ROOT / "notices"), "STANDBY_LOG": "text"}
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "starter", "receiver", "--port", str(port)),
        cwd=shell.folder,
        env={**kept, **given, **shell.environ, **changed},
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


BODY = b'{"event_id": "e-1", "message": {"id": "m-1", "status": "delivered"}}'


def signed(body: bytes) -> bytes:
    """Write a callback of the sandbox's, whole but for its last byte; the secret is the one it comes with."""
    timestamp = f"{int(datetime.now(UTC).timestamp())}"
    head = (
        "POST /callbacks/sandbox HTTP/1.1",
        "Host: x",
        f"Content-Length: {len(body)}",
        f"Sandbox-Timestamp: {timestamp}",
        f"Sandbox-Signature: {signature('sandbox', timestamp, body)}",
    )
    return "\r\n".join((*head, "", "")).encode() + body[:-1]


async def test_what_is_in_hand_when_it_is_told_to_stop_is_finished(shell: Shell, own: dict[str, str]) -> None:
    port = free_port()
    async with served(shell, port, **own) as child:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(signed(BODY))
        await probed(port)
        child.send_signal(signal.SIGTERM)
        assert child.stderr is not None
        while b"receiver stopping" not in await child.stderr.readline():
            pass
        writer.write(BODY[-1:])
        answer = await reader.read()
        writer.close()
        out, err = await child.communicate()
    assert answer.startswith(b"HTTP/1.1 200")
    assert (child.returncode, out) == (0, b""), err.decode()


async def test_what_was_answered_before_it_was_killed_is_kept(shell: Shell, own: dict[str, str]) -> None:
    """And it starts again at the same address, at once; what was not answered is brought again."""
    port = free_port()
    async with served(shell, port, **own) as child:
        assert (await told(port)).startswith(b"HTTP/1.1 200")
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(signed(BODY))
        await probed(port)
        child.kill()
        await child.wait()
        writer.close()
    assert await stray_events(own) == 1
    async with served(shell, port, **own):
        assert (await told(port)).startswith(b"HTTP/1.1 200")
    assert await stray_events(own) == 1


async def told(port: int) -> bytes:
    """Bring the callback, and return the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(signed(BODY) + BODY[-1:])
    answer = await reader.readuntil(b"\r\n")
    writer.close()
    return answer


async def probed(port: int) -> None:
    """Wait for an answer: what was sent before has been read by then."""
    async with httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(f"http://127.0.0.1:{port}/healthz")).status_code == httpx.codes.OK


async def stray_events(own: dict[str, str]) -> int:
    """Count the reports of the sandbox that are kept for nobody."""
    engine = await open_engine(own["STANDBY_DATABASE_URL"])
    try:
        return (await Ledger(engine).strays.count()).get("sandbox", 0)
    finally:
        await engine.dispose()


async def test_a_provider_whose_callbacks_cannot_be_checked_is_said_at_the_start(shell: Shell) -> None:
    given = {
        "STANDBY_EMAIL": "postmark",
        "STANDBY_EMAIL_FROM": "notices@example.com",
        "STANDBY_POSTMARK_SERVER_TOKEN": "token",
    }
    async with served(shell, free_port(), **given) as child:
        child.terminate()
        _, err = await child.communicate()
    (line,) = [each for each in err.decode().splitlines() if "callbacks are refused" in each]
    assert all(
        each in line
        for each in ("WARNING", "provider=postmark", "STANDBY_POSTMARK_WEBHOOK_SECRET: is not set")
    )
