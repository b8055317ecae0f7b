"""What holds of every decision, for any notice, any policy and any time."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.policy import lawful
from tests.policy.drawn import lengths, policies, progresses
from tests.policy.given import START
from tests.policy.life import Life
from workflows.policy import plan
from workflows.policy.plan import Close, Rule, Wait
from workflows.policy.terms import Policy
from workflows.policy.words import Outcome

MOMENTS = lengths(0, 4000).map(lambda offset: START + offset)


@settings(max_examples=600)
@given(st.data(), policies())
def test_every_notice_has_a_lawful_next_step(data: st.DataObject, policy: Policy) -> None:
    progress, now = data.draw(progresses(policy)), data.draw(MOMENTS)
    lawful.check(plan.next(progress, policy, now), progress, policy, now)


@given(st.data(), policies())
def test_the_same_facts_give_the_same_step(data: st.DataObject, policy: Policy) -> None:
    progress, now = data.draw(progresses(policy)), data.draw(MOMENTS)
    again = type(progress).model_validate_json(progress.model_dump_json())
    kept = type(policy).model_validate_json(policy.model_dump_json())
    assert plan.next(again, kept, now) == plan.next(progress, policy, now)


@given(st.data(), policies())
def test_a_wait_misses_nothing(data: st.DataObject, policy: Policy) -> None:
    """Until the time that a wait names, the plan would have said the same at any moment."""
    progress, now = data.draw(progresses(policy)), data.draw(MOMENTS)
    step = plan.next(progress, policy, now)
    if isinstance(step, Wait) and step.rule is Rule.SILENCE:
        between = now + data.draw(st.sampled_from([0.1, 0.5, 0.999])) * (step.until - now)
        assert plan.next(progress, policy, between) == step


@given(st.data(), policies())
def test_at_expiry_nothing_is_left_to_do(data: st.DataObject, policy: Policy) -> None:
    progress, late = data.draw(progresses(policy)), data.draw(lengths(0, 9999))
    assert isinstance(plan.next(progress, policy, progress.expires_at + late), Close)


@settings(max_examples=400)
@given(st.data(), policies())
def test_every_life_ends(data: st.DataObject, policy: Policy) -> None:
    life = Life(data, policy)
    close = life.live()
    assert close.outcome is not Outcome.REFUSED
    assert all(each < life.progress.expires_at for each in life.sent_at)
    assert len(life.sent_at) <= len(policy.route)
