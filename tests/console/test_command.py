"""The command in processes of its own: what scripts rely on."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.console.conftest import BLOCKING, DESERTED, SILENT
from tests.console.shell import BAD, NOT_REACHED, REACHED, ROOT, UNREACHABLE, Shell, document, key

RUNS = 12
"""The SDK aborts an ordinary exit in up to one run of ten."""

COMMANDS = (
    *("send", "show", "withdraw", "schema"),
    *("receiver", "doctor", "providers", "migrate"),
    *("controls", "observe-report", "setup", "prune"),
    *("retry", "explain", "export", "verify-export"),
    *("list", "watch"),
    *("dev", "demo", "version"),
)


async def test_each_exit_code_leaves_the_process(shell: Shell, alone: Shell) -> None:
    reached, unreached, bad = (shell.file(document(f"command-{n}"), name=f"{n}.json") for n in range(3))
    (shell.folder / bad).write_text('{"kind": "password_reset"}')
    said = await asyncio.gather(
        shell.spawn("send", reached, "--wait", "--json"),
        shell.spawn("send", unreached, "--wait", "--json", STANDBY_TASK_QUEUE=BLOCKING),
        shell.spawn("send", bad, "--json"),
        alone.spawn("send", reached, "--json"),
    )
    assert [each.code for each in said] == [REACHED, NOT_REACHED, BAD, UNREACHABLE]
    # JSON, or nothing: no log line of the SDK, no bar, no hint.
    assert [[each["outcome"] for each in one.objects] for one in said[:2]] == [["delivered"], ["exhausted"]]
    assert [one.out for one in said[2:]] == ["", ""]
    assert [one.err for one in said[:2]] == ["", ""]


async def test_a_short_command_always_returns_its_own_code(shell: Shell) -> None:
    file = shell.file(document("command-runs"))
    abreast = asyncio.Semaphore(os.cpu_count() or 2)

    async def once() -> int:
        async with abreast:
            return (await shell.spawn("send", file, "--json", STANDBY_TASK_QUEUE=DESERTED)).code

    assert await asyncio.gather(*(once() for _ in range(RUNS))) == [REACHED] * RUNS


async def test_ctrl_c_says_how_far_it_came_and_that_going_on_is_safe(shell: Shell) -> None:
    shell.file(document("command-int-1"), document("command-int-2"))
    with children_hear_ctrl_c():
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "starter", "send", "notices.ndjson", "--wait"),
            cwd=shell.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), **shell.environ, "STANDBY_TASK_QUEUE": SILENT},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    await engine_knows(shell, child, key("command-int-1"), key("command-int-2"))
    child.send_signal(signal.SIGINT)
    out, err = await child.communicate()
    assert (child.returncode, out) == (130, b""), err.decode()
    # The answer to the second start may be on its way still.
    assert re.match(
        "interrupted: [12] started, 0 already there of 2; the same command again is safe", err.decode()
    )


@contextmanager
def children_hear_ctrl_c() -> Iterator[None]:
    """Start children as a terminal does: of a background job they would inherit that SIGINT is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


async def engine_knows(shell: Shell, child: asyncio.subprocess.Process, *keys: str) -> None:
    """Wait until these notices are started, or fail with what a child said that ended before."""
    for each in keys:
        while (await shell.run("show", each, "--json")).code != REACHED:
            assert child.returncode is None, await child.communicate()
            await asyncio.sleep(0.05)


async def test_help_shows_an_example_for_every_command(shell: Shell) -> None:
    told = await shell.run("--help")
    assert told.code == REACHED
    assert "completion" not in told.out
    for command in COMMANDS:
        assert command in told.out
        assert f"standby {command}" in (await shell.run(command, "--help")).out.partition("Example:")[2]


@pytest.mark.parametrize("arguments", [("sned",), ("send",), ("send", "a", "--no")])
async def test_a_mistyped_command_is_bad_input(shell: Shell, arguments: tuple[str, ...]) -> None:
    said = await shell.run(*arguments)
    assert (said.code, said.out) == (BAD, "")
    assert said.err


@pytest.mark.parametrize(
    ("arguments", "file"),
    [((), "notice"), (("notice",), "notice"), (("verification",), "verification"), (("export",), "export")],
)
async def test_the_schema_that_is_printed_is_the_published_one(
    shell: Shell, arguments: tuple[str, ...], file: str
) -> None:
    said = await shell.run("schema", *arguments)
    assert json.loads(said.out) == json.loads((ROOT / "docs" / f"{file}.schema.json").read_text())


async def test_the_version_is_one_line(shell: Shell) -> None:
    assert (await shell.run("version")).out == (await shell.run("--version")).out


async def test_an_unforeseen_error_is_one_line_and_its_traceback_is_asked_for(shell: Shell) -> None:
    impossible = ("send", "a\0b")
    said = await shell.run(*impossible)
    (line,) = said.err.splitlines()
    assert (said.code, line) == (
        1,
        "unexpected: ValueError; to see where it came from: standby --traceback ...",
    )
    assert "documents.py" in (await shell.run("--traceback", *impossible)).err
