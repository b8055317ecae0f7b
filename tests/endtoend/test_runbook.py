"""The runbook's own commands, in its own order, on a real deployment with notices under way."""

import asyncio
import json
import os
import re
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from temporalio.client import Client

from client.starting import Handle
from console.exits import Exit
from sandbox.fates import Fate
from tests.endtoend.deployment import Ending, Manner, Town, send
from tests.endtoend.scenes import notice, until, within
from workflows.notice import Notice
from workflows.policy.controls import Control, Controls, allows
from workflows.policy.keys import attempt_key
from workflows.policy.models import NoticeRequest, Observation
from workflows.policy.words import Channel, Outcome, Source, Status

PAGE = Path(__file__).parents[2] / "docs" / "runbook.md"
EMAIL, SMS = ("email", "accepted"), ("sms", "accepted")
_NUMBERS = count(1)


def steps(section: str) -> list[list[str]]:
    """Return the commands of a section, block by block."""
    _, _, rest = PAGE.read_text().partition(f"\n## {section}\n")
    blocks = re.findall(r"```sh\n(.*?)```", rest.partition("\n## ")[0], re.DOTALL)
    return [block.strip().splitlines() for block in blocks]


@dataclass(frozen=True)
class Duty:
    """Somebody on call, with a terminal and a deployment."""

    manner: Manner
    client: Client

    async def do(self, commands: list[str]) -> str:
        """Run commands as they stand, and return what the last one said."""
        said = b""
        for command in commands:
            program, *arguments = shlex.split(command)
            assert program == "standby"
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "starter", *arguments),
                env=os.environ | self.manner.environ,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            said, err = await child.communicate()
            assert (child.returncode, err) == (Exit.OK, b""), command
        return said.decode()

    async def controls(self) -> Controls:
        async with self.manner.ledger() as ledger:
            return await ledger.controls.read()

    async def begin(self, request: NoticeRequest) -> Handle:
        return await send(self.client, self.manner, request)

    async def called_back(self, handle: Handle, request: NoticeRequest, status: Status) -> None:
        """Report what became of the email, as a receiver does."""
        seen = Observation(
            attempt_key=attempt_key(request.key, Channel.EMAIL),
            event_id=f"callback-{status}",
            source=Source.CALLBACK,
            status=status,
            is_final=True,
            at=within(0),
        )
        await handle.signal(Notice.observe, seen)


def of_cohort(percent: int, *, inside: bool, email: Fate = Fate.DELIVERED) -> NoticeRequest:
    """Return a notice whose key lies in the cohort of that size, or outside."""
    while True:
        request = notice(f"person-{next(_NUMBERS)}", email, Fate.DELIVERED, expires_at=within(20))
        if allows(Control(percent=percent), request.key) is inside:
            return request


@asynccontextmanager
async def on_duty(town: Town) -> AsyncIterator[Duty]:
    async with town.deployment() as manner, manner.worker() as client:
        yield Duty(manner, client)


async def observed(duty: Duty, request: NoticeRequest) -> Handle:
    """Begin a notice, and wait until its email would have been sent."""
    handle = await duty.begin(request)

    async def is_noted() -> bool:
        async with duty.manner.ledger() as ledger:
            story = await ledger.story(request.key)
        return story is not None and bool(story.observations)

    await until(is_noted)
    return handle


@dataclass(frozen=True)
class RolledOut:
    """What each step of the rollout left."""

    observed: Ending
    report: list[dict[str, object]]
    text: str
    held: Ending
    cohort: Ending
    fallen_back: Ending
    last: Controls
    board: str


@pytest.fixture(scope="module")
async def rolled_out(town: Town) -> RolledOut:
    look, read, cohort, reconcile, everybody, last = steps("Rolling out")
    async with on_duty(town) as duty:
        await duty.do(look)
        request = notice("observed", Fate.DELIVERED, Fate.DELIVERED)
        handle = await observed(duty, request)
        await duty.called_back(handle, request, Status.DELIVERED)
        first = await duty.manner.ending(handle)
        text = await duty.do(read)
        report = json.loads(await duty.do(["standby observe-report --json"]))
        await duty.do(cohort)
        outside = await duty.begin(of_cohort(10, inside=False))
        inside = await duty.begin(of_cohort(10, inside=True))
        await duty.do(reconcile)
        held, let_through = await asyncio.gather(*map(duty.manner.ending, (outside, inside)))
        await duty.do(everybody)
        bounced = notice("falls-back", Fate.BOUNCED, Fate.DELIVERED)
        fallen_back = await duty.manner.ending(await duty.begin(bounced))
        board = await duty.do(last)
        return RolledOut(first, report, text, held, let_through, fallen_back, await duty.controls(), board)


def test_while_observing_nothing_leaves_and_a_callback_still_settles_the_notice(
    rolled_out: RolledOut,
) -> None:
    left = rolled_out.observed

    assert (left.submissions, left.reached) == ([], [])
    assert (left.result.outcome, left.result.channel) == (Outcome.DELIVERED, Channel.EMAIL)
    assert [(each.source, each.raw) for each in left.story.observations] == [
        (Source.SEND, "would have sent"),
        (Source.CALLBACK, ""),
    ]


def test_the_report_sets_what_would_have_been_sent_beside_what_callbacks_showed(
    rolled_out: RolledOut,
) -> None:
    (line,) = rolled_out.report

    assert (line["kind"], line["channel"]) == ("password_reset", "email")
    assert (line["would_have_sent"], line["delivered"], line["silent"]) == (1, 1, 0)
    assert "would have sent" in rolled_out.text


def test_a_cohort_is_let_through_and_everybody_else_is_held_until_expiry(rolled_out: RolledOut) -> None:
    assert (rolled_out.held.result.outcome, rolled_out.held.submissions) == (Outcome.EXPIRED, [])
    assert rolled_out.cohort.submissions == [EMAIL]
    assert rolled_out.cohort.result.outcome is Outcome.DELIVERED


def test_after_the_last_step_everything_is_on_but_what_nobody_asked_for(rolled_out: RolledOut) -> None:
    assert rolled_out.fallen_back.submissions == [EMAIL, SMS]
    assert rolled_out.last == Controls()
    assert "rolling out: the last step" in rolled_out.board


@dataclass(frozen=True)
class RolledBack:
    """What the rollback left."""

    out: Ending
    held: Ending
    log: str
    last: Controls


@pytest.fixture(scope="module")
async def rolled_back(town: Town) -> RolledBack:
    effects, end = steps("Rolling back")
    async with on_duty(town) as duty:
        # Its email is out, and undecided, when the effects go.
        request = notice("was-out", Fate.SILENT, Fate.DELIVERED, expires_at=within(14))
        out = await duty.begin(request)
        await duty.manner.submitted(request.key)
        await duty.do(effects)
        late = await duty.begin(notice("comes-late", Fate.DELIVERED, Fate.DELIVERED, expires_at=within(6)))
        endings = await asyncio.gather(*map(duty.manner.ending, (out, late)))
        log = await duty.do(end)
        ended, held = endings
        return RolledBack(ended, held, log, await duty.controls())


def test_after_the_effects_are_off_open_claims_end_and_nothing_new_leaves(rolled_back: RolledBack) -> None:
    assert rolled_back.out.submissions == [EMAIL]
    assert rolled_back.out.result.outcome in {Outcome.EXPIRED, Outcome.UNKNOWN}
    assert (rolled_back.held.submissions, rolled_back.held.result.outcome) == ([], Outcome.EXPIRED)


def test_evidence_is_still_read_while_the_effects_are_off(rolled_back: RolledBack) -> None:
    assert Source.POLL in {each.source for each in rolled_back.out.story.observations}


def test_every_setting_of_a_rollback_is_kept_with_its_reason(rolled_back: RolledBack) -> None:
    assert rolled_back.log.count("rolling back") == 4
    assert "rolled back: nothing is open" in rolled_back.log
    assert not any(getattr(rolled_back.last, each).on for each in ("dispatch", "fallback", "resend"))


async def test_the_lists_that_the_runbook_begins_with_can_be_read(town: Town) -> None:
    async with on_duty(town) as duty:
        for block in steps("Controls"):
            assert await duty.do(block)
