"""Any workflow type that this worker does not know fails at once, instead of being retried for ever."""

from collections.abc import Sequence

from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError


@workflow.defn(dynamic=True)
class Unknown:
    """Stands in for a mistyped workflow type."""

    @workflow.run
    async def run(self, args: Sequence[RawValue]) -> None:
        """Fail, and name the type that was asked for; raises ApplicationError."""
        asked = workflow.info().workflow_type
        known = 'start "Notice" or "Verification"'
        message = f'unknown workflow type "{asked}": {known} ({len(args)} arguments were not read)'
        raise ApplicationError(message, type="UnknownWorkflowType", non_retryable=True)
