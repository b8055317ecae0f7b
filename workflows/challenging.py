"""How a verification asks the world: each call with its payload, its options and its line in the UI.

What is of no use after the challenge is over is not asked for longer: it ends without an answer then.
"""

from datetime import datetime

from temporalio import workflow
from temporalio.exceptions import ActivityError

from workflows import challenge_calls as calls
from workflows import options
from workflows.policy.verification import Denial, VerificationRequest
from workflows.policy.words import ChallengeState


async def open_challenge(request: VerificationRequest, challenge_id: str) -> calls.Opening:
    """Put the challenge and its first message on record, if the limits allow."""
    call = calls.Open(
        request=request, challenge_id=challenge_id, chain=workflow.info().first_execution_run_id
    )
    return await workflow.execute_activity_method(
        calls.Challenging.open, call, summary="put the challenge on record", **options.LEDGER
    )


async def ask(call: calls.Ask, expires_at: datetime) -> calls.Granted:
    """Ask whether another message may go out; one that nobody could judge in time does not."""
    who = "nobody asked, but " if call.is_automatic else ""
    try:
        return await workflow.execute_activity_method(
            calls.Challenging.ask,
            call,
            summary=f"{who}may another message go out?",
            **options.ledger_until(expires_at),
        )
    except ActivityError:
        return calls.Granted(denial=Denial.OVER)


async def seek(notice_key: str) -> bool:
    """Ask whether a notice that is there already is the message that it is named after."""
    sought = await workflow.execute_activity_method(
        calls.Challenging.seek,
        calls.Seek(notice_key=notice_key),
        summary="whose is the notice that was there before?",
        **options.LEDGER,
    )
    return sought.is_ours


async def consume(call: calls.Consume, expires_at: datetime) -> calls.Tried | None:
    """Try what somebody presented; None where nobody could judge it in time."""
    try:
        return await workflow.execute_activity_method(
            calls.Challenging.consume,
            call,
            summary="something was presented",
            **options.ledger_until(expires_at),
        )
    except ActivityError:
        return None


async def end(challenge_id: str, state: ChallengeState) -> calls.Ended:
    """Write that the challenge is over, and learn which state stands."""
    call = calls.End(challenge_id=challenge_id, state=state)
    return await workflow.execute_activity_method(
        calls.Challenging.end, call, summary=f"the challenge is over: {state}", **options.LEDGER
    )
