"""What a notice leaves for people who come later: it is explained, exported, and tried again where it may be.

Every command is a process of its own, on a deployment whose engine forgets at once what it is told to forget.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import JsonValue
from temporalio.client import Client

from client.starting import Handle
from console.engine import EngineAt, free_port
from console.exits import Exit
from sandbox.fates import Fate
from tests.endtoend import marks, operators
from tests.endtoend.deployment import CALM, Ending, Manner, Town, send
from tests.endtoend.engines import FORGETFUL, own_engine
from tests.endtoend.scenes import ended, notice, until, within
from workflows.notice import Notice
from workflows.policy.controls import Control, Switch
from workflows.policy.models import NoticeRequest
from workflows.policy.words import Outcome, Source, Verdict

FIELDS: dict[str, JsonValue] = {"name": marks.NAME, "valid_minutes": 10, "reset_url": marks.LINK}

FILE = "evidence.json"
LONGEST = timedelta(minutes=4)
"""Of all scenes at once, whose commands are some forty processes: less than a test may last."""

pytestmark = pytest.mark.timeout(300)
"""Commands are processes of their own, and a slow machine starts some twenty of them in a row."""


class Said(NamedTuple):
    """What came of one command line."""

    code: int
    out: str
    err: str

    @property
    def told(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.out)
        return told


@dataclass(frozen=True)
class Left:
    """A notice that has closed, and what commands said of it, by name."""

    ending: Ending
    said: dict[str, Said]
    manner: Manner


Scenes = Mapping[str, Left]


def marked(name: str, email: Fate, phone: Fate = Fate.DELIVERED, **changes: object) -> NoticeRequest:
    """Return a notice to the marked person; its ids are the caller's, and opaque."""
    request = notice(name, email, phone, **{"fields": FIELDS, **changes})
    recipient = request.recipient.model_copy(update={"email": email.email(marks.MAILBOX)})
    return request.model_copy(update={"recipient": recipient})


async def say(manner: Manner, *arguments: str) -> Said:
    """Run a command as a person does."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "starter", *arguments),
        env=os.environ | manner.environ,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await child.communicate()
    assert child.returncode is not None
    return Said(child.returncode, out.decode(), err.decode())


async def turn(manner: Manner, switch: Switch, *, on: bool) -> None:
    async with manner.ledger() as ledger:
        await ledger.controls.put(switch, Control(on=on), by="operator", why="a test", at=within(0))


async def told(town: Town) -> Left:
    """See a notice fall back and arrive, be forgotten by the engine, and let commands tell of it."""
    async with town.deployment() as manner, manner.worker() as client:
        request = marked("told", Fate.BOUNCED)
        handle = await send(client, manner, request)
        ending = await manner.ending(handle)
        file, key = str(manner.home / FILE), request.key
        said = {
            "export": await say(manner, "export", key, "--out", file),
            "public key": await say(manner, "export", "--public-key"),
            "verified": await say(manner, "verify-export", file),
            "retry": await say(manner, "retry", key),
        }
        await operators.forget(client, handle)
        said["explained"] = await say(manner, "explain", key, "--json")
        said["page"] = await say(manner, "explain", key)
        said["forgotten"] = await say(manner, "export", key)
        return Left(ending, said, manner)


async def plain(town: Town) -> Left:
    """Export a notice of a deployment that seals nothing."""
    async with town.deployment(sealed=False) as manner, manner.worker() as client:
        request = marked("plain", Fate.DELIVERED)
        ending = await manner.ending(await send(client, manner, request))
        file = str(manner.home / FILE)
        said = {
            "export": await say(manner, "export", request.key, "--out", file),
            "verified": await say(manner, "verify-export", file),
        }
        return Left(ending, said, manner)


async def held(town: Town) -> Left:
    """Hold a notice for a while, and let it go."""
    async with town.deployment(scale=CALM) as manner, manner.worker() as client:
        await turn(manner, Switch.DISPATCH, on=False)
        request = marked("held", Fate.DELIVERED)
        handle = await send(client, manner, request)

        async def is_held() -> bool:
            async with manner.ledger() as ledger:
                story = await ledger.story(request.key)
            return story is not None and "held" in {each.answer for each in story.decisions}

        await until(is_held)
        await turn(manner, Switch.DISPATCH, on=True)
        return Left(
            await manner.ending(handle), {"explained": await say(manner, "explain", request.key)}, manner
        )


async def withdrawn(town: Town) -> Left:
    """See that a notice which is open, or was withdrawn, is not tried again."""
    # It must be open for as long as commands take on the slowest machine.
    async with town.deployment(scale=1) as manner, manner.worker() as client:
        request = marked("withdrawn", Fate.SILENT)
        handle = await send(client, manner, request)
        await manner.submitted(request.key)
        opened = await say(manner, "retry", request.key)
        explained = await say(manner, "explain", request.key)
        await handle.signal(Notice.withdraw)
        ending = await manner.ending(handle)
        said = {"open": opened, "explained": explained, "withdrawn": await say(manner, "retry", request.key)}
        return Left(ending, said, manner)


async def unread(town: Town, email: Fate, phone: Fate, *, honours_keys: bool = True) -> Left:
    """Let a notice close as unknown, for want of reads; then try it again, once they are allowed."""
    async with town.deployment(honours_keys=honours_keys) as manner, manner.worker() as client:
        await turn(manner, Switch.RECONCILE, on=False)
        request = marked(f"unread-{email}", email, phone)
        ending = await manner.ending(await send(client, manner, request))
        await turn(manner, Switch.RECONCILE, on=True)
        said = {"first": await say(manner, "retry", request.key)}
        said["second"] = await say(manner, "retry", request.key)
        said["explained"] = await say(manner, "explain", request.key)
        return Left(ending, said, manner)


async def held_back(town: Town) -> Left:
    """Try a notice again while its provider may not be asked, and without asking."""
    async with town.deployment() as manner, manner.worker() as client:
        await turn(manner, Switch.RECONCILE, on=False)
        request = marked("held-back", Fate.DELIVERED, Fate.DELIVERED)
        ending = await manner.ending(await send(client, manner, request))
        said = {"held": await say(manner, "retry", request.key)}
        await turn(manner, Switch.RECONCILE, on=True)
        said["dry"] = await say(manner, "retry", request.key, "--dry-run")
        assert await manner.story(request.key) == ending.story, "a refusal or a dry run writes nothing"
        return Left(ending, said, manner)


async def again(town: Town) -> Left:
    """Try a notice again that nothing of can arrive, then the retry of it, then from a file."""
    async with town.deployment() as manner, manner.worker() as client:
        request = marked("again", Fate.BLOCKED, Fate.BLOCKED)
        handle = await send(client, manner, request)
        ending = await manner.ending(handle)
        dry = await say(manner, "retry", request.key, "--dry-run")
        both = await asyncio.gather(*(say(manner, "retry", request.key) for _ in range(2)))
        retried = await _retried(client, request, 1)
        second = await say(manner, "retry", retried.id)
        await ended(await _retried(client, request, 2))
        last = await _retried(client, request, 2)
        await operators.forget(client, last)
        gone = await say(manner, "retry", last.id)
        filed = await _from_files(manner, request)
        said = {"dry": dry, "one": both[0], "two": both[1], "of the retry": second, "gone": gone, **filed}
        return Left(ending, said, manner)


async def _retried(client: Client, request: NoticeRequest, number: int) -> Handle:
    """Return the retry of that number, once it has closed."""
    key = request.model_copy(update={"event_id": f"{request.event_id}-retry-{number}"}).key
    handle = client.get_workflow_handle_for(Notice.run, key)
    await ended(handle)
    return handle


async def _from_files(manner: Manner, request: NoticeRequest) -> dict[str, Said]:
    """Try the second retry again by files: one is of another notice."""
    second = request.model_copy(update={"event_id": f"{request.event_id}-retry-2"})
    said = {}
    for name, each in (("another's file", request), ("file", second)):
        file = manner.home / f"{each.event_id}.json"
        file.write_text(each.model_dump_json())
        said[name] = await say(manner, "retry", second.key, "--file", str(file))
    return said


@pytest.fixture(scope="module")
async def scenes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scenes]:
    home = tmp_path_factory.mktemp("evidence")
    at = EngineAt(free_port(), free_port())
    async with own_engine(home, at, *FORGETFUL):
        town = Town(at, home)
        played = {
            "told": told(town),
            "plain": plain(town),
            "held": held(town),
            "withdrawn": withdrawn(town),
            "held back": held_back(town),
            "silent": unread(town, Fate.SILENT, Fate.SILENT),
            "delivered": unread(town, Fate.ACCEPTED, Fate.DELIVERED),
            "refused": unread(town, Fate.BLOCKED, Fate.BLOCKED),
            "lost": unread(town, Fate.LOST, Fate.LOST, honours_keys=False),
            "again": again(town),
        }
        async with asyncio.timeout(LONGEST.total_seconds()), asyncio.TaskGroup() as group:
            tasks = {name: group.create_task(scene) for name, scene in played.items()}
        yield {name: task.result() for name, task in tasks.items()}


ALL = ("told", "held", "withdrawn", "silent", "delivered", "refused", "lost")


@pytest.mark.parametrize("name", ALL)
def test_the_record_of_every_fate_is_the_same_when_it_is_computed_again(scenes: Scenes, name: str) -> None:
    said = scenes[name].said["explained"]
    assert (said.code, said.err) == (Exit.OK, ""), said.out


def test_all_that_was_decided_is_computed_again(scenes: Scenes) -> None:
    left = scenes["told"]
    items = left.said["explained"].told["items"]
    counted = {
        item: sum(each["item"] == item for each in items) for item in ("decision", "report", "attempt")
    }
    story = left.ending.story
    assert counted == {
        "decision": len(story.decisions),
        "report": len(story.observations),
        "attempt": len(story.attempts),
    }
    assert {each["recorded"] for each in items if each["item"] == "check"} == {"yes"}


def test_terms_that_a_deployment_has_changed_are_named_and_change_nothing(scenes: Scenes) -> None:
    policy = scenes["told"].said["explained"].told["policy"]
    assert policy["recorded"] != policy["today"]
    assert {"expires_after", "email.polls"} <= set(policy["changed"])


def test_an_export_of_what_the_engine_has_forgotten_holds_the_same_record(scenes: Scenes) -> None:
    said = scenes["told"].said
    before = json.loads((scenes["told"].manner.home / FILE).read_text())["document"]
    after = said["forgotten"].told["document"]
    assert (before["engine"]["state"], after["engine"]["state"]) == ("closed", "forgotten")
    assert (before["engine"]["outcome"], before["record"]) == ("delivered", after["record"])
    assert before["recomputed"] == after["recomputed"]
    assert before["recomputed"]["same"]


def test_an_export_proves_itself_by_the_key_file(scenes: Scenes) -> None:
    said = scenes["told"].said["verified"]
    assert (said.code, said.err) == (Exit.OK, "")
    assert scenes["told"].ending.result.key in said.out


def test_an_export_of_the_development_key_says_what_that_is_worth(scenes: Scenes) -> None:
    left = scenes["plain"]
    signed_by = json.loads((left.manner.home / FILE).read_text())["document"]["signed_by"]
    assert (signed_by["key_id"], "proves nothing" in signed_by["note"]) == (None, True)
    assert left.said["verified"].code == Exit.OK
    assert "proves nothing" in left.said["verified"].err


@pytest.mark.parametrize("name", ["told", "plain"])
def test_nothing_personal_is_in_what_is_said(scenes: Scenes, name: str) -> None:
    left = scenes[name]
    hashes = [each.address_hash for each in left.ending.story.attempts]
    exported = (left.manner.home / FILE).read_bytes()
    for text in (exported, *(f"{each.out}{each.err}".encode() for each in left.said.values())):
        assert marks.found_in(text) == []
        assert not [each for each in hashes if each and each.encode() in text]


REFUSALS = {
    ("told", "retry"): "the text was delivered",
    ("withdrawn", "open"): "it is not closed",
    ("withdrawn", "withdrawn"): "its caller withdrew it",
    ("held back", "held"): "the control reconcile keeps sandbox from being asked",
    ("silent", "first"): "sandbox says pending of the email, which may arrive yet",
    ("delivered", "first"): "the text was delivered",
    ("delivered", "second"): "the text was delivered",
    ("lost", "first"): "sandbox cannot be asked about the email: it cannot be reconciled",
}


@pytest.mark.parametrize(("name", "said"), REFUSALS)
def test_a_retry_that_might_be_a_second_message_is_refused_and_says_why(
    scenes: Scenes, name: str, said: str
) -> None:
    refused = scenes[name].said[said]
    assert (refused.code, refused.out) == (Exit.FAILED, "")
    assert REFUSALS[name, said] in refused.err.splitlines()[-1]


def test_a_dry_run_says_who_would_be_asked_and_what_would_be_started(scenes: Scenes) -> None:
    said = scenes["held back"].said["dry"]
    key = scenes["held back"].ending.result.key
    assert (said.code, said.out.splitlines()) == (
        Exit.OK,
        [
            f"would ask sandbox what became of the email: {key}:email:1",
            f"would ask sandbox what became of the text: {key}:sms:1",
            "and, if nothing arrived, would start password_reset:event-retry-1:held-back",
        ],
    )


@pytest.mark.parametrize("name", ["held back", "silent", "delivered", "refused", "lost"])
def test_what_was_never_read_closed_as_unknown(scenes: Scenes, name: str) -> None:
    assert scenes[name].ending.result.outcome is Outcome.UNKNOWN


async def test_what_a_provider_says_when_it_is_asked_is_late_evidence(scenes: Scenes) -> None:
    story = await scenes["delivered"].manner.story(scenes["delivered"].ending.result.key)
    polled = [each for each in story.observations if each.source is Source.POLL]
    assert {each.verdict for each in polled} == {Verdict.LATE}
    assert "delivered" in {each.status for each in polled}
    assert story.notice == scenes["delivered"].ending.story.notice


def test_a_retry_is_started_once_every_provider_has_said_that_nothing_arrived(scenes: Scenes) -> None:
    left = scenes["refused"]
    key = "password_reset:event-retry-1:unread-blocked"
    assert (left.said["first"].code, left.said["first"].out) == (Exit.OK, f"started  {key}\n")
    assert (left.said["second"].code, left.said["second"].out) == (Exit.OK, f"already there  {key}\n")


def test_the_same_retry_twice_is_one_notice_and_a_retry_of_it_is_the_next(scenes: Scenes) -> None:
    said = scenes["again"].said
    first, second, third = (f"password_reset:event-retry-{number}:again" for number in (1, 2, 3))
    assert said["dry"].out == f"would start {first}\n"
    assert {said["one"].out, said["two"].out} == {f"started  {first}\n", f"already there  {first}\n"}
    assert said["of the retry"].out == f"started  {second}\n"
    assert said["file"].out == f"started  {third}\n"


@pytest.mark.parametrize(
    ("said", "what"), [("gone", "--file FILE"), ("another's file", "must be the one document")]
)
def test_without_its_own_document_there_is_no_retry(scenes: Scenes, said: str, what: str) -> None:
    refused = scenes["again"].said[said]
    assert refused.code == Exit.BAD_INPUT
    assert what in refused.err


async def test_an_auditor_needs_the_public_key_and_nothing_else(scenes: Scenes, tmp_path: Path) -> None:
    left = scenes["told"]
    (tmp_path / "key.pem").write_text(left.said["public key"].out)
    (tmp_path / "evidence.json").write_text(left.said["forgotten"].out)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "starter", "verify-export", "evidence.json", "--public-key", "key.pem"),
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert await child.wait() == Exit.OK
