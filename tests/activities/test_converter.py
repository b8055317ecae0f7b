"""What stands in a history, on a real engine and in the real sandbox."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
from temporalio import activity
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import Failure
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle, WorkflowHistory
from temporalio.common import RawValue
from temporalio.converter import DataConverter
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from activities.codec import Seal
from activities.converter import DiscreetPayloadConverter, data_converter
from tests.activities.probe import Probe
from tests.activities.test_codec import ONE, ring
from tests.servers import test_server as server
from workflows.policy.models import Recipient
from workflows.sandbox import RUNNER

SECRET = "anna.marked@example.test"
NUMBER = "+4915112345678"
LIMIT = timedelta(seconds=60)


def converter() -> DataConverter:
    return data_converter(ring("one", one=ONE))


@pytest.fixture(scope="module")
async def engine() -> AsyncIterator[WorkflowEnvironment]:
    env = await WorkflowEnvironment.start_time_skipping(
        test_server_existing_path=server(), data_converter=converter()
    )
    yield env
    await env.shutdown()
    await asyncio.sleep(0.05)  # the SDK's threads may still be closing (sdk-python issue 300)


@contextlib.asynccontextmanager
async def started(
    client: Client, given: object, raises: BaseException | None = None
) -> AsyncIterator[WorkflowHandle[object, Recipient]]:
    """Start the probe beside a worker, with an activity that raises as told."""
    async with probing(client, raises):
        yield await client.start_workflow(
            "Probe",
            given,
            id="probe",
            task_queue="probe",
            execution_timeout=LIMIT,
            task_timeout=timedelta(seconds=1),
            result_type=Recipient,
            static_summary="a probe",
        )


def probing(client: Client, raises: BaseException | None = None) -> Worker:
    @activity.defn(name="probe")
    async def probe(person: Recipient) -> Recipient:
        if raises is not None:
            raise raises from httpx.ReadTimeout(f"reading the reply about {person.email}")
        return person

    return Worker(client, task_queue="probe", workflows=[Probe], activities=[probe], workflow_runner=RUNNER)


async def run(client: Client, given: object, raises: BaseException | None = None) -> WorkflowHistory:
    """Run the probe to its end, and return what was kept of it."""
    async with started(client, given, raises) as handle:
        with contextlib.suppress(WorkflowFailureError):
            await handle.result()
        return await handle.fetch_history()


async def broken_task(handle: WorkflowHandle[object, Recipient]) -> Failure:
    """Wait until the workflow's code has broken once: the engine would try again for ever."""
    async with asyncio.timeout(LIMIT.total_seconds()):
        while True:  # the test server's long poll does not tell of failed tasks
            for event in (await handle.fetch_history()).events:
                if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
                    return event.workflow_task_failed_event_attributes.failure
            await asyncio.sleep(0.02)


def text(history: WorkflowHistory) -> str:
    """Return everything that the engine stores, with its payloads as text."""
    return "\n".join(event.SerializeToString().decode("utf-8", errors="replace") for event in history.events)


def failure(history: WorkflowHistory) -> Failure:
    last = history.events[-1]
    assert last.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED, last
    return last.workflow_execution_failed_event_attributes.failure


def person(name: str = "user-1") -> Recipient:
    return Recipient(id=name, email=SECRET, phone=NUMBER)


async def test_a_history_holds_no_address_and_its_summaries_stay_readable(
    engine: WorkflowEnvironment,
) -> None:
    kept = text(await run(engine.client, person()))
    assert SECRET not in kept
    assert NUMBER not in kept
    assert "user-1" not in kept
    assert "binary/encrypted" in kept
    assert '"ask the world"' in kept


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"id": "", "email": SECRET}, "Recipient: id: String should have at least 1 character"),
        ({"id": "u", "email": [SECRET]}, "Recipient: email: Input should be a valid string"),
        ({"email": SECRET}, "Recipient: id: Field required"),
        (SECRET, "Recipient: Input should be an object"),
        (
            RawValue(Payload(metadata={"encoding": b"json/plain"}, data=f'{{"id": {SECRET}'.encode())),
            "Recipient: Invalid JSON: expected value at line 1 column 8",
        ),
    ],
)
async def test_input_that_does_not_validate_fails_the_workflow_and_is_not_repeated(
    engine: WorkflowEnvironment, given: object, says: str
) -> None:
    failed = failure(await run(engine.client, given))
    assert failed.application_failure_info.type == "InvalidPayload"
    assert failed.message == says
    assert SECRET not in str(failed)


async def test_input_sealed_under_another_key_of_the_same_name_fails_the_workflow(
    engine: WorkflowEnvironment,
) -> None:
    [foreign] = await Seal(ring("one", one=b"x" * 32)).encode(
        converter().payload_converter.to_payloads([person()])
    )
    failed = failure(await run(engine.client, RawValue(foreign)))
    assert failed.application_failure_info.type == "DamagedPayload"


@pytest.mark.parametrize(
    "raised",
    [
        httpx.ConnectError(f"cannot connect for {SECRET}"),
        ValueError(f"no such number: {NUMBER}"),
        ApplicationError(f"refused {SECRET}", SECRET, type="Surprise"),
        ApplicationError(f"refused {SECRET}", type="NotSent"),
    ],
)
async def test_no_failure_of_an_activity_repeats_an_address(
    engine: WorkflowEnvironment, raised: Exception
) -> None:
    kept = text(await run(engine.client, person(), raised))
    assert SECRET not in kept
    assert NUMBER not in kept
    assert "ReadTimeout" in kept, "the cause is told by its class"
    assert "test_converter.py" in kept, "and the frames stay"


@pytest.mark.parametrize(("name", "kind"), [("breaks", "RuntimeError"), ("validates", "ValidationError")])
async def test_an_error_in_a_workflow_task_repeats_no_address(
    engine: WorkflowEnvironment, name: str, kind: str
) -> None:
    """Such a task is retried until somebody mends the code; its failure is in the history meanwhile."""
    async with started(engine.client, person(name)) as handle:
        failed = await broken_task(handle)
        await handle.terminate()
        kept = text(await handle.fetch_history())
    assert failed.application_failure_info.type == kind
    assert SECRET not in kept


async def test_a_notice_sealed_under_a_key_not_yet_here_waits_for_a_worker_that_has_it(
    engine: WorkflowEnvironment,
) -> None:
    """During a rotation old and new workers run together: the old ones must end nothing."""
    rotated = data_converter(ring("two", one=ONE, two=b"2" * 32))
    [sealed] = await rotated.encode([person()])
    async with started(engine.client, RawValue(sealed)) as handle:
        failed = await broken_task(handle)
        assert failed.message.startswith('no key "two" in this key file')
    config = engine.client.config()
    config["data_converter"] = rotated
    client = Client(**config)
    async with probing(client):
        assert await client.get_workflow_handle_for(Probe.run, "probe").result() == person()


def written(error: BaseException) -> Failure:
    made = Failure()
    whole = converter()
    whole.failure_converter.to_failure(error, whole.payload_converter, made)
    return made


def test_our_own_words_are_kept_with_all_that_the_engine_acts_on() -> None:
    error = ApplicationError(
        "HTTP 429", {"provider": "sandbox"}, type="NotSent", next_retry_delay=timedelta(seconds=5)
    )
    made = written(error)
    assert made.message == "HTTP 429"
    assert made.application_failure_info.next_retry_delay.seconds == 5
    assert made.application_failure_info.details.payloads


def test_a_failure_of_unknown_type_keeps_its_type_and_its_retry_behaviour_only() -> None:
    made = written(ApplicationError(f"for {SECRET}", SECRET, type="Surprise", non_retryable=True))
    assert made.message == made.application_failure_info.type == "Surprise"
    assert made.application_failure_info.non_retryable
    assert not made.application_failure_info.HasField("details")


def test_a_missing_argument_is_told_in_python_s_own_words() -> None:
    with pytest.raises(TypeError) as caught:
        Recipient.address(person())  # type: ignore[call-arg]
    assert "missing 1 required positional argument: 'channel'" in written(caught.value).message


def test_a_type_error_with_a_value_in_its_text_is_told_by_its_class() -> None:
    assert written(TypeError(f"{SECRET} is not a number")).message == "TypeError"


@pytest.mark.parametrize(
    "payload",
    [
        Payload(data=b"{}"),
        Payload(metadata={"encoding": b"binary/zlib"}, data=b"anna@example.test"),
        Payload(metadata={"encoding": b"binary/protobuf", "messageType": b"no.Such"}, data=b"x"),
        Payload(metadata={"encoding": b"json/protobuf", "messageType": b"no.Such"}, data=b"{}"),
        Payload(metadata={"encoding": b"json/plain"}, data=b"[" * 100_000),
        Payload(metadata={"encoding": b"binary/encrypted", "encryption-key-id": b"one"}, data=b"x"),
    ],
)
def test_whatever_a_payload_holds_it_fails_for_good_and_is_never_retried(payload: Payload) -> None:
    with pytest.raises(ApplicationError) as caught:
        DiscreetPayloadConverter().from_payloads([payload], [Recipient])

    assert caught.value.non_retryable
    assert "anna" not in str(caught.value)
