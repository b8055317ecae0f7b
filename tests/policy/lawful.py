"""What must hold of every step, whatever the notice, the policy and the time."""

from datetime import datetime

from workflows.policy import schedule
from workflows.policy.plan import Close, LookUp, Rule, Send, Step, Wait
from workflows.policy.progress import Progress
from workflows.policy.terms import Policy
from workflows.policy.words import AttemptState, OnUnresolved, Outcome, SettlesOn, Status


def check(step: Step, progress: Progress, policy: Policy, now: datetime) -> None:
    """Fail where a step breaks a law."""
    cutoff = schedule.cutoff(policy, progress.expires_at)
    if any(each.state is AttemptState.CONFIRMED for each in progress.attempts):
        assert isinstance(step, Close) or step.rule is Rule.CLOSING_READ, "delivered permits no more sends"
    match step:
        case Send():
            assert now < step.until <= progress.expires_at, "nothing is sent at or after expiry"
            assert not progress.withdrawn
            check_send(step, progress, policy, now)
        case LookUp():
            assert now < cutoff == step.until, "nothing is read at or after the cutoff"
            assert progress.on(step.channel).is_open
            assert progress.on(step.channel).readable
            assert not progress.withdrawn
        case Wait():
            assert now < step.until <= progress.expires_at
        case Close():
            check_close(step, progress, policy)


def check_send(step: Send, progress: Progress, policy: Policy, now: datetime) -> None:
    """Fail where a dispatch is a repeat, is held, or is a fallback without cause."""
    attempt, first, front = progress.on(step.channel), progress.attempts[0], progress.front
    assert attempt.is_spare, "one dispatch an attempt"
    assert attempt.not_before is None or attempt.not_before <= now
    if attempt == first:
        assert front is None
        return
    assert progress.expires_at - now >= policy.min_useful
    if front is None:
        assert first.ruled_out or first.not_sent
    elif front.state is not AttemptState.FAILED:
        assert front.is_open
        assert policy.on_unresolved is OnUnresolved.ESCALATE
        taken = first.since or first.dispatched_at or now
        deadline = schedule.fallback_deadline(policy, taken, progress.expires_at, progress.fallback_at)
        assert now >= deadline, "silence is not failure"


def check_close(step: Close, progress: Progress, policy: Policy) -> None:
    """Fail where an outcome claims what nobody has seen."""
    settling = progress.on(step.channel) if step.channel else None
    match step.outcome:
        case Outcome.DELIVERED:
            assert settling is not None
            assert settling.state is AttemptState.CONFIRMED
        case Outcome.ACCEPTED:
            assert policy.settles_on is SettlesOn.ACCEPTED
            assert settling is not None
            assert settling.status is Status.ACCEPTED
        case Outcome.WITHDRAWN:
            assert progress.withdrawn
        case Outcome.UNKNOWN:
            assert any(each.is_open for each in progress.attempts)
        case Outcome.EXHAUSTED:
            assert progress.spare is None
            assert not any(each.is_open for each in progress.attempts), "silence is not failure"
        case Outcome.EXPIRED:
            assert progress.spare or policy.on_unresolved is OnUnresolved.EXPIRE
        case _:
            raise AssertionError(step.outcome)
