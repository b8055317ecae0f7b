"""A verification and its messages keep no address in clear, nor what is presented, nor the result."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from google.protobuf.message import Message
from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.client import Client

from activities.converter import data_converter
from activities.keyring import Keyring
from tests.workflows.fakes import World
from tests.workflows.policies import SMS_FIRST
from tests.workflows.registry import RESULT, RIGHT, WRONG, Registry
from tests.workflows.scripts import DELIVERED, SMS
from tests.workflows.stage import open_server, soon
from tests.workflows.verifying import Case, verifying, wanted
from workflows.policy.verification import Destination, Presented

MARKS = ("marked.person", "15005550006", "marked-token", "Markesen", RIGHT, WRONG)
MARKED = wanted(
    to=Destination(email="marked.person@example.test", phone="+15005550006"),
    return_url="https://shop.example/marked-token",
    fields={"name": "Anna Markesen"},
)


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[Client]:
    async with open_server() as env:
        yield env.client


@pytest.fixture
def sealed(server: Client, tmp_path: Path) -> Client:
    """A client of that server which seals, as every client and worker does by default."""
    config = server.config()
    config["data_converter"] = data_converter(Keyring.create(tmp_path / "standby.key"))
    return Client(**config)


def found(*messages: Message | bytes) -> list[str]:
    """Return the marks that stand anywhere in these bytes."""
    raw = b"".join(each if isinstance(each, bytes) else each.SerializeToString() for each in messages)
    return [mark for mark in MARKS if mark.encode() in raw]


async def events(case: Case, *ids: str) -> list[Message]:
    """Return all that the engine has recorded of these workflows."""
    return [
        event
        for name in ids
        for event in (await case.client.get_workflow_handle(name).fetch_history()).events
    ]


def test_the_scan_would_find_every_mark() -> None:
    presented = Presented(link=RIGHT, code=WRONG)

    assert found(MARKED.model_dump_json().encode(), presented.model_dump_json().encode()) == list(MARKS)


async def test_the_histories_of_a_verification_and_its_messages_hold_no_personal_data(
    sealed: Client,
) -> None:
    world = World(SMS_FIRST, sends={SMS: [DELIVERED]})
    async with verifying(sealed, world=world, request=MARKED) as case:
        await case.opened()
        await case.consume(Presented(code=WRONG))
        await case.resend()
        await case.consume(attempt="the-link")
        await case.verified()
    recorded = await events(case, case.handle.id, case.notice_key(1), case.notice_key(2))
    raw = b"".join(each.SerializeToString() for each in recorded)

    assert found(raw) == []
    # What the UI shows stays readable: a title, a timer, an activity.
    for shown in (
        b"signup_verification to account-1",
        b", unless it is consumed",
        b"something was presented",
        b"the challenge is over: consumed",
    ):
        assert shown in raw


async def test_what_a_running_verification_shows_holds_no_personal_data(sealed: Client) -> None:
    async with verifying(sealed, request=MARKED) as case:
        await case.opened()
        await case.consume(Presented(code=WRONG))
        facts = await case.facts()
        metadata = await case.handle.query("__temporal_workflow_metadata", result_type=WorkflowMetadata)
        described = await case.handle.describe()

    told = " ".join(metadata.current_details.split())
    assert told.startswith("**active** · next: until ")
    assert "| fact | when (UTC) | |---|---| | challenge created | " in told
    assert f"open · `{case.notice_key()}`" in told
    assert "| challenge consumed | - |" in told
    assert found(str(facts).encode(), metadata, described.raw_description) == []


async def test_how_it_ended_tells_no_address_and_no_word_of_success(sealed: Client) -> None:
    async with verifying(sealed, Registry(life=timedelta(minutes=1)), request=MARKED) as case:
        consumed = await case.consume()
        verified = await case.verified()

    assert consumed.result == RESULT
    assert RESULT not in repr(consumed)
    assert RESULT not in verified.model_dump_json()
    assert found(verified.model_dump_json().encode(), repr(consumed).encode(), repr(MARKED).encode()) == []


async def test_a_failing_call_tells_its_class_and_not_what_it_was_given(sealed: Client) -> None:
    registry = Registry()

    async def leak() -> None:
        raise ValueError(f"no route to {MARKED.to.email}")

    registry.meanwhile["end"] = leak
    async with verifying(sealed, registry, request=MARKED) as case:
        await case.opened()
        await case.consume()
        await soon(case.handle.result())
    recorded = await events(case, case.handle.id)

    assert registry.calls.count("end") == 2
    assert found(*recorded) == []
