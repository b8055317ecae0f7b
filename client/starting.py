"""Starts a notice, once: its key is its workflow id, and the engine lets no id run twice."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple, TypeVar

from temporalio.client import Client, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from workflows.notice import Notice
from workflows.policy import contract, telling
from workflows.policy.keys import workflow_id
from workflows.policy.models import NoticeRequest, Result

QUEUE: Final = "standby"
"""The task queue of a worker that was told nothing else (`STANDBY_TASK_QUEUE`)."""

TRIES: Final = 3
"""Calls, each of which the SDK itself repeats with growing pauses for about ten seconds."""

_MAY_PASS: Final = frozenset(
    {
        RPCStatusCode.ABORTED,
        RPCStatusCode.CANCELLED,
        RPCStatusCode.DEADLINE_EXCEEDED,
        RPCStatusCode.INTERNAL,
        RPCStatusCode.RESOURCE_EXHAUSTED,
        RPCStatusCode.UNAVAILABLE,
        RPCStatusCode.UNKNOWN,
    }
)

Handle = WorkflowHandle[Notice, Result]
T = TypeVar("T")


class Started(NamedTuple):
    """A notice in the engine, running or closed."""

    handle: Handle
    is_new: bool
    """Whether this call began it, as far as the engine's answers tell."""


async def start(
    client: Client, request: NoticeRequest | Mapping[str, object], *, task_queue: str = QUEUE
) -> Handle:
    """Return the notice, started now or earlier; raises ContractError before anything is started.

    Starting it again is safe, at any time and after any error; raises RPCError where no engine answers.
    """
    return (await begin(client, contract.validate(request), task_queue=task_queue)).handle


async def begin(client: Client, request: NoticeRequest, *, task_queue: str = QUEUE) -> Started:
    """Start a validated notice, and say whether it was new; a start whose answer is lost is repeated."""
    return await repeatedly(lambda: _begin(client, request, task_queue))


async def repeatedly(start: Callable[[], Awaitable[T]]) -> T:
    """Start what has an id, again where the answer is lost; raises RPCError where no engine answers."""
    for _ in range(TRIES - 1):
        try:
            return await start()
        except RPCError as error:
            if error.status not in _MAY_PASS:
                raise
    return await start()


async def _begin(client: Client, request: NoticeRequest, task_queue: str) -> Started:
    key = workflow_id(request.key)
    try:
        handle = await client.start_workflow(
            Notice.run,
            request,
            id=key,
            task_queue=task_queue,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            # Not USE_EXISTING: its answer does not tell a run that is new from one that was there.
            id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
            static_summary=telling.title(request.key),
            static_details=f"One notice to one person. In a terminal: `standby show {key}`",
        )
    except WorkflowAlreadyStartedError:
        return Started(client.get_workflow_handle_for(Notice.run, key), is_new=False)
    return Started(handle, is_new=True)
