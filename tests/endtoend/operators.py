"""What an operator, or time, can do to a notice's workflow behind its back."""

from uuid import uuid4

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest, ResetWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from client.starting import Handle
from tests.endtoend.scenes import until
from workflows.notice import Notice

_FIRST_TASK_COMPLETED = 4
"""The earliest event that a notice can be reset to: everything is done again."""


async def reset(client: Client, handle: Handle) -> Handle:
    """Run a notice again from its first event, as the Reset button does, and return the second run."""
    answer = await client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=handle.id),
            reason="a test",
            request_id=str(uuid4()),
            workflow_task_finish_event_id=_FIRST_TASK_COMPLETED,
        )
    )
    return client.get_workflow_handle_for(Notice.run, handle.id, run_id=answer.run_id)


async def forget(client: Client, handle: Handle) -> None:
    """Let the engine forget a closed notice, as it does when retention ends."""
    await client.workflow_service.delete_workflow_execution(
        DeleteWorkflowExecutionRequest(
            namespace=client.namespace, workflow_execution=WorkflowExecution(workflow_id=handle.id)
        )
    )

    async def forgotten() -> bool:
        try:
            await handle.describe()
        except RPCError as error:
            return error.status is RPCStatusCode.NOT_FOUND
        return False

    await until(forgotten)
