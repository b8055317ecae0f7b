"""A verification on the server that skips time: what happens at which second, where nobody does anything."""

from datetime import timedelta

import pytest
from temporalio.testing import WorkflowEnvironment

from tests.workflows.fakes import SLACK, World
from tests.workflows.policies import RESET, SMS_FIRST
from tests.workflows.registry import Registry
from tests.workflows.verifying import verifying
from workflows.policy.resend import Denied
from workflows.policy.terms import ChallengeTerms
from workflows.policy.unasked import MOST
from workflows.policy.verification import Denial, Facts, Verified
from workflows.policy.words import ChallengeState, Outcome

LIFE = timedelta(minutes=5)
UNASKED = ChallengeTerms(automatic_resend_after=timedelta(seconds=60))
OFF: Denied = (Denial.SWITCHED_OFF, None)


async def lived(
    engine: WorkflowEnvironment, registry: Registry, world: World | None = None
) -> tuple[Verified, Facts]:
    """See a verification through that nobody touches."""
    async with verifying(engine.client, registry, world) as case:
        return await case.verified(), await case.facts()


def seconds(facts: Facts) -> list[int]:
    """Return when each message was asked for, since the challenge was made; a slow machine tells the same."""
    assert facts.created_at is not None
    return [
        int((each.asked_at - facts.created_at).total_seconds()) // SLACK * SLACK for each in facts.messages
    ]


async def test_a_challenge_that_nobody_consumes_ends_at_its_expiry(engine: WorkflowEnvironment) -> None:
    registry = Registry(life=LIFE)

    verified, facts = await lived(engine, registry)

    assert registry.expires_at is not None
    assert timedelta() <= verified.ended_at - registry.expires_at < timedelta(seconds=SLACK)
    assert (facts.state, verified.state, verified.consumed_at) == (*[ChallengeState.EXPIRED] * 2, None)
    assert (seconds(facts), registry.calls) == ([0], ["open", "end"])


async def test_its_message_ends_by_its_own_cutoff_and_is_not_read_after_it(
    engine: WorkflowEnvironment,
) -> None:
    world, registry = World(SMS_FIRST), Registry(life=timedelta(minutes=10))

    verified, _ = await lived(engine, registry, world)

    assert registry.expires_at is not None
    cutoff = registry.expires_at - SMS_FIRST.cutoff_before_expiry
    *effects, (_, closing) = world.log
    assert [line for at, line in effects if at >= cutoff] == []
    assert [line for _, line in effects].count("look_up email") == 3
    assert (closing, verified.delivered) == ("close unknown", Outcome.UNKNOWN)


@pytest.mark.parametrize(
    ("denials", "asked", "sent"),
    [
        pytest.param([], 4, [0, 60, 120, 180, 240], id="always granted"),
        pytest.param([OFF] * 9, 4, [0], id="switched off"),
        pytest.param([OFF, OFF], 4, [0, 180, 240], id="switched on later"),
    ],
)
async def test_where_the_policy_says_so_a_message_is_asked_for_a_period_after_the_last(
    engine: WorkflowEnvironment, denials: list[Denied], asked: int, sent: list[int]
) -> None:
    registry = Registry(life=LIFE, terms=UNASKED, denials=denials)

    verified, facts = await lived(engine, registry)

    assert [(each.asked_id, each.is_automatic) for each in registry.asked] == [
        (f"automatic:{number + 1}", True) for number in range(asked)
    ]
    assert (seconds(facts), verified.deliveries) == (sent, len(sent))


async def test_a_denial_that_names_a_moment_is_believed(engine: WorkflowEnvironment) -> None:
    registry = Registry(life=LIFE, terms=UNASKED)

    async def deny() -> None:
        assert registry.expires_at is not None
        registry.denials = [(Denial.COOLDOWN, registry.expires_at - timedelta(seconds=150))]

    registry.meanwhile["ask"] = deny
    _, facts = await lived(engine, registry)

    assert seconds(facts) == [0, 150, 210, 270]


async def test_a_denial_that_names_a_moment_too_soon_waits_for_another_period(
    engine: WorkflowEnvironment,
) -> None:
    registry = Registry(life=LIFE, terms=UNASKED)

    async def deny() -> None:
        assert registry.expires_at is not None
        registry.denials = [(Denial.COOLDOWN, registry.expires_at - timedelta(seconds=230))]

    registry.meanwhile["ask"] = deny
    _, facts = await lived(engine, registry)

    assert seconds(facts) == [0, 120, 180, 240]


async def test_a_person_who_asks_puts_off_what_nobody_asked_for(engine: WorkflowEnvironment) -> None:
    async with verifying(engine.client, Registry(life=LIFE, terms=UNASKED)) as case:
        await case.opened()
        await engine.sleep(timedelta(seconds=32))
        await case.resend()
        await case.verified()
        facts = await case.facts()

    assert seconds(facts) == [0, 30, 90, 150, 210, 270]


async def test_nothing_is_sent_unasked_at_the_moment_of_expiry(
    engine: WorkflowEnvironment,
) -> None:
    terms = ChallengeTerms(automatic_resend_after=LIFE)

    _, facts = await lived(engine, Registry(life=LIFE, terms=terms))

    assert seconds(facts) == [0]


async def test_a_history_stays_short_whatever_the_policy_and_the_control_say(
    engine: WorkflowEnvironment,
) -> None:
    registry = Registry(life=timedelta(days=2), terms=UNASKED, denials=[OFF] * 1000)
    async with verifying(engine.client, registry, World(RESET, refusal="kind: is not known")) as case:
        verified = await case.verified()
        history = await case.handle.fetch_history()

    assert (verified.state, len(registry.asked)) == (ChallengeState.EXPIRED, MOST)
    assert len(history.events) < 1000
