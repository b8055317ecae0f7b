"""The runbook's own commands, in its own order, on a real deployment with notices under way."""

import asyncio
import hashlib
import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from temporalio.client import Client

from activities.keyring import Keyring
from activities.observing import OBSERVER, WOULD_HAVE
from activities.store.records import ControlChange
from client.starting import Handle
from console.exits import Exit
from sandbox.fates import Fate
from tests.endtoend.deployment import CALM, QUICK, Ending, Manner, Town, send
from tests.endtoend.scenes import notice, until, within
from tests.servers import dev_server
from workflows.notice import Notice
from workflows.policy.controls import Control, Controls, Switch, allows, cohort
from workflows.policy.keys import attempt_key, notice_key
from workflows.policy.models import NoticeRequest, Observation
from workflows.policy.words import AttemptState, Channel, Outcome, Source, Status

PAGE = Path(__file__).parents[2] / "docs" / "runbook.md"
EMAIL, SMS = ("email", "accepted"), ("sms", "accepted")
_NUMBERS = count(1)

pytestmark = pytest.mark.timeout(300)
"""Commands are processes of their own, and a slow machine starts some twenty of them in a row."""


def blocks(section: str, language: str) -> list[str]:
    """Return the blocks of a section in one language, in their order."""
    _, _, rest = PAGE.read_text().partition(f"\n## {section}\n")
    return re.findall(rf"```{language}\n(.*?)```", rest.partition("\n## ")[0], re.DOTALL)


def steps(section: str) -> list[list[str]]:
    """Return the commands of a section, block by block."""
    return [block.strip().splitlines() for block in blocks(section, "sh")]


PROGRAMS = {"standby": (sys.executable, "-m", "starter"), "temporal": (dev_server(),)}


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
            child = await asyncio.create_subprocess_exec(
                *(*PROGRAMS[program], *arguments),
                env=os.environ | self.manner.environ,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            said, err = await child.communicate()
            assert (child.returncode, err) == (Exit.OK, b""), command
        return said.decode()

    def unresolved(self, statement: str) -> list[tuple[str, ...]]:
        """Ask the ledger as somebody with a database client does."""
        with closing(sqlite3.connect(self.manner.home / "ledger.db")) as database:
            return database.execute(statement).fetchall()

    async def lists(self, commands: list[str], key: str, *, until_gone: bool = False) -> None:
        """Wait until the engine lists a notice, or no longer does: its lists lag behind a little."""

        async def is_so() -> bool:
            return (key in await self.do(commands)) is not until_gone

        await until(is_so)

    async def controls(self) -> Controls:
        async with self.manner.ledger() as ledger:
            return await ledger.controls.read()

    async def settings(self) -> tuple[ControlChange, ...]:
        async with self.manner.ledger() as ledger:
            return await ledger.controls.changes(100)

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


def of_cohort(percent: int, *, inside: bool, email: Fate = Fate.DELIVERED, life: float = 20) -> NoticeRequest:
    """Return a notice, of so many seconds, whose key lies in the cohort of that size, or outside."""
    while True:
        times = {"fallback_at": within(life / 2), "expires_at": within(life)}
        request = notice(f"person-{next(_NUMBERS)}", email, Fate.DELIVERED, **times)
        if allows(Control(percent=percent), request.key) is inside:
            return request


@asynccontextmanager
async def on_duty(town: Town, scale: float = QUICK) -> AsyncIterator[Duty]:
    async with town.deployment(scale=scale) as manner, manner.worker() as client:
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
    under_way: Ending
    """Observed when the cohort was let through."""
    held: Ending
    cohort: Ending
    texted: Ending
    """Of the cohort, after its fallback was turned on."""
    everybody: Ending
    last: Controls
    board: str


@pytest.fixture(scope="module")
async def rolled_out(town: Town) -> RolledOut:
    look, read, cohort, reconcile, fallback, everybody, last = steps("Rolling out")
    async with on_duty(town) as duty:
        ending = duty.manner.ending
        await duty.do(look)
        request = notice("observed", Fate.DELIVERED, Fate.DELIVERED)
        handle = await observed(duty, request)
        await duty.called_back(handle, request, Status.DELIVERED)
        first = await ending(handle)
        text = await duty.do(read)
        report = json.loads(await duty.do(["standby observe-report --json"]))
        # Dispatch lets it through, and it wants its text when observing has ended.
        under_way = await observed(duty, of_cohort(10, inside=True, life=22))
        await duty.do(cohort)
        outside = await duty.begin(of_cohort(10, inside=False, life=10))
        # It is read once more at its fallback deadline, after the reads are turned on.
        inside = await duty.begin(of_cohort(10, inside=True, life=28))
        await duty.do(reconcile)
        left, held, let_through = await asyncio.gather(*map(ending, (under_way, outside, inside)))
        await duty.do(fallback)
        texted = await ending(await duty.begin(of_cohort(10, inside=True, email=Fate.BOUNCED)))
        await duty.do(everybody)
        anybody = await ending(await duty.begin(of_cohort(10, inside=False, email=Fate.BOUNCED)))
        board = await duty.do(last)
        controls = await duty.controls()
        return RolledOut(first, report, text, left, held, let_through, texted, anybody, controls, board)


@dataclass(frozen=True)
class RolledBack:
    """What the rollback left."""

    out: Ending
    answered: Ending
    held: Ending
    unresolved: list[tuple[str, ...]]
    log: str
    settings: tuple[ControlChange, ...]
    last: Controls


@pytest.fixture(scope="module")
async def rolled_back(town: Town) -> RolledBack:
    effects, is_open, end = steps("Rolling back")
    (unresolved,) = blocks("Rolling back", "sql")
    async with on_duty(town, CALM) as duty:
        # Both emails are out, and undecided, when the effects go.
        # Long before their texts would follow, on the slowest machine.
        times = {"fallback_at": within(36), "expires_at": within(60)}
        request, told = (
            notice(name, Fate.SILENT, Fate.DELIVERED, **times) for name in ("was-out", "is-told")
        )
        out, answered = [await duty.begin(each) for each in (request, told)]
        await duty.manner.submitted(request.key)
        await duty.manner.submitted(told.key)
        await duty.do(effects)
        late = await duty.begin(notice("comes-late", Fate.DELIVERED, Fate.DELIVERED, expires_at=within(8)))
        await duty.called_back(answered, told, Status.DELIVERED)
        await duty.lists(is_open, request.key)
        left, settled, held = await asyncio.gather(*map(duty.manner.ending, (out, answered, late)))
        await duty.lists(is_open, request.key, until_gone=True)
        log = await duty.do(end)
        rows = duty.unresolved(unresolved)
        return RolledBack(left, settled, held, rows, log, await duty.settings(), await duty.controls())


def test_while_observing_nothing_leaves_and_a_callback_still_settles_the_notice(
    rolled_out: RolledOut,
) -> None:
    left = rolled_out.observed

    assert (left.submissions, left.reached) == ([], [])
    assert (left.result.outcome, left.result.channel) == (Outcome.DELIVERED, Channel.EMAIL)
    assert [(each.source, each.raw) for each in left.story.observations] == [
        (Source.SEND, WOULD_HAVE),
        (Source.CALLBACK, ""),
    ]


def test_the_report_sets_what_would_have_been_sent_beside_what_callbacks_showed(
    rolled_out: RolledOut,
) -> None:
    (line,) = rolled_out.report

    assert (line["kind"], line["channel"]) == ("password_reset", "email")
    assert (line["would_have_sent"], line["delivered"], line["silent"]) == (1, 1, 0)
    assert "would have sent" in rolled_out.text


def test_what_was_observed_when_the_cohort_was_let_through_is_not_texted_in_earnest(
    rolled_out: RolledOut,
) -> None:
    left = rolled_out.under_way

    assert left.submissions == []
    assert {each.provider for each in left.story.attempts} == {OBSERVER}


def test_a_cohort_is_let_through_and_everybody_else_is_held_until_expiry(rolled_out: RolledOut) -> None:
    held = rolled_out.held

    assert (held.result.outcome, held.submissions) == (Outcome.EXPIRED, [])
    assert ("held", "dispatch_off") in {(each.answer, each.reason) for each in held.story.decisions}
    assert rolled_out.cohort.submissions == [EMAIL]
    assert rolled_out.cohort.result.outcome is Outcome.DELIVERED


def test_providers_are_asked_about_the_cohort(rolled_out: RolledOut) -> None:
    assert Source.POLL in {each.source for each in rolled_out.cohort.story.observations}


def test_the_cohort_falls_back_before_everybody_does(rolled_out: RolledOut) -> None:
    assert rolled_out.texted.submissions == [EMAIL, SMS]
    assert rolled_out.everybody.submissions == [EMAIL, SMS]


def test_after_the_last_step_everything_is_on_but_what_nobody_asked_for(rolled_out: RolledOut) -> None:
    assert rolled_out.last == Controls()
    assert "rolling out: the last step" in rolled_out.board


def test_after_the_effects_are_off_open_claims_end_and_nothing_new_leaves(rolled_back: RolledBack) -> None:
    assert rolled_back.out.submissions == [EMAIL]
    assert rolled_back.out.result.outcome is Outcome.EXPIRED
    texts = [each.answer for each in rolled_back.out.story.decisions if each.channel is Channel.SMS]
    assert "held" in texts, "it wanted no text"
    assert (rolled_back.held.submissions, rolled_back.held.result.outcome) == ([], Outcome.EXPIRED)


def test_evidence_is_still_read_while_the_effects_are_off(rolled_back: RolledBack) -> None:
    (off,) = [each.changed_at for each in rolled_back.settings if each.name is Switch.DISPATCH]
    read = [each.at for each in rolled_back.out.story.observations if each.source is Source.POLL]

    assert max(read) > off


def test_a_callback_still_settles_a_notice_while_the_effects_are_off(rolled_back: RolledBack) -> None:
    left = rolled_back.answered

    assert (left.result.outcome, left.submissions) == (Outcome.DELIVERED, [EMAIL])


def test_what_stays_unresolved_is_kept_and_found_with_the_provider_that_may_know(
    rolled_back: RolledBack,
) -> None:
    email = rolled_back.out.attempt(Channel.EMAIL)

    assert email.state is AttemptState.UNKNOWN
    assert [row[:3] for row in rolled_back.unresolved] == [(email.key, "sandbox", email.provider_id)]


def test_effects_go_before_evidence_and_every_setting_is_kept_with_its_reason(
    rolled_back: RolledBack,
) -> None:
    effects = [Switch.AUTOMATIC_RESEND, Switch.RESEND, Switch.FALLBACK, Switch.DISPATCH]

    assert [each.name for each in reversed(rolled_back.settings)] == [*effects, Switch.RECONCILE]
    assert rolled_back.log.count("rolling back") == len(effects)
    assert "rolled back: nothing is open" in rolled_back.log
    assert not any(getattr(rolled_back.last, each).on for each in Switch)


async def test_the_lists_that_the_runbook_begins_with_can_be_read(town: Town) -> None:
    async with on_duty(town) as duty:
        (commands,) = steps("Controls")
        board, log = [await duty.do([command]) for command in commands]

    assert all(each in board for each in Switch)
    assert log.startswith("nothing was ever set")


def test_a_key_is_added_before_it_is_used(tmp_path: Path) -> None:
    add, use = steps("Keys")
    file = tmp_path / "keys.toml"
    old = Keyring.create(file)

    def do(commands: list[str]) -> Keyring:
        for command in commands:
            program, *arguments = shlex.split(command)
            environ = {**os.environ, "PYTHONPATH": str(PAGE.parents[1])}
            subprocess.run((*PROGRAMS[program], *arguments), cwd=tmp_path, env=environ, check=True)  # noqa: S603 - the page's own
        return Keyring.load(file)

    added, used = do(add), do(use)

    assert (added.current, len(added.payload)) == (old.current, 2)
    assert used.payload == added.payload
    assert used.current != old.current


def test_another_program_can_tell_the_cohort_as_the_page_says() -> None:
    (told,) = re.findall(r"if `(int\.from_bytes.*?) < N`", PAGE.read_text())
    for number in range(100):
        key = notice_key("password_reset", f"event-{number}", "user-1")
        names = {"sha256": lambda text: hashlib.sha256(text).digest(), "key": key.encode()}

        assert eval(told, {"int": int, **names}) == cohort(key)  # noqa: S307 - the page's own words
