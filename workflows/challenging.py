"""How a verification asks the world: each call with its payload, its options and its line in the UI."""

from temporalio import workflow

from workflows import challenge_calls as calls
from workflows import options
from workflows.policy.verification import Presented, VerificationRequest
from workflows.policy.words import ChallengeState


async def open_challenge(request: VerificationRequest, challenge_id: str) -> calls.Opening:
    """Put the challenge and its first message on record, if the limits allow."""
    call = calls.Open(
        request=request, challenge_id=challenge_id, chain=workflow.info().first_execution_run_id
    )
    return await workflow.execute_activity_method(
        calls.Challenging.open, call, summary="put the challenge on record", **options.LEDGER
    )


async def ask(
    request: VerificationRequest, challenge_id: str, asked_id: str, *, is_automatic: bool
) -> calls.Granted:
    """Ask whether another message may go out."""
    call = calls.Ask(request=request, challenge_id=challenge_id, asked_id=asked_id, is_automatic=is_automatic)
    who = "nobody asked, but may another message go out?" if is_automatic else "may another message go out?"
    return await workflow.execute_activity_method(calls.Challenging.ask, call, summary=who, **options.LEDGER)


async def consume(challenge_id: str, presented: Presented, attempt_id: str) -> calls.Tried:
    """Try what somebody presented."""
    call = calls.Consume(challenge_id=challenge_id, presented=presented, attempt_id=attempt_id)
    return await workflow.execute_activity_method(
        calls.Challenging.consume, call, summary="something was presented", **options.LEDGER
    )


async def end(challenge_id: str, state: ChallengeState) -> calls.Ended:
    """Write that the challenge is over, and learn which state stands."""
    call = calls.End(challenge_id=challenge_id, state=state)
    return await workflow.execute_activity_method(
        calls.Challenging.end, call, summary=f"the challenge is over: {state}", **options.LEDGER
    )
