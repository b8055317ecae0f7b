"""What the runbook tells somebody who was woken: each of its commands, and its worked trial to the letter."""

import asyncio
import os
import re
import shlex
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from console.exits import Exit
from sandbox.fates import Fate
from tests.endtoend.deployment import Manner, Town, send
from tests.endtoend.scenes import ended, notice
from tests.servers import dev_server
from workflows.policy.models import NoticeRequest, Recipient

PAGE = Path(__file__).parents[2] / "docs" / "runbook.md"
PROGRAMS = {"standby": (sys.executable, "-m", "starter"), "temporal": (dev_server(),)}
NUMBER = "+12025550182"
GUARDIAN = "class_cancelled:class-0412:guardian-88"

pytestmark = pytest.mark.timeout(300)


def section(name: str) -> str:
    """Return a part of the page, with the parts of it."""
    _, _, rest = PAGE.read_text().partition(f"\n## {name}\n")
    return rest.partition("\n## ")[0]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


WOKEN = sorted(
    {line for block in blocks(section("When somebody is woken"), "sh") for line in block.splitlines()}
)


class Said(NamedTuple):
    """What came of a command."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Duty:
    """Somebody who was woken, with a terminal, a notice and a challenge id."""

    manner: Manner
    key: str

    async def do(self, command: str, stdin: str = "") -> Said:
        given = {"$KEY": self.key, "verification:$CHALLENGE": "verification:nobody-0001"}
        program, *words = shlex.split(command)
        child = await asyncio.create_subprocess_exec(
            *(*PROGRAMS[program], *(given.get(each, each) for each in words)),
            env=os.environ | self.manner.environ | {"COLUMNS": "120"},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await child.communicate(stdin.encode())
        return Said(child.returncode or 0, out.decode(), err.decode())


@pytest.fixture(scope="module")
async def duty(town: Town) -> AsyncIterator[Duty]:
    async with town.deployment() as manner, manner.worker() as client:
        request = notice("on-call", Fate.DELIVERED)
        await ended(await send(client, manner, request))
        yield Duty(manner, request.key)


@pytest.mark.parametrize("command", WOKEN)
async def test_a_command_for_somebody_who_was_woken_can_be_given_as_it_stands(
    duty: Duty, command: str
) -> None:
    said = await duty.do(command)

    match command.split():
        case ["standby", "show", shown] if "$CHALLENGE" in shown:
            assert said.code == Exit.BAD_INPUT
            assert "no such verification" in said.err
        case ["standby", "retry", *_]:
            assert said.code == Exit.FAILED
            assert len(said.err.splitlines()) == 1
        case ["standby", "doctor"]:
            assert said.code in {Exit.OK, Exit.FAILED}
            assert "temporal" in said.out
        case _:
            assert (said.code, said.err) == (Exit.OK, "")
            assert said.out


def test_each_part_names_a_command_to_begin_with() -> None:
    parts = section("When somebody is woken").split("\n### ")[1:]

    assert all(blocks(each, "sh") for each in parts)


def canonical(text: str) -> str:
    """Return a text without what differs at each run: times, distances, ids, and the blanks that follow."""
    rules = (
        (r"\d\d:\d\d:\d\dZ", "TIME"),
        (r"\d{4}-\d\d-\d\d ", ""),
        (r"\((in )?\d+ \w+( ago)?\)|\(now\)", "(AWAY)"),
        (r"TIME +(\+\d+s)? *", "TIME "),
        (r"sb_[0-9a-f]+", "ID"),
        (r"terms [0-9a-f]{16}", "terms DIGEST"),
        (r"[ ]+$", ""),
        (r"  +", "  "),
    )
    for pattern, word in rules:
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    return text.strip()


def guardian() -> NoticeRequest:
    """A class that is called off; the email stays at the provider, and the number has said STOP."""
    now = datetime.now(UTC)
    sample = PAGE.parents[1] / "notices" / "class_cancelled" / "sample.json"
    told = NoticeRequest.model_validate_json(sample.read_text())
    to = Recipient(id="guardian-88", email=Fate.SILENT.email("guardian"), phone=NUMBER, sms_consent=True)
    times = {"fallback_at": now + timedelta(seconds=3), "expires_at": now + timedelta(seconds=68)}
    return told.model_copy(update={"event_id": "class-0412", "recipient": to, **times})


async def test_the_worked_trial_says_what_it_says(town: Town) -> None:
    trial = section("A worked trial")
    commands, told = blocks(trial, "sh"), blocks(trial, "console")
    async with town.deployment(scale=1) as manner, manner.worker() as client:
        duty = Duty(manner, GUARDIAN)
        await duty.do("standby suppressions add --channel sms --reason stopped", stdin=f"{NUMBER}\n")
        await ended(await send(client, manner, guardian()))
        said = [await duty.do(command.strip()) for command in commands]

    assert [each.err for each in said] == [""] * len(told)
    for each, expected in zip(said, told, strict=True):
        assert canonical(each.out) == canonical(expected)
