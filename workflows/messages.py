"""The messages of one challenge: each is a notice of its own, and only the latest may still send anything."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from temporalio import workflow
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import FailureError, WorkflowAlreadyStartedError
from temporalio.workflow import ParentClosePolicy

from workflows import challenging
from workflows.policy import telling
from workflows.policy.keys import workflow_id
from workflows.policy.models import NoticeRequest, Result
from workflows.policy.verification import Told
from workflows.policy.words import Outcome

Child = workflow.ChildWorkflowHandle[object, Result]


@dataclass
class Sent:
    """One notice, as far as its parent knows."""

    told: Told
    end: asyncio.Task[None] | None = None
    """None until it has begun, and where another run of the verification is its parent."""
    is_withdrawn: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it may still send or read, as far as anybody here knows."""
        return not self.is_withdrawn and (self.end is None or not self.end.done())


class Messages:
    """Starts notices, and ends what is open of them."""

    def __init__(self, closed: Callable[[], None]) -> None:
        """`closed` is called whenever one of them has closed."""
        self._sent: list[Sent] = []
        self._closed = closed

    @property
    def told(self) -> tuple[Told, ...]:
        """What was asked for, and how it closed."""
        return tuple(each.told for each in self._sent)

    @property
    def last_at(self) -> datetime | None:
        """When the last one was asked for."""
        return self._sent[-1].told.asked_at if self._sent else None

    @property
    def outcome(self) -> Outcome | None:
        """How the last one closed."""
        return self._sent[-1].told.outcome if self._sent else None

    async def deliver(self, notice: NoticeRequest, number: int) -> None:
        """Begin the notice of the n-th message, after those before it were told to send nothing further."""
        earlier = tuple(self._sent)
        sent = Sent(Told(number=number, notice_key=notice.key, asked_at=workflow.now()))
        self._sent.append(sent)
        await _withdraw_open(earlier)
        try:
            child = await _begin(notice)
        except WorkflowAlreadyStartedError:
            # An operator's reset came this far, and the notice goes on without this run; or a stranger has
            # taken its name, and nothing will be sent for this message.
            if workflow.patched("whose-notice") and not await challenging.seek(notice.key):
                self._closes(sent, Outcome.REFUSED)
            return
        sent.end = asyncio.create_task(self._follow(child, sent))

    async def _follow(self, child: Child, sent: Sent) -> None:
        """Note how a notice closed; one that failed says nothing about the challenge."""
        try:
            result = await child
        except FailureError:
            return
        self._closes(sent, result.outcome)

    def _closes(self, sent: Sent, outcome: Outcome) -> None:
        sent.told = sent.told.model_copy(update={"outcome": outcome})
        self._closed()

    async def withdraw(self) -> None:
        """Let no open notice send or read anything more; what is on the wire is finished."""
        await _withdraw_open(tuple(self._sent))

    async def ended(self) -> None:
        """Wait until every notice has closed."""
        await asyncio.gather(*(each.end for each in self._sent if each.end is not None))


async def _begin(notice: NoticeRequest) -> Child:
    return await workflow.start_child_workflow(
        "Notice",
        notice,
        id=workflow_id(notice.key),
        result_type=Result,
        id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
        # A verification that is terminated leaves nothing behind that still sends.
        parent_close_policy=ParentClosePolicy.REQUEST_CANCEL,
        static_summary=telling.title(notice.key),
        static_details=f"One message of a verification. In a terminal: `standby show {notice.key}`",
    )


async def _withdraw_open(sent: Iterable[Sent]) -> None:
    for each in sent:
        if each.is_open:
            each.is_withdrawn = await _withdraw(each.told.notice_key)


async def _withdraw(notice_key: str) -> bool:
    """Tell a notice, and say whether it took it: one that has closed, or not begun, cannot."""
    handle = workflow.get_external_workflow_handle(workflow_id(notice_key))
    try:
        await handle.signal("withdraw")
    except FailureError:
        return False
    return True
