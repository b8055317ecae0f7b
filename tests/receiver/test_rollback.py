"""While the runbook's rollback holds every effect, the receiver takes evidence as ever: on a real engine."""

import asyncio
import json
import os
import re
import shlex
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from activities.hosting import open_ledger
from activities.store.ledger import Ledger
from activities.store.records import AttemptRow
from client.starting import begin
from console.engine import EngineAt, free_port
from console.exits import Exit
from console.stack import Stack, Wanted, running
from sandbox.callbacks import signature
from sandbox.fates import Fate
from tests.endtoend.scenes import ended, notice, until
from workflows.notice import Notice
from workflows.policy.controls import Switch
from workflows.policy.keys import attempt_key
from workflows.policy.models import NoticeRequest
from workflows.policy.words import AttemptState, Channel, Outcome, Phase, Source

RUNBOOK = Path(__file__).parents[2] / "docs" / "runbook.md"
EFFECTS = (Switch.AUTOMATIC_RESEND, Switch.RESEND, Switch.FALLBACK, Switch.DISPATCH)


def effects_off() -> list[str]:
    """Return the commands of the first step of a rollback, as they stand there."""
    _, _, section = RUNBOOK.read_text().partition("\n## Rolling back\n")
    found = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    assert found is not None
    return found[1].strip().splitlines()


@dataclass(frozen=True)
class Place:
    """A deployment that is being rolled back, and its provider, which still calls."""

    stack: Stack
    ledger: Ledger
    http: httpx.AsyncClient

    async def attempt(self, asked: NoticeRequest) -> AttemptRow:
        """Return the row of the one attempt that there is."""
        story = await self.ledger.story(asked.key)
        assert story is not None
        (row,) = story.attempts
        return row

    async def report(self, asked: NoticeRequest, status: str, secret: str | None = None) -> httpx.Response:
        """Call back about an email as the sandbox does."""
        row = await self.attempt(asked)
        about = {"id": row.provider_id, "key": attempt_key(asked.key, Channel.EMAIL)}
        message = {**about, "status": status, "code": "5.1.1" if status == "bounced" else None}
        body = json.dumps({"event_id": f"{asked.key} {status}", "message": message}).encode()
        timestamp = str(int(datetime.now(UTC).timestamp()))
        key = secret or self.stack.settings.sandbox.secret.reveal()
        headers = {"Sandbox-Timestamp": timestamp, "Sandbox-Signature": signature(key, timestamp, body)}
        return await self.http.post("/callbacks/sandbox", content=body, headers=headers)

    async def roll_back(self) -> None:
        """Run the runbook's commands as whoever is on call does."""
        for command in effects_off():
            program, *arguments = shlex.split(command)
            assert program == "standby"
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "starter", *arguments),
                env={**os.environ, **self.stack.variables},
                stdout=asyncio.subprocess.DEVNULL,
            )
            assert await child.wait() == Exit.OK, command


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    home, engine = tmp_path_factory.mktemp("rollback"), EngineAt(free_port(), free_port())
    async with (
        running(Wanted(home, engine, receiver_port=free_port())) as stack,
        open_ledger(stack.settings) as ledger,
        httpx.AsyncClient(base_url=stack.settings.public_url or "", trust_env=False) as http,
    ):
        yield Place(stack, ledger, http)


async def test_a_signed_callback_is_taken_and_moves_its_attempt_while_every_effect_is_off(
    place: Place,
) -> None:
    out, bounced, closed = (
        notice(name, fate, Fate.DELIVERED)
        for name, fate in (("is-out", Fate.SILENT), ("bounces", Fate.SILENT), ("is-over", Fate.DELIVERED))
    )
    handles = [(await begin(place.stack.client, each)).handle for each in (out, bounced, closed)]
    await ended(handles[2])
    for each in handles[:2]:

        async def is_out() -> bool:
            return (await each.query(Notice.evidence)).phase is Phase.AWAITING  # noqa: B023 - awaited at once

        await until(is_out)
    assert (await place.attempt(out)).state is AttemptState.SUBMITTED

    await place.roll_back()
    board = await place.ledger.controls.read()
    assert not any(getattr(board, each).on for each in EFFECTS)

    assert (await place.report(out, "delivered", "another-secret")).status_code == 403
    assert (await place.attempt(out)).state is AttemptState.SUBMITTED
    assert (await place.report(out, "delivered")).status_code == 200
    result = await ended(handles[0])
    assert (result.outcome, result.channel) == (Outcome.DELIVERED, Channel.EMAIL)
    assert (await place.attempt(out)).state is AttemptState.CONFIRMED

    # What it says is kept, and what would follow from it is not done: no text takes the email's place.
    assert (await place.report(bounced, "bounced")).status_code == 200

    async def is_kept() -> bool:
        return (await place.attempt(bounced)).state is AttemptState.FAILED

    await until(is_kept)
    await handles[1].signal(Notice.withdraw)
    await ended(handles[1])
    assert (await place.attempt(bounced)).channel is Channel.EMAIL

    assert (await place.report(closed, "bounced")).status_code == 200
    story = await place.ledger.story(closed.key)
    assert story is not None
    late = story.observations[-1]
    assert (late.source, late.verdict) == (Source.CALLBACK, "late")
