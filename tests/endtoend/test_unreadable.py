"""What cannot be read ends a workflow at once, in one line without the input.

A running notice is not disturbed by it.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import RawValue

from sandbox.fates import Fate
from tests.endtoend.deployment import Ending, Manner, Town, send
from tests.endtoend.scenes import Scenes, notice, together
from workflows.policy.words import Channel, Outcome

MARK = "zephyrine.marked@example.test"
SOON = 60
"""Seconds; a workflow that cannot read its input would otherwise be tried again for ever."""


def json(text: str) -> RawValue:
    return raw("json/plain", text)


def raw(encoding: str, text: str = "", **metadata: str) -> RawValue:
    given = {"encoding": encoding, **metadata}
    return RawValue(
        Payload(metadata={name: value.encode() for name, value in given.items()}, data=text.encode())
    )


def damaged(key: str) -> RawValue:
    """Return what claims to be sealed under a key, and is not."""
    return raw("binary/encrypted", MARK, **{"encryption-key-id": key})


@dataclass(frozen=True)
class Start:
    """A start that no backend should make, and how it must end."""

    says: str
    arguments: list[RawValue] = field(default_factory=list)
    workflow: str = "Notice"


RECIPIENT = f'{{"id": "anna", "email": "{MARK}"}}'
WHOLE = f'{{"kind": "password_reset", "event_id": "1", "recipient": {RECIPIENT}}}'

STARTS = {
    "a field of the wrong type": Start(
        "InvalidPayload: NoticeRequest: recipient.email: Input should be a valid string",
        [json(WHOLE.replace(f'"{MARK}"', f'["{MARK}"]'))],
    ),
    "missing fields": Start(
        "InvalidPayload: NoticeRequest: kind: Field required; event_id: Field required",
        [json(f'{{"recipient": {RECIPIENT}}}')],
    ),
    "a text in place of a recipient": Start(
        "InvalidPayload: NoticeRequest: recipient: Input should be an object",
        [json(WHOLE.replace(RECIPIENT, f'"{MARK}"'))],
    ),
    "a list": Start("InvalidPayload: NoticeRequest: Input should be an object", [json(f'["{MARK}"]')]),
    "not JSON": Start("InvalidPayload: NoticeRequest: Invalid JSON: ", [json(f'{{"email": "{MARK}"')]),
    "null": Start(
        "ValidationError: NoticeRequest: Input should be a valid dictionary or instance of NoticeRequest",
        [raw("binary/null")],
    ),
    "bytes": Start(
        "ValidationError: NoticeRequest: Input should be a valid dictionary or instance of NoticeRequest",
        [raw("binary/plain", MARK)],
    ),
    "an encoding that nobody knows": Start(
        "InvalidPayload: a payload cannot be read (KeyError): send JSON", [raw("text/x-marked", MARK)]
    ),
    "a damaged seal": Start("DamagedPayload: key "),
    "no argument": Start("TypeError: Notice.__init__() missing 1 required positional argument: 'request'"),
    "one argument too many": Start(
        "TypeError: Notice.__init__() takes 2 positional arguments but 3 were given",
        [json(WHOLE), json(f'"{MARK}"')],
    ),
    "a workflow type that nobody knows": Start(
        'UnknownWorkflowType: unknown workflow type "Notce":'
        ' start "Notice" or "Verification" (1 arguments were not read)',
        [json(WHOLE)],
        workflow="Notce",
    ),
}

SIGNALS = {
    "a report without its fields": [json(f'{{"attempt_key": "{MARK}"}}')],
    "a report of the wrong type": [json(f'["{MARK}"]')],
    "a report that is not JSON": [json(f"{{{MARK}")],
    "a damaged report": [],
    "two reports": [json("{}"), json("{}")],
    "no report": [],
    "a null report": [raw("binary/null")],
    "a report in an encoding that nobody knows": [raw("text/x-marked", MARK)],
}


@dataclass(frozen=True)
class Failure:
    """How a workflow ended: what its caller is told, and what stands in its last event."""

    says: str
    event: bytes


def key_of(manner: Manner) -> str:
    """Return the id of the key that seals: only what names a known key can be damaged."""
    return manner.parts.keyring.current or ""


async def start(backend: Client, manner: Manner, name: str) -> Failure:
    given = STARTS[name]
    arguments = [damaged(key_of(manner))] if name == "a damaged seal" else given.arguments
    handle = await backend.start_workflow(
        given.workflow, args=arguments, id=f"unreadable: {name}", task_queue=manner.queue
    )
    async with asyncio.timeout(SOON):
        with pytest.raises(WorkflowFailureError) as failed:
            await handle.result()
    last = (await handle.fetch_history()).events[-1]
    return Failure(str(failed.value.cause), last.SerializeToString())


async def signal(client: Client, backend: Client, manner: Manner, name: str) -> Ending:
    request = notice(f"signal-{list(SIGNALS).index(name)}", Fate.DEFERRED, Fate.DELIVERED)
    handle = await send(client, manner, request)
    await manner.submitted(request.key)
    reports = [damaged(key_of(manner))] if name == "a damaged report" else SIGNALS[name]
    await backend.get_workflow_handle(request.key).signal("observe", args=reports)
    return await manner.ending(handle)


@dataclass(frozen=True)
class Left:
    failures: Scenes[Failure]
    endings: Scenes[Ending]


@pytest.fixture(scope="module")
async def left(town: Town) -> AsyncIterator[Left]:
    async with town.deployment() as manner, manner.worker() as client:
        backend = await Client.connect(town.engine.address)
        yield Left(
            await together({name: start(backend, manner, name) for name in STARTS}),
            await together({name: signal(client, backend, manner, name) for name in SIGNALS}),
        )


@pytest.mark.parametrize("name", STARTS)
def test_a_start_that_cannot_be_read_fails_in_one_line_that_names_the_field(left: Left, name: str) -> None:
    failure = left.failures[name]

    assert failure.says.startswith(STARTS[name].says)
    assert "\n" not in failure.says


@pytest.mark.parametrize("name", STARTS)
def test_the_failure_does_not_repeat_the_input(left: Left, name: str) -> None:
    assert MARK.encode() not in left.failures[name].event


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_that_cannot_be_read_does_not_disturb_a_running_notice(left: Left, name: str) -> None:
    ending = left.endings[name]

    assert (ending.result.outcome, ending.result.channel) == (Outcome.DELIVERED, Channel.EMAIL)
    assert ending.submissions == [("email", "accepted")]
