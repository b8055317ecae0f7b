import asyncio
from typing import Any

import pytest
from temporalio.client import (
    Client,
    Interceptor,
    OutboundInterceptor,
    StartWorkflowInput,
    WorkflowExecutionStatus,
    WorkflowHandle,
)
from temporalio.service import RPCError, RPCStatusCode
from typing_extensions import override

from client.starting import TRIES, begin, start
from tests.console.conftest import DELIVERING, DESERTED, SILENT, Town
from tests.console.shell import document, key
from workflows.policy import contract
from workflows.policy.models import NoticeRequest
from workflows.policy.words import Outcome


def asked(event_id: str, **changes: object) -> NoticeRequest:
    return contract.validate(document(event_id, **changes))


class Flaky(Interceptor):
    """Loses answers of the engine: the first ones, or the calls themselves."""

    def __init__(
        self, losses: int, status: RPCStatusCode = RPCStatusCode.UNAVAILABLE, *, arrives: bool
    ) -> None:
        self.losses = losses
        self.status = status
        self.arrives = arrives
        self.calls = 0

    @override
    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        return _Losing(next, self)


class _Losing(OutboundInterceptor):
    def __init__(self, next: OutboundInterceptor, flaky: Flaky) -> None:  # noqa: A002 - the SDK's name
        super().__init__(next)
        self._flaky = flaky

    @override
    async def start_workflow(self, input: StartWorkflowInput) -> WorkflowHandle[Any, Any]:
        flaky = self._flaky
        flaky.calls += 1
        lost = flaky.calls <= flaky.losses
        if lost and not flaky.arrives:
            raise RPCError("lost", flaky.status, b"")
        handle = await super().start_workflow(input)
        if lost:
            raise RPCError("lost", flaky.status, b"")
        return handle


def through(town: Town, flaky: Flaky) -> Client:
    config = town.client.config()
    config["interceptors"] = [flaky]
    return Client(**config)


async def test_a_notice_is_new_once_then_running_then_closed(town: Town) -> None:
    request = asked("starting-1")
    new = await begin(town.client, request, task_queue=SILENT)
    running = await begin(town.client, request, task_queue=SILENT)
    assert (new.is_new, running.is_new) == (True, False)
    await running.handle.terminate()
    closed = await begin(town.client, request, task_queue=SILENT)
    assert closed.is_new is False
    assert (await closed.handle.describe()).status is WorkflowExecutionStatus.TERMINATED


async def test_of_many_that_start_one_notice_at_once_one_began_it(town: Town) -> None:
    request = asked("starting-2")
    begun = await asyncio.gather(*(begin(town.client, request, task_queue=SILENT) for _ in range(20)))
    assert sum(each.is_new for each in begun) == 1
    assert {each.handle.id for each in begun} == {request.key}


async def test_a_backend_starts_a_mapping_and_awaits_its_result(town: Town) -> None:
    handle = await start(town.client, document("starting-3"), task_queue=DELIVERING)
    result = await handle.result()
    assert (handle.id, result.outcome) == (key("starting-3"), Outcome.DELIVERED)


async def test_a_mapping_with_a_mistake_starts_nothing(town: Town) -> None:
    with pytest.raises(contract.ContractError) as caught:
        await start(town.client, document("starting-4", recipient={"email": "anna@example.test"}))
    assert any(line.startswith("recipient.id") for line in caught.value.problems)
    with pytest.raises(RPCError):
        await town.client.get_workflow_handle(key("starting-4")).describe()


async def test_a_start_that_did_not_arrive_is_repeated(town: Town) -> None:
    flaky = Flaky(TRIES - 1, arrives=False)
    begun = await begin(through(town, flaky), asked("starting-5"), task_queue=DESERTED)
    assert (flaky.calls, begun.is_new) == (TRIES, True)


async def test_a_start_whose_answer_is_lost_runs_once(town: Town) -> None:
    flaky = Flaky(1, arrives=True)
    begun = await begin(through(town, flaky), asked("starting-5-lost"), task_queue=DESERTED)
    assert (flaky.calls, begun.is_new) == (2, False)
    assert (await begun.handle.describe()).status is WorkflowExecutionStatus.RUNNING


async def test_an_engine_that_stays_silent_is_given_up(town: Town) -> None:
    flaky = Flaky(TRIES, arrives=False)
    with pytest.raises(RPCError):
        await begin(through(town, flaky), asked("starting-6"), task_queue=DESERTED)
    assert flaky.calls == TRIES


async def test_what_the_engine_refuses_is_not_repeated(town: Town) -> None:
    flaky = Flaky(1, RPCStatusCode.PERMISSION_DENIED, arrives=False)
    with pytest.raises(RPCError):
        await begin(through(town, flaky), asked("starting-7"), task_queue=DESERTED)
    assert flaky.calls == 1


async def test_the_ui_shows_kind_and_recipient_and_no_personal_data(town: Town) -> None:
    begun = await begin(town.client, asked("starting-8"), task_queue=DESERTED)
    described = await begun.handle.describe()
    assert await described.static_summary() == "password_reset to user-1"
    details = await described.static_details()
    assert details is not None
    assert f"standby show {key('starting-8')}" in details


async def test_ids_of_any_length_start_and_their_title_fits(town: Town) -> None:
    recipient = {"id": "😀" * 1000, "email": "anna@example.test"}
    begun = await begin(town.client, asked("starting-9", recipient=recipient), task_queue=DESERTED)
    title = await (await begun.handle.describe()).static_summary()
    assert title is not None
    assert len(title.encode()) < 400
