import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from console.engine import EngineAt, EngineError, database, development_engine, free_port
from console.exits import Exit
from console.holding import HeldError, end_orphans, held
from tests.console.shell import ROOT, Shell


def test_a_folder_has_one_holder_and_the_second_is_told_who(tmp_path: Path) -> None:
    with held(tmp_path), pytest.raises(HeldError) as caught, held(tmp_path):
        raise AssertionError
    assert str(caught.value).startswith(f"another `standby dev` (pid {os.getpid()}) holds {tmp_path}/: stop")
    with held(tmp_path):
        pass


async def test_a_lock_ends_with_its_holder_even_if_that_is_killed_while_its_engine_lives(
    tmp_path: Path,
) -> None:
    async with killed_with_a_child(tmp_path) as pid:
        with held(tmp_path):
            assert await end_orphans(database(tmp_path)) == (pid,)
            assert await end_orphans(database(tmp_path)) == ()


async def test_a_server_on_another_file_is_none_of_ours(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with killed_with_a_child(tmp_path) as pid:
        assert await end_orphans(database(tmp_path / "other")) == ()
        os.kill(pid, 0)


HOLDER = """
import subprocess, sys, time
from pathlib import Path
from console.engine import database
from console.holding import held

home = Path(sys.argv[1])
with held(home):
    sleep = "import sys, time; print('up', flush=True); time.sleep(600)"
    child = subprocess.Popen(
        [sys.executable, "-c", sleep, "server", "start-dev", "--db-filename", str(database(home))],
        stdout=subprocess.PIPE,
    )
    child.stdout.readline()
    print(child.pid, flush=True)
    time.sleep(600)
"""


@asynccontextmanager
async def killed_with_a_child(home: Path) -> AsyncIterator[int]:
    """Kill a process that holds a folder, and yield the engine's stand-in, which lives on."""
    holder = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HOLDER, str(home)),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert holder.stdout is not None
    pid = int(await holder.stdout.readline())
    holder.kill()
    await holder.wait()
    try:
        yield pid
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, 9)


async def test_the_real_engine_is_found_by_its_file(tmp_path: Path) -> None:
    async with development_engine(tmp_path, EngineAt(free_port(), free_port())):
        assert len(await end_orphans(database(tmp_path))) == 1


async def test_a_second_standby_dev_is_one_line_and_touches_nothing(alone: Shell) -> None:
    with held(alone.folder / ".standby"):
        said = await alone.spawn("dev")
    assert (said.code, said.out) == (Exit.FAILED, "")
    (line,) = said.err.splitlines()
    assert line.startswith(f"another `standby dev` (pid {os.getpid()}) holds .standby/")
    assert [each.name for each in (alone.folder / ".standby").iterdir()] == ["lock"]


@pytest.mark.parametrize("option", ["--port", "--ui-port"])
async def test_a_taken_port_says_which_option_chooses_another(tmp_path: Path, option: str) -> None:
    server = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
    async with server:
        taken = server.sockets[0].getsockname()[1]
        at = EngineAt(taken, free_port()) if option == "--port" else EngineAt(free_port(), taken)
        with pytest.raises(EngineError) as caught:
            async with development_engine(tmp_path, at):
                raise AssertionError
    assert str(caught.value).startswith(f"port {taken} is taken: ")
    assert str(caught.value).endswith(f"standby dev {option} N")


async def test_a_stopped_deployment_leaves_no_word_of_itself(alone: Shell) -> None:
    """The whole command, stopped as Ctrl-C stops it."""
    ports = [str(free_port()) for _ in range(3)]
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "starter", "dev"),
        *("--port", ports[0], "--ui-port", ports[1], "--sandbox-port", ports[2]),
        cwd=alone.folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "STANDBY_NOTICES": str(ROOT / "notices")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    async for line in child.stdout:
        if line.startswith(b"Ctrl-C"):
            break
    word = alone.folder / ".standby" / "env"
    assert f"TEMPORAL_ADDRESS=127.0.0.1:{ports[0]}" in word.read_text()
    child.terminate()
    _, err = await child.communicate()
    assert (child.returncode, err) == (0, b"")
    assert not word.exists()
