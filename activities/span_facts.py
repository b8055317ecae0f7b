"""What spans of workflows and activities say besides: whose attempt it is, how it ended, and who called."""

from typing import Any

from opentelemetry import trace
from opentelemetry.trace import Span
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    ExecuteWorkflowInput,
    HandleSignalInput,
    HandleUpdateInput,
    Interceptor,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
)
from typing_extensions import override

from activities.discreet import redact
from activities.discreet_spans import ATTEMPT, KIND
from workflows import calls
from workflows.policy.models import NoticeRequest, Result
from workflows.policy.verification import VerificationRequest, Verified


class Facts(Interceptor):
    """Stands inside the SDK's interceptor, whose spans are the current ones here."""

    @override
    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Activity(next)

    @override
    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor]:
        return _Workflow


class _Activity(ActivityInboundInterceptor):
    @override
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        match input.args:
            case [calls.Send(attempt_key=key) | calls.LookUp(attempt_key=key)]:
                trace.get_current_span().set_attribute(ATTEMPT, redact(key))
        return await super().execute_activity(input)


class _Workflow(WorkflowInboundInterceptor):
    """A call from outside has a trace of its own: its span and the workflow's point at each other."""

    _run: Span | None = None

    @override
    async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:
        self._run = trace.get_current_span()
        match input.args:
            case [NoticeRequest(kind=kind) | VerificationRequest(kind=kind)]:
                self._run.set_attribute(KIND, redact(kind))
        result = await super().execute_workflow(input)
        _conclude(self._run, result)
        return result

    @override
    async def handle_signal(self, input: HandleSignalInput) -> None:
        self._link()
        await super().handle_signal(input)

    @override
    async def handle_update_handler(self, input: HandleUpdateInput) -> Any:
        self._link()
        return await super().handle_update_handler(input)

    def _link(self) -> None:
        call, run = trace.get_current_span(), self._run
        if run is not None:
            call.add_link(run.get_span_context())
            run.add_link(call.get_span_context())


def _conclude(span: Span, result: object) -> None:
    match result:
        case Result(outcome=outcome, rule=rule):
            span.set_attributes({"standby.outcome": outcome.value, "standby.rule": rule})
        case Verified(state=state):
            span.set_attribute("standby.outcome", state.value)
