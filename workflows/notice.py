"""The workflow "Notice": one durable loop around the plan."""

import asyncio
from datetime import datetime

from temporalio import workflow
from temporalio.exceptions import ActivityError

from workflows import asking, calls, options
from workflows.policy import hygiene, plan, telling
from workflows.policy.case import Case
from workflows.policy.eligibility import Answer
from workflows.policy.evidence import Evidence
from workflows.policy.keys import workflow_id
from workflows.policy.models import NoticeRequest, Observation, Result
from workflows.policy.progress import Progress
from workflows.policy.terms import Policy
from workflows.policy.words import AttemptState, Channel, Outcome, Phase
from workflows.showing import Display


@workflow.defn(name="Notice")
class Notice:
    """Tells one person one thing, once, while it is still useful."""

    @workflow.init
    def __init__(self, request: NoticeRequest) -> None:
        # Null is decoded without its type; a ValidationError ends the workflow, others would hang it.
        self._request = NoticeRequest.model_validate(request)
        self._case: Case | None = None
        self._early: list[Observation] = []
        self._withdrawn = False
        self._refused = False
        self._stirred = False
        self._display = Display(self._request.key)

    @workflow.run
    async def run(self, request: NoticeRequest) -> Result:
        """See the notice through; cancelling the workflow withdraws the notice."""
        story = asyncio.ensure_future(self._see_through(request))
        try:
            return await asyncio.shield(story)
        except asyncio.CancelledError:
            if story.done():
                raise
            self.withdraw()
            return await story

    @workflow.signal
    def observe(self, *reports: object) -> None:
        """Take one `Observation`; it may come before the receipt of its own send.

        Anything else is dropped: an error in here would end the notice, or hold it up for ever.
        """
        try:
            (report,) = reports
            observation = Observation.model_validate(report)
        except ValueError:
            workflow.logger.warning("a report that is no observation was dropped")
            return
        if self._case is None:
            self._early.append(observation)
        else:
            self._case.hear(observation)
        self._stirred = True

    @workflow.signal
    def withdraw(self) -> None:
        """Stop before any further effect: the caller no longer needs this notice."""
        self._withdrawn = self._stirred = True
        if self._case is not None:
            self._case.withdraw()

    @workflow.query
    def evidence(self) -> Evidence:
        """Tell the story so far, without personal data."""
        if self._case is not None:
            return self._case.evidence(workflow.now())
        phase = Phase.CLOSED if self._refused else Phase.QUEUED
        outcome = Outcome.REFUSED if self._refused else None
        return Evidence(key=self._request.key, kind=self._request.kind, phase=phase, outcome=outcome)

    async def _see_through(self, request: NoticeRequest) -> Result:
        """Do what the plan says until it says to close."""
        self._display.waiting()
        admission = await self._admit(request)
        if admission.policy is None or admission.expires_at is None:
            return self._refuse(admission.refusal or "not admitted")
        case = self._open(admission, admission.policy, admission.expires_at)
        case.rule_out(admission.ruled_out)
        while True:
            await self._file(case)
            match self._decide(case):
                case plan.Send() as step:
                    await self._send(case, step)
                case plan.LookUp() as step:
                    await self._look_up(case, step)
                case plan.Wait() as step:
                    await self._wait(step)
                case plan.Close() as step:
                    return await self._close(case, step)

    async def _admit(self, request: NoticeRequest) -> calls.Admission:
        if workflow.info().workflow_id != workflow_id(request.key):
            return calls.Admission(refusal=f"workflow id: must be the notice key, {request.key}")
        return await asking.admit(request)

    def _open(self, admission: calls.Admission, policy: Policy, expires_at: datetime) -> Case:
        request = self._request
        progress = Progress.begin(
            request.key, policy.route, expires_at, request.fallback_at, admission.number
        )
        case = self._case = Case(request, policy, admission.policy_digest, progress)
        for seen in self._early:
            case.hear(seen)
        if self._withdrawn:
            case.withdraw()
        return case

    def _refuse(self, reason: str) -> Result:
        request, self._refused = self._request, True
        self._display.refused(reason)
        return Result(
            key=request.key,
            outcome=Outcome.REFUSED,
            rule="admission",
            reason=reason,
            closed_at=workflow.now(),
        )

    def _decide(self, case: Case) -> plan.Step:
        self._stirred = False
        step = case.next(workflow.now())
        self._display.show(case, step)
        return step

    async def _send(self, case: Case, step: plan.Send) -> None:
        clearance = await asking.check(case, step)
        match clearance.answer:
            case Answer.YES:
                # A report, a withdrawal or the deadline may have come during the check.
                renewed = case.renewed(step, workflow.now())
                if renewed is not None:
                    await self._dispatch(case, renewed)
            case _:
                _obey(case, step.channel, clearance)

    async def _dispatch(self, case: Case, step: plan.Send) -> None:
        case.amend(step.channel, dispatched_at=workflow.now(), not_sent=False)
        case.dispatching = True
        self._display.show(case, step)
        sending = asking.send(case, step)
        # The same while the engine retries the send: then it is called off.
        await workflow.wait_condition(lambda: sending.done() or not case.still(step, workflow.now()))
        sending.cancel()
        try:
            receipt = await sending
        except (ActivityError, asyncio.CancelledError) as error:
            if asking.proves_not_sent(error):
                case.amend(step.channel, not_sent=True, not_before=workflow.now() + asking.pause(error))
            else:
                await self._reconcile(case, step.channel)
        else:
            await self._take(case, step.channel, receipt)
        finally:
            case.dispatching = False

    async def _reconcile(self, case: Case, channel: Channel) -> None:
        """No receipt came: what the ledger has no claim of never left, and what it cannot say is in doubt."""
        if case.progress.on(channel).state is not AttemptState.PLANNED:
            return  # a report that came meanwhile knows better
        report = await asking.reconcile(case, channel)
        if report is not None and report.unclaimed:
            case.amend(channel, not_sent=True, not_before=workflow.now() + options.TRY_AGAIN)
        elif report is not None and report.observation is not None:
            await self._learn(case, channel, report.observation)
        else:
            case.doubt(channel, case.progress.on(channel).dispatched_at or workflow.now())

    async def _take(self, case: Case, channel: Channel, receipt: calls.Receipt) -> None:
        case.amend(channel, provider=receipt.provider, readable=receipt.readable)
        match receipt.dispatch:
            case calls.Dispatch.SUBMITTED if receipt.observation is not None:
                await self._learn(case, channel, receipt.observation)
            case calls.Dispatch.BARRED if receipt.clearance is not None:
                _obey(case, channel, receipt.clearance)
            case _:
                case.doubt(channel, receipt.at)

    async def _look_up(self, case: Case, step: plan.LookUp) -> None:
        report = await asking.look_up(case, step)
        if report is None:
            # A read that fails is a poll without an answer: silence, not failure.
            return
        case.amend(step.channel, readable=report.readable)
        if report.unclaimed:
            case.clear(step.channel)
        if report.observation is not None:
            await self._learn(case, step.channel, report.observation)
        case.adopt(step.channel, report.state)

    async def _learn(self, case: Case, channel: Channel, seen: Observation) -> None:
        """Apply a report that its activity has already put on record."""
        if case.learn(seen) is not None:
            await self._clean(case, channel, seen)

    async def _file(self, case: Case) -> None:
        """Put reports that came as signals on record."""
        while unfiled := case.unfiled():
            for heard in unfiled:
                filed = await asking.record(heard)
                case.adopt(heard.channel, filed.state)
                await self._clean(case, heard.channel, heard.seen)

    async def _clean(self, case: Case, channel: Channel, seen: Observation) -> None:
        """Stop writing to an address that a report says must not be written to."""
        reason = hygiene.suppression(seen, channel)
        if reason is not None:
            await asking.suppress(case, channel, reason, seen.at)

    async def _wait(self, step: plan.Wait) -> None:
        try:
            await workflow.wait_condition(
                lambda: self._stirred,
                timeout=step.until - workflow.now(),
                timeout_summary=telling.pause(step),
            )
        except TimeoutError:
            return

    async def _close(self, case: Case, step: plan.Close) -> Result:
        result = case.close(step, workflow.now())
        self._display.closed(case, step)
        stands = await asking.close(case, step, result)
        await self._file(case)
        if stands.outcome is result.outcome:
            return result
        # An operator's reset came this far: what was written first holds.
        self._display.corrected(stands.outcome)
        changes = {"outcome": stands.outcome, "channel": None, "reason": "on record since an earlier run"}
        case.result = result.model_copy(update=changes)
        return case.result


def _obey(case: Case, channel: Channel, clearance: calls.Clearance) -> None:
    """Do as a check says that did not say yes."""
    if clearance.answer is Answer.NO:
        case.amend(channel, ruled_out=clearance.reason or "ineligible")
    else:
        case.amend(channel, not_before=clearance.ask_again_at or case.progress.expires_at)
