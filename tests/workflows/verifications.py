"""Verifications from start to end, one for each way to end and each branch: what the recorder records."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from temporalio.client import Client

from tests.workflows.registry import WRONG, Registry
from tests.workflows.verifying import Case, verifying
from workflows.policy.terms import ChallengeTerms
from workflows.policy.verification import Denial, Presented
from workflows.policy.words import ChallengeState

Act = Callable[[Case], Awaitable[object]]
SHORT = timedelta(seconds=2)


async def nothing(case: Case) -> None:
    """Let time do it."""
    await case.opened()


async def consumed(case: Case) -> None:
    """Present a wrong code, then the link."""
    await case.opened()
    await case.consume(Presented(code=WRONG), attempt="first")
    await case.consume(attempt="second")


async def dead(case: Case) -> None:
    """Present wrong codes only."""
    await case.opened()
    for number in range(2):
        await case.consume(Presented(code=WRONG), attempt=f"guess-{number}")


async def resent(case: Case) -> None:
    """Ask for another message twice, the second time in vain, and use the link."""
    await case.opened()
    await case.resend()
    await case.ending()
    case.registry.denials.append((Denial.COOLDOWN, None))
    await case.resend()
    await case.consume(attempt="link")


async def withdrawn(case: Case) -> None:
    """End it before anything is presented."""
    await case.opened()
    await case.handle.signal("withdraw")


async def taken(case: Case) -> None:
    """Let a stranger take the name of the second message, and use the link of the first."""
    await case.opened()
    await case.client.start_workflow("Notice", id=case.notice_key(2), task_queue="nobody-works-here")
    await case.resend()
    await case.consume(attempt="link")


VERIFICATIONS: dict[str, tuple[Callable[[], Registry], Act, ChallengeState]] = {
    "a_link_is_consumed_after_a_wrong_code": (Registry, consumed, ChallengeState.CONSUMED),
    "wrong_codes_kill_a_challenge": (
        lambda: Registry(terms=ChallengeTerms(wrong_codes=2)),
        dead,
        ChallengeState.DEAD,
    ),
    "a_resend_keeps_the_challenge": (Registry, resent, ChallengeState.CONSUMED),
    "a_challenge_expires_unused": (lambda: Registry(life=SHORT), nothing, ChallengeState.EXPIRED),
    "a_challenge_is_withdrawn": (Registry, withdrawn, ChallengeState.WITHDRAWN),
    "a_verification_is_refused": (
        lambda: Registry(refusal=Denial.ACCOUNT),
        nothing,
        ChallengeState.REFUSED,
    ),
    "the_name_of_a_message_is_taken": (lambda: Registry(is_ours=False), taken, ChallengeState.CONSUMED),
    "a_message_is_sent_unasked": (
        lambda: Registry(
            terms=ChallengeTerms(automatic_resend_after=timedelta(seconds=1)),
            life=timedelta(seconds=3),
        ),
        nothing,
        ChallengeState.EXPIRED,
    ),
}


async def play(client: Client, name: str) -> Case:
    """See one through; raises AssertionError where it does not end as it must."""
    make, act, state = VERIFICATIONS[name]
    async with verifying(client, make()) as case:
        await act(case)
        verified = await case.verified()
    assert verified.state is state
    return case
