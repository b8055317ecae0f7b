"""Each scenario ends as it says, and every decision on the way can be made again from its record."""

import pytest
from temporalio.testing import WorkflowEnvironment

from tests.workflows.scenario import ending
from tests.workflows.scenarios import SCENARIOS
from workflows.calls import Decision
from workflows.policy import plan
from workflows.policy.terms import Policy

ACTIONS = {plan.Send: "send", plan.LookUp: "look_up", plan.Close: "close"}


@pytest.mark.parametrize("name", SCENARIOS)
async def test_scenario(engine: WorkflowEnvironment, name: str) -> None:
    scenario = SCENARIOS[name]

    world, result = await scenario.play(engine)

    assert (ending(result), world.story) == (scenario.end, scenario.story)
    assert [each.number for each in world.decisions] == list(range(1, len(world.decisions) + 1))
    assert [made_again(each, scenario.policy) for each in world.decisions] == [
        (each.action, each.rule, each.channel) for each in world.decisions
    ]


def made_again(decision: Decision, policy: Policy) -> tuple[str, str, str | None]:
    """Compute a decision from what is on record of it."""
    step = plan.next(decision.progress, policy, decision.at)
    assert not isinstance(step, plan.Wait)
    return ACTIONS[type(step)], step.rule, step.channel
