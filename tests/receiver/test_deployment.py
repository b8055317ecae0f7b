"""All of it on a real engine: a provider that calls back by itself, a ledger, a worker, the receiver."""

import asyncio
import json
import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from activities.hosting import open_ledger
from activities.store.ledger import Ledger
from client.runs import handle_of
from client.starting import begin
from console.engine import EngineAt, free_port
from console.stack import API_KEY, Stack, Wanted, running
from sandbox.callbacks import signature
from sandbox.fates import Fate
from tests.endtoend.scenes import ended, notice, until
from workflows.notice import Notice
from workflows.policy import contract
from workflows.policy.keys import attempt_key
from workflows.policy.models import NoticeRequest
from workflows.policy.words import Channel, Outcome, Phase, Source, Status

QUICK = 1 / 20


@dataclass(frozen=True)
class Place:
    """A deployment, and how backends speak to its receiver."""

    stack: Stack
    home: Path
    ledger: Ledger
    http: httpx.AsyncClient

    async def reports(self, key: str) -> list[tuple[Source, Status]]:
        """Return the evidence of a notice, as it is on record."""
        story = await self.ledger.story(key)
        return [(each.source, each.status) for each in story.observations] if story else []

    async def report(self, asked: NoticeRequest, event_id: str, status: str = "delivered") -> httpx.Response:
        """Call back about an email as the sandbox does."""
        message = {"id": f"id-{event_id}", "key": attempt_key(asked.key, Channel.EMAIL), "status": status}
        body = json.dumps({"event_id": event_id, "message": message}).encode()
        timestamp = str(int(datetime.now(UTC).timestamp()))
        secret = self.stack.settings.sandbox.secret.reveal()
        headers = {"Sandbox-Timestamp": timestamp, "Sandbox-Signature": signature(secret, timestamp, body)}
        return await self.http.post("/callbacks/sandbox", content=body, headers=headers)


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    home, engine = tmp_path_factory.mktemp("place"), EngineAt(free_port(), free_port())
    wanted = Wanted(home, engine, scale=QUICK, receiver_port=free_port())
    async with running(wanted) as stack, open_ledger(stack.settings) as ledger:
        key = (home / API_KEY).read_text().strip()
        async with httpx.AsyncClient(
            base_url=stack.settings.public_url or "",
            headers={"Authorization": f"Bearer {key}"},
            trust_env=False,
        ) as http:
            yield Place(stack, home, ledger, http)


async def test_the_provider_calls_back_by_itself_and_ends_the_notice(place: Place) -> None:
    asked = notice("called", Fate.DELIVERED)
    begun = await begin(place.stack.client, asked)
    assert (await ended(begun.handle)).outcome in {Outcome.ACCEPTED, Outcome.DELIVERED}

    async def told() -> bool:
        return (Source.CALLBACK, Status.DELIVERED) in await place.reports(asked.key)

    await until(told)


async def test_a_callback_before_the_receipt_counts(place: Place) -> None:
    """The sandbox takes the message, says that it arrived, and answers the send only later."""
    asked = notice("early", Fate.SLOW)
    result = await ended((await begin(place.stack.client, asked)).handle)
    assert (result.outcome, result.channel) == (Outcome.DELIVERED, Channel.EMAIL)
    story = await place.ledger.story(asked.key)
    assert story is not None
    learned = {each.source: each.at for each in story.observations}
    assert learned[Source.CALLBACK] < learned[Source.SEND]


async def test_a_callback_after_closing_is_late_evidence(place: Place) -> None:
    asked = notice("late", Fate.DELIVERED)
    await ended((await begin(place.stack.client, asked)).handle)
    assert (await place.report(asked, "afterwards", "bounced")).status_code == 200
    story = await place.ledger.story(asked.key)
    assert story is not None
    (late,) = [each for each in story.observations if each.event_id == "afterwards"]
    assert (late.source, late.verdict) == (Source.CALLBACK, "late")


async def test_a_callback_to_a_notice_that_runs_is_heard_once(place: Place) -> None:
    asked = notice("silent", Fate.SILENT)
    handle = (await begin(place.stack.client, asked)).handle

    async def sent() -> bool:
        return (await handle.query(Notice.evidence)).phase is Phase.AWAITING

    await until(sent)
    for _ in range(2):
        assert (await place.report(asked, "once", "deferred")).status_code == 200
    evidence = await handle_of(place.stack.client, asked.key).query(Notice.evidence)
    assert evidence.attempts[0].status is Status.TEMPORARY_FAILURE
    await handle.signal(Notice.withdraw)
    await ended(handle)
    reports = await place.reports(asked.key)
    assert reports.count((Source.CALLBACK, Status.TEMPORARY_FAILURE)) == 1


async def test_a_callback_for_an_attempt_that_nobody_knows_is_taken_and_counted(place: Place) -> None:
    asked = notice("nobody", Fate.DELIVERED)
    before = (await place.ledger.strays.count()).get("sandbox", 0)
    for _ in range(3):
        assert (await place.report(asked, "stray")).status_code == 200
    assert (await place.ledger.strays.count())["sandbox"] == before + 1


def document(name: str) -> dict[str, Any]:
    asked = notice(name, Fate.DELIVERED).model_dump(mode="json", exclude_none=True)
    contract.validate(asked)
    return asked


async def test_a_backend_starts_a_notice_and_reads_its_story_open_and_closed(place: Place) -> None:
    asked = document("by-http")
    first, second = [await place.http.post("/notices", json=asked) for _ in range(2)]
    assert [each.status_code for each in (first, second)] == [201, 200]
    where = first.headers["location"]
    assert (await place.http.get(where)).json()["key"] == first.json()["key"]

    async def is_closed() -> bool:
        return bool((await place.http.get(where)).json()["phase"] == "closed")

    await until(is_closed)
    story = (await place.http.get(where)).json()
    assert story["decisions"][0]["action"] == "send"
    assert "example.test" not in json.dumps(story)


async def test_many_that_start_one_notice_start_it_once(place: Place) -> None:
    asked = document("at-once")
    answers = await asyncio.gather(*(place.http.post("/notices", json=asked) for _ in range(20)))
    assert sorted(each.status_code for each in answers) == [200] * 19 + [201]


async def test_a_notice_that_nobody_started_is_not_there(place: Place) -> None:
    assert (await place.http.get("/notices/password_reset:never:user")).status_code == 404


async def test_it_is_ready(place: Place) -> None:
    assert (await place.http.get("/readyz")).status_code == 200


def test_the_key_of_the_backends_is_its_owners_alone(place: Place) -> None:
    assert stat.S_IMODE((place.home / API_KEY).stat().st_mode) == 0o600
    assert place.stack.variables["STANDBY_API_KEY_FILE"] == str(place.home / API_KEY)
