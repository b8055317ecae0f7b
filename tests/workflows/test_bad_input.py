"""Input that cannot be read fails its workflow at once, and is not retried for ever."""

import pytest
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from tests.workflows.fakes import World
from tests.workflows.policies import RESET
from tests.workflows.scenario import ending
from tests.workflows.scripts import ACCEPTED, DELIVERED, EMAIL, observation
from tests.workflows.stage import ASKED, QUEUE, finish, soon, start, worker
from workflows.notice import Notice
from workflows.policy.words import Source

VALID = ASKED.model_dump(mode="json")
MARK = "anna@example.test"
REPORT = {
    "attempt_key": f"{ASKED.key}:email:1",
    "event_id": "event-1",
    "source": "callback",
    "status": "delivered",
    "is_final": True,
    "at": "2026-11-30T12:00:00Z",
}


async def fails(engine: WorkflowEnvironment, workflow: str, *args: object) -> ApplicationError:
    """Return how a workflow of this type and input fails."""
    async with worker(engine.client, World(RESET)):
        handle = await engine.client.start_workflow(workflow, args=args, id=ASKED.key, task_queue=QUEUE)
        with pytest.raises(WorkflowFailureError) as caught:
            await soon(handle.result())
    cause = caught.value.cause
    assert isinstance(cause, ApplicationError)
    return cause


@pytest.mark.parametrize(
    ("args", "says"),
    [
        pytest.param([{**VALID, "event_id": ""}], "event_id", id="a field that breaks its rule"),
        pytest.param([{**VALID, "expires_at": MARK}], "expires_at", id="a time that is none"),
        pytest.param([{**VALID, "recipient": MARK}], "recipient", id="a value of another type"),
        pytest.param([{"email": MARK}], "kind", id="missing fields"),
        pytest.param([MARK], "NoticeRequest", id="no object"),
        pytest.param([None], "NoticeRequest", id="null"),
        pytest.param([], "argument", id="no argument"),
        pytest.param([VALID, MARK], "argument", id="one argument too many"),
    ],
)
async def test_input_that_cannot_be_read_fails_and_is_not_repeated(
    engine: WorkflowEnvironment, args: list[object], says: str
) -> None:
    failure = await fails(engine, "Notice", *args)

    assert says in failure.message
    assert MARK not in str(failure.failure)


async def test_an_unknown_workflow_type_fails_by_name(engine: WorkflowEnvironment) -> None:
    failure = await fails(engine, "Notise", VALID)

    assert (failure.type, failure.non_retryable) == ("UnknownWorkflowType", True)
    assert failure.message.startswith('unknown workflow type "Notise": start "Notice" or "Verification" ')


async def test_an_unknown_field_from_a_newer_starter_is_ignored(engine: WorkflowEnvironment) -> None:
    world = World(RESET, sends={EMAIL: [ACCEPTED]})

    async with worker(engine.client, world):
        handle = await engine.client.start_workflow(
            "Notice", {**VALID, "tomorrow": True}, id=ASKED.key, task_queue=QUEUE
        )
        await soon(handle.result())

    assert world.story == "0 admit, check email, send email, close accepted"


@pytest.mark.parametrize(
    ("signal", "args"),
    [
        pytest.param("observe", [{"status": "delivered"}], id="a report that lacks its key"),
        pytest.param("observe", [], id="no report"),
        pytest.param("observe", [None], id="null for a report"),
        pytest.param("observe", ["anna@example.test"], id="a text for a report"),
        pytest.param("observe", [b"\x00\xff"], id="bytes for a report"),
        pytest.param("observe", [REPORT, "surplus"], id="one argument too many"),
        pytest.param("observe", [{**REPORT, "at": "0001-01-01T00:00:00+14:00"}], id="before time"),
        pytest.param("observe", [{**REPORT, "at": "9999-12-31T23:59:59Z"}], id="after time"),
        pytest.param("observe", [{**REPORT, "provider_at": "9999-12-31T23:59:59-14:00"}], id="beyond"),
        pytest.param("withdrawn", ["surplus"], id="another unknown signal"),
        pytest.param("observed", [{}], id="an unknown signal"),
    ],
)
async def test_a_signal_that_cannot_be_read_is_dropped_and_breaks_nothing(
    engine: WorkflowEnvironment, signal: str, args: list[object]
) -> None:
    world = World(RESET, looks={EMAIL: [ACCEPTED]})

    async with worker(engine.client, world):
        handle = await start(engine.client)
        await handle.signal(signal, args=args)
        result = await finish(handle)

    assert ending(result) == "accepted on email: settled"
    assert world.recorded == []


async def test_a_report_about_another_notice_is_not_recorded(engine: WorkflowEnvironment) -> None:
    world = World(RESET, looks={EMAIL: [ACCEPTED]})
    foreign = observation(
        "password_reset:reset-2:user-1:email:1",
        DELIVERED,
        Source.CALLBACK,
        await engine.get_current_time(),
    )

    async with worker(engine.client, world):
        handle = await start(engine.client)
        await handle.signal(Notice.observe, foreign)
        result = await finish(handle)

    assert (ending(result), world.recorded) == ("accepted on email: settled", [])
