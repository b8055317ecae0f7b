"""The workflow as somebody might change it: it sends without asking. No running notice survives that."""

from temporalio import workflow
from typing_extensions import override

from workflows.notice import Notice
from workflows.policy import plan
from workflows.policy.case import Case
from workflows.policy.models import NoticeRequest, Result


@workflow.defn(name="Notice")
class Hasty(Notice):
    """Skips the eligibility check."""

    @workflow.init
    def __init__(self, request: NoticeRequest) -> None:
        super().__init__(request)

    @override
    @workflow.run
    async def run(self, request: NoticeRequest) -> Result:
        return await super().run(request)

    @override
    async def _send(self, case: Case, step: plan.Send) -> None:
        await self._dispatch(case, step)
