"""No command makes a ledger but those that are meant to: an empty one looks as if nothing had happened."""

import asyncio
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.console.shell import ROOT, UNREACHABLE, Shell
from tests.store import facts

COMMANDS = {
    "show": ("show", facts.KEY),
    "show a verification": ("show", "verification:challenge-1"),
    "controls": ("controls",),
    "controls log": ("controls", "log"),
    "controls set": ("controls", "set", "dispatch", "off", "--why", "x"),
    "observe-report": ("observe-report",),
    "suppressions pull": ("suppressions", "pull", "sendgrid"),
    "doctor": ("doctor",),
}

GONE = "sqlite:///gone.db"
LINE = "ledger: SQLite file gone.db does not exist: run standby migrate, or correct STANDBY_DATABASE_URL"


def content(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*"))


@pytest.fixture
def missing(alone: Shell) -> Shell:
    """A shell whose environment names a ledger that nobody has made."""
    return replace(alone, environ={**alone.environ, "STANDBY_DATABASE_URL": GONE})


@pytest.mark.parametrize("name", [each for each in COMMANDS if each != "doctor"])
async def test_a_ledger_that_is_not_there_is_one_line_and_is_not_made(missing: Shell, name: str) -> None:
    before = content(missing.folder)
    said = await missing.run(*COMMANDS[name])

    assert said.code == UNREACHABLE
    assert said.err.splitlines() == [LINE]
    assert content(missing.folder) == before


@pytest.mark.parametrize("module", ["starter receiver", "worker"])
async def test_no_server_makes_the_ledger_that_it_is_to_serve(shell: Shell, module: str) -> None:
    shutil.copytree(ROOT / "notices", shell.folder / "notices")
    before = content(shell.folder)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", *module.split()),
        cwd=shell.folder,
        env={**os.environ, **shell.environ, "PYTHONPATH": str(ROOT), "STANDBY_DATABASE_URL": GONE},
        stderr=asyncio.subprocess.PIPE,
    )
    _, err = await child.communicate()

    assert (child.returncode != 0, err.decode().splitlines()) == (True, [LINE])
    assert content(shell.folder) == before


@pytest.mark.parametrize("name", COMMANDS)
async def test_a_folder_whose_development_deployment_was_stopped_stays_as_it_is(
    missing: Shell, name: str
) -> None:
    (missing.folder / ".standby").mkdir()
    shell = replace(missing, environ={})
    before = content(shell.folder)
    said = await shell.run(*COMMANDS[name])

    assert "no `standby dev` runs in this folder" in said.out + said.err
    assert content(shell.folder) == before


async def test_migrating_is_what_makes_a_ledger(missing: Shell) -> None:
    assert "gone.db" not in content(missing.folder)
    await missing.run("migrate")
    assert "gone.db" in content(missing.folder)
