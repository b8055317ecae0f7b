"""What a verification cannot read ends it at once, or is refused; neither repeats what was in it."""

from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client, WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from tests.workflows.fakes import World
from tests.workflows.policies import SMS_FIRST
from tests.workflows.stage import open_server, soon, worker
from tests.workflows.verifying import verifying, wanted
from workflows.policy.keys import verification_id
from workflows.policy.words import ChallengeState

MARK = "anna@example.test"
VALID = wanted().model_dump(mode="json")


@pytest.fixture(scope="module")
async def client() -> AsyncIterator[Client]:
    async with open_server() as env:
        yield env.client


@pytest.fixture
def queue(request: pytest.FixtureRequest) -> str:
    """A queue of this test's own; its name is that of no challenge."""
    return str(request.node.name)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        pytest.param([{**VALID, "account_id": ""}], "account_id", id="a field that breaks its rule"),
        pytest.param([{**VALID, "expires_at": MARK}], "expires_at", id="a time that is none"),
        pytest.param([{**VALID, "expires_at": 1_800_000_000}], "expires_at", id="a number for a time"),
        pytest.param([{**VALID, "to": MARK}], "to", id="a value of another type"),
        pytest.param([{**VALID, "method": MARK}], "method", id="no method"),
        pytest.param([{**VALID, "route": []}], "route", id="an empty route"),
        pytest.param([{**VALID, "challenge_id": MARK}], "challenge_id", id="an id that is unfit"),
        pytest.param([{**VALID, "purpose": "sign\nup"}], "purpose", id="a purpose of two lines"),
        pytest.param([{"email": MARK}], "account_id", id="missing fields"),
        pytest.param([MARK], "VerificationRequest", id="no object"),
        pytest.param([None], "VerificationRequest", id="null"),
        pytest.param([], "argument", id="no argument"),
        pytest.param([VALID, MARK], "argument", id="one argument too many"),
    ],
)
async def test_a_request_that_cannot_be_read_fails_and_is_not_repeated(
    client: Client, queue: str, args: list[object], says: str
) -> None:
    async with worker(client, World(SMS_FIRST), queue):
        handle = await client.start_workflow(
            "Verification", args=args, id=verification_id("challenge-of-junk"), task_queue=queue
        )
        with pytest.raises(WorkflowFailureError) as caught:
            await soon(handle.result())

    cause = caught.value.cause
    assert isinstance(cause, ApplicationError)
    assert says in cause.message
    assert MARK not in str(cause.failure)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("queue-delivery-7", id="of another kind"),
        pytest.param("verification:", id="without a challenge"),
        pytest.param("verification:short", id="too short"),
        pytest.param("verification:challenge-1.2", id="that reads like a second message"),
        pytest.param("verification:challenge-1:account-1", id="that is a notice key"),
        pytest.param(f"verification:{'a' * 65}", id="too long"),
    ],
)
async def test_a_verification_under_an_id_that_names_no_challenge_is_refused(
    client: Client, queue: str, name: str
) -> None:
    async with worker(client, World(SMS_FIRST), queue):
        handle = await client.start_workflow(
            "Verification", VALID, id=name, task_queue=queue, result_type=dict
        )
        verified = await soon(handle.result())

    assert verified["state"] == ChallengeState.REFUSED
    assert verified["reason"].startswith("workflow id: not a verification: it must read verification:")


async def test_an_unknown_field_from_a_newer_starter_is_ignored(client: Client, queue: str) -> None:
    async with worker(client, World(SMS_FIRST), queue):
        handle = await client.start_workflow(
            "Verification", {**VALID, "tomorrow": True}, id=queue, task_queue=queue, result_type=dict
        )
        verified = await soon(handle.result())

    assert verified["state"] == ChallengeState.REFUSED  # for its id: it could be read


@pytest.mark.parametrize(
    ("update", "args"),
    [
        pytest.param("consume", [], id="nothing"),
        pytest.param("consume", [None], id="null"),
        pytest.param("consume", [7], id="a number"),
        pytest.param("consume", [MARK], id="a text"),
        pytest.param("consume", [b"\x00\xff"], id="bytes"),
        pytest.param("consume", [[MARK]], id="a list"),
        pytest.param("consume", [{"link": MARK}], id="a secret that is no digest"),
        pytest.param("consume", [{"code": "123456"}], id="a code that is no digest"),
        pytest.param("consume", [{"link": "A" * 64}], id="a digest of another spelling"),
        pytest.param("consume", [{}, MARK], id="one argument too many"),
        pytest.param("consumed", [{}], id="an unknown update"),
    ],
)
async def test_an_update_that_cannot_be_read_is_refused_and_tries_nothing(
    client: Client, update: str, args: list[object]
) -> None:
    async with verifying(client) as case:
        await case.opened()
        with pytest.raises(WorkflowUpdateFailedError) as caught:
            await soon(case.handle.execute_update(update, args=args))
        consumed = await case.consume()

    assert isinstance(caught.value.cause, ApplicationError)
    assert MARK not in str(caught.value.cause.failure)
    assert consumed.consumed
    assert case.registry.calls.count("consume") == 1


@pytest.mark.parametrize(
    ("signal", "args"),
    [
        pytest.param("withdrawn", [], id="an unknown signal"),
        pytest.param("observe", [{"status": "delivered"}], id="a report: those are for its messages"),
    ],
)
async def test_a_signal_that_is_not_for_it_changes_nothing(
    client: Client, signal: str, args: list[object]
) -> None:
    async with verifying(client) as case:
        await case.opened()
        await case.handle.signal(signal, args=args)
        facts = await case.facts()
        consumed = await case.consume()

    assert (facts.state, facts.consumed_at, consumed.consumed) == (ChallengeState.ACTIVE, None, True)


async def test_a_withdrawal_with_words_to_it_is_one(client: Client) -> None:
    async with verifying(client) as case:
        await case.opened()
        await case.handle.signal("withdraw", args=[MARK])
        verified = await case.verified()

    assert verified.state is ChallengeState.WITHDRAWN
