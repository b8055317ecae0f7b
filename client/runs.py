"""One notice as the engine knows it: asked with little patience, since a person waits."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from temporalio.api.enums.v1 import EventType
from temporalio.api.errordetails.v1 import NamespaceNotFoundFailure
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import (
    Client,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowQueryFailedError,
    WorkflowQueryRejectedError,
)
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from activities.discreet import tell
from client.starting import Handle
from workflows.notice import Notice
from workflows.policy.evidence import Evidence
from workflows.policy.keys import key_of, workflow_id
from workflows.policy.models import Result

PATIENCE: Final = timedelta(seconds=3)
"""A worker that is there answers a query in milliseconds."""

_DESERTED: Final = "it runs, but no worker answers: what is next is not known (is a worker running?)"


@dataclass(frozen=True, slots=True)
class Run:
    """What the engine says: a notice that is open has evidence, a closed one a result or a failure."""

    evidence: Evidence | None = None
    result: Result | None = None
    failure: str | None = None
    """Why it ended without a result, in words that hold no personal data."""
    note: str | None = None
    """What could not be asked, and why."""


def handle_of(client: Client, key: str) -> Handle:
    """Return the handle of a notice that may exist; raises ValueError for what cannot be a key."""
    return client.get_workflow_handle_for(Notice.run, workflow_id(key_of(key)))


def is_unknown(error: RPCError) -> bool:
    """Whether the engine says that no open run has this id; a missing namespace is another matter."""
    missing_namespace = any(
        each.Is(NamespaceNotFoundFailure.DESCRIPTOR) for each in error.grpc_status.details
    )
    return error.status is RPCStatusCode.NOT_FOUND and not missing_namespace


async def look(client: Client, key: str) -> Run | None:
    """Return what the engine knows; None for a key that it does not know, or no longer."""
    handle = handle_of(client, key)
    try:
        described = await handle.describe(rpc_timeout=PATIENCE)
    except RPCError as error:
        if is_unknown(error):
            return None
        raise
    try:
        if described.status is not WorkflowExecutionStatus.RUNNING:
            return await concluded(handle)
        return Run(evidence=await handle.query(Notice.evidence, rpc_timeout=PATIENCE))
    except ApplicationError as error:
        return Run(note=_unreadable(error))
    except (RPCError, WorkflowQueryFailedError, WorkflowQueryRejectedError):
        return Run(note=await _silence(client, handle))


async def is_remembered(client: Client, key: str) -> bool:
    """Whether the engine still has a notice, open or closed; raises RPCError where it does not say."""
    try:
        await handle_of(client, key).describe(rpc_timeout=PATIENCE)
    except RPCError as error:
        if is_unknown(error):
            return False
        raise
    return True


def _unreadable(error: ApplicationError) -> str:
    """Say that the codec could not open what the engine has: it is sealed under a key that is not here."""
    return f"what the engine has of it cannot be opened here: {tell(error)}"


async def _silence(client: Client, handle: Handle) -> str:
    """Say why nothing could be asked of a notice that runs."""
    try:
        history = await handle.fetch_history(rpc_timeout=PATIENCE)
    except RPCError:
        return _DESERTED
    failure = _stuck_on(history.events)
    if failure is None:
        return _DESERTED
    return f"it runs, and a worker answers but cannot go on: {await _told(client, failure)}"


def _stuck_on(events: Sequence[HistoryEvent]) -> Failure | None:
    """Return what keeps the workflow's task from being done, if nothing was done since it failed."""
    for event in reversed(events):
        match event.event_type:
            case EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
                return event.workflow_task_failed_event_attributes.failure
            case EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
                return None
            case _:
                continue
    return None


async def _told(client: Client, failure: Failure) -> str:
    """Return the innermost reason that may be told; without its details, which may be sealed."""
    while failure.HasField("cause"):
        failure = failure.cause
    bare = Failure(message=failure.message, application_failure_info=failure.application_failure_info)
    bare.application_failure_info.ClearField("details")
    return tell(await client.data_converter.decode_failure(bare))


async def concluded(handle: Handle) -> Run:
    """Wait for the end of a notice, and return it."""
    try:
        return Run(result=await handle.result())
    except WorkflowFailureError as error:
        return Run(failure=tell(error.cause))
