"""No address, number, name or link leaves a notice in clear: neither in its history nor in what it shows.

The recipient's opaque id and classified words stay readable: without them nobody could operate this.
"""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from google.protobuf.message import Message
from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.client import WorkflowFailureError
from temporalio.testing import WorkflowEnvironment

from activities.converter import data_converter
from activities.keyring import Keyring
from tests.workflows.fakes import World
from tests.workflows.policies import PAYOUT
from tests.workflows.scripts import BOUNCED, DELIVERED, EMAIL, SMS
from tests.workflows.stage import QUEUE, finish, open_engine, request, soon, start, worker
from workflows.policy.models import Recipient

MARKS = ("marked.person", "4915199887766", "Markesen", "marked-token")
MARKED = request(
    recipient=Recipient(
        id="user-1", email="marked.person@example.test", phone="+4915199887766", sms_consent=True
    ),
    fields={"name": "Anna Markesen", "reset_url": "https://example.test/marked-token"},
)


@pytest.fixture
async def sealed(tmp_path: Path) -> AsyncIterator[WorkflowEnvironment]:
    async with open_engine(data_converter(Keyring.create(tmp_path / "standby.key"))) as env:
        yield env


def found(*messages: Message | bytes) -> list[str]:
    """Return the marks that stand anywhere in these bytes."""
    raw = b"".join(each if isinstance(each, bytes) else each.SerializeToString() for each in messages)
    return [mark for mark in MARKS if mark.encode() in raw]


def test_the_scan_would_find_every_mark() -> None:
    assert found(MARKED.model_dump_json().encode()) == list(MARKS)


async def test_a_history_holds_no_personal_data(sealed: WorkflowEnvironment) -> None:
    world = World(PAYOUT, looks={EMAIL: [BOUNCED], SMS: [DELIVERED]})

    async with worker(sealed.client, world):
        handle = await start(sealed.client, MARKED)
        await finish(handle)
    history = await handle.fetch_history()
    raw = b"".join(each.SerializeToString() for each in history.events)

    assert world.suppressed[0].address == "marked.person@example.test"
    assert found(*history.events) == []
    # What the UI shows stays readable: the title, a timer, an activity.
    for shown in (
        b"password_reset to user-1",
        b"until the next poll at",
        b"no more email to this address: invalid_recipient",
    ):
        assert shown in raw


async def test_what_a_running_notice_shows_holds_no_personal_data(sealed: WorkflowEnvironment) -> None:
    async with worker(sealed.client, World(PAYOUT)):
        handle = await start(sealed.client, MARKED)
        await sealed.sleep(timedelta(seconds=20))
        evidence = await soon(handle.query("evidence"))
        metadata = await handle.query("__temporal_workflow_metadata", result_type=WorkflowMetadata)
        described = await handle.describe()

    assert "user-1" in str(evidence)
    assert "awaiting" in metadata.current_details
    assert found(str(evidence).encode(), metadata, described.raw_description) == []


async def test_a_failing_call_tells_its_class_and_not_what_it_was_given(sealed: WorkflowEnvironment) -> None:
    leak = ValueError(f"no route to {MARKED.recipient.email} for {MARKED.fields}")
    world = World(PAYOUT, looks={EMAIL: [leak], SMS: [DELIVERED]})

    async with worker(sealed.client, world):
        handle = await start(sealed.client, MARKED)
        await finish(handle)
    history = await handle.fetch_history()

    assert "ValueError" in {
        each.activity_task_failed_event_attributes.failure.application_failure_info.type
        for each in history.events
    }
    assert found(*history.events) == []


async def test_input_that_cannot_be_read_is_not_repeated(sealed: WorkflowEnvironment) -> None:
    broken = {**MARKED.model_dump(mode="json"), "expires_at": "marked-token"}

    async with worker(sealed.client, World(PAYOUT)):
        handle = await sealed.client.start_workflow("Notice", broken, id=MARKED.key, task_queue=QUEUE)
        with pytest.raises(WorkflowFailureError, match="Workflow execution failed"):
            await soon(handle.result())
    history = await handle.fetch_history()

    assert found(*history.events) == []
