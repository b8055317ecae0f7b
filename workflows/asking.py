"""How a notice asks the world: each call with its payload, its options and the line that the UI shows."""

from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

from workflows import calls, options
from workflows.policy import plan, telling
from workflows.policy.case import Case, Decided, Heard
from workflows.policy.models import NoticeRequest, Result
from workflows.policy.words import Channel, SuppressionReason

NOT_SENT = frozenset({"NotSent", "Misconfigured"})
"""Failure types of a send which prove that nothing was accepted."""


async def admit(request: NoticeRequest) -> calls.Admission:
    """Put the obligation on record."""
    call = calls.Admit(request=request, chain=workflow.info().first_execution_run_id)
    return await workflow.execute_activity_method(
        calls.Admitting.admit, call, summary="put the notice on record", **options.LEDGER
    )


async def check(case: Case, step: plan.Send) -> calls.Clearance:
    """Ask whether a dispatch may happen, put the decision on record, and learn what the ledger knows."""
    call = calls.Check(
        notice_key=case.progress.key,
        recipient=case.request.recipient,
        channel=step.channel,
        is_fallback=case.is_fallback(step.channel),
        essential=case.policy.essential,
        expires_at=case.progress.expires_at,
        due_at=_due_at(case, step),
        decision=_decision(case, "send", step.channel),
    )
    clearance = await workflow.execute_activity_method(
        calls.Eligibility.check, call, summary=telling.question(step), **options.LEDGER
    )
    for seen in clearance.news:
        case.learn(seen)
    return clearance


def send(case: Case, step: plan.Send) -> workflow.ActivityHandle[calls.Receipt]:
    """Begin a dispatch; the engine retries it until the step's time is up."""
    call = calls.Send(
        attempt_key=case.progress.on(step.channel).key,
        request=case.request,
        channel=step.channel,
        is_fallback=case.is_fallback(step.channel),
        essential=case.policy.essential,
        watch=case.policy.watch(step.channel),
        expires_at=case.progress.expires_at,
        rule=step.rule,
    )
    return workflow.start_activity_method(
        calls.Delivery.send,
        call,
        summary=telling.dispatch(step),
        schedule_to_close_timeout=step.until - workflow.now(),
        **options.SEND,
    )


def proves_not_sent(error: BaseException) -> bool:
    """Whether a dispatch that brought no receipt is known not to have been accepted."""
    cause = error.cause if isinstance(error, ActivityError) else None
    return isinstance(cause, ApplicationError) and cause.type in NOT_SENT


def pause(error: BaseException) -> timedelta:
    """Return how long a dispatch that was not sent waits before another try: as long as its provider said.

    The engine gives a send up as soon as the next try would come too late; asking again at once would then
    ask again and again.
    """
    cause = error.cause if isinstance(error, ActivityError) else None
    said = cause.next_retry_delay if isinstance(cause, ApplicationError) else None
    return said or options.TRY_AGAIN


async def look_up(case: Case, step: plan.LookUp) -> calls.Report | None:
    """Ask what became of an attempt; None where no answer came."""
    summary = telling.look(step, case.progress, case.policy)
    due_at, decision = _due_at(case, step), _decision(case, "look_up", step.channel)
    attempt = case.note_read(step, workflow.now())
    call = calls.LookUp(
        attempt_key=attempt.key,
        number=attempt.reads,
        decision=decision,
        next_at=case.wakes_at(workflow.now()),
        due_at=due_at,
    )
    try:
        return await workflow.execute_activity_method(
            calls.Delivery.look_up,
            call,
            summary=summary,
            schedule_to_close_timeout=options.LOOK_UP_PATIENCE,
            **options.LOOK_UP,
        )
    except ActivityError:
        return None


async def reconcile(case: Case, channel: Channel) -> calls.Report | None:
    """Ask the ledger alone what became of a dispatch; None where it does not answer in time."""
    call = calls.LookUp(attempt_key=case.progress.on(channel).key, number=0)
    try:
        return await workflow.execute_activity_method(
            calls.Delivery.look_up,
            call,
            summary=f"was the {telling.NOUN[channel]} claimed?",
            schedule_to_close_timeout=options.LOOK_UP_PATIENCE,
            **options.LOOK_UP,
        )
    except ActivityError:
        return None


async def record(heard: Heard) -> calls.Filed:
    """Keep a report that came as a signal."""
    call = calls.Record(observation=heard.seen)
    return await workflow.execute_activity_method(
        calls.Chronicle.record,
        call,
        summary=f"{heard.channel}: {heard.seen.status} reported",
        **options.LEDGER,
    )


async def suppress(case: Case, channel: Channel, reason: SuppressionReason, observed_at: datetime) -> None:
    """Stop writing to this notice's address on a channel."""
    address = case.request.recipient.address(channel)
    if address is None:
        return
    call = calls.Suppress(
        notice_key=case.progress.key,
        channel=channel,
        address=address,
        reason=reason,
        observed_at=observed_at,
    )
    summary = f"no more {channel} to this address: {reason}"
    await workflow.execute_activity_method(
        calls.Eligibility.suppress, call, summary=summary, **options.LEDGER
    )


async def close(case: Case, step: plan.Close, result: Result) -> calls.Closed:
    """Write the outcome, and learn which one stands."""
    call = calls.Close(
        result=result,
        attempts=case.progress.attempts,
        decision=_decision(case, "close", step.channel),
    )
    return await workflow.execute_activity_method(
        calls.Chronicle.close, call, summary=telling.ending(step), **options.LEDGER
    )


def _due_at(case: Case, step: plan.Send | plan.LookUp) -> datetime | None:
    """Return when the step in hand was due by plan."""
    decided = case.decided
    return None if decided is None else plan.due_at(step, decided.progress, case.policy, decided.at)


def _decision(case: Case, action: str, channel: Channel | None) -> calls.Decision:
    """Number the decision in hand, with all that it was made from."""
    decided = case.decided or Decided(case.next(workflow.now()), workflow.now(), case.progress)
    case.decisions += 1
    return calls.Decision(
        number=case.decisions,
        rule=decided.step.rule,
        action=action,
        channel=channel,
        at=decided.at,
        progress=decided.progress,
        policy_digest=case.digest,
    )
