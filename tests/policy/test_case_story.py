"""What a notice in hand decides, where it stands, how it ends, and what it tells of itself."""

from collections.abc import Callable
from datetime import datetime

import pytest

from tests.policy.given import (
    DIGEST,
    EMAIL,
    KEY,
    PAYOUT,
    RESET,
    SMS,
    at,
    delivered,
    failed,
    notice,
    planned,
    seen,
    sent,
)
from workflows.policy.case import Case, Decided
from workflows.policy.models import NoticeRequest, Recipient, Result
from workflows.policy.plan import Close, LookUp, Rule, Send
from workflows.policy.progress import Attempt
from workflows.policy.terms import Policy
from workflows.policy.words import AttemptState, Channel, Outcome, Phase, Status

REQUEST = NoticeRequest(kind="password_reset", event_id="event-1", recipient=Recipient(id="ana"))


def case(*attempts: Attempt, policy: Policy = RESET, **facts: object) -> Case:
    """Return a notice that was admitted at the start."""
    return Case(REQUEST, policy, "digest", notice(*attempts, policy=policy, **facts))


def test_a_decision_keeps_what_it_was_made_from() -> None:
    held = case()
    before = held.progress

    step = held.next(at(0))
    held.amend(EMAIL, dispatched_at=at(0))

    assert step == Send(Rule.FIRST, EMAIL, at(105))
    assert held.decided == Decided(step, at(0), before)


@pytest.mark.parametrize(
    ("happens", "holds"),
    [
        (lambda _: None, True),
        (lambda held: held.withdraw(), False),
        (lambda held: held.hear(seen(Status.ACCEPTED)), False),
        (lambda held: held.amend(EMAIL, ruled_out="no_consent"), False),
        (lambda held: held.amend(EMAIL, not_before=at(60)), False),
    ],
    ids=["nothing", "withdrawn", "a report", "another channel is next", "held"],
)
def test_a_dispatch_is_called_off_once_it_would_not_be_decided_again(
    happens: Callable[[Case], None], *, holds: bool
) -> None:
    held = case()
    step = held.next(at(0))
    assert isinstance(step, Send)

    happens(held)

    assert held.still(step, at(1)) == holds


def test_a_dispatch_is_called_off_at_expiry() -> None:
    held = case()
    step = held.next(at(0))
    assert isinstance(step, Send)

    assert held.still(step, at(599))
    assert not held.still(step, at(600))


@pytest.mark.parametrize(
    ("now", "wakes_at"), [(0, 15), (14, 15), (15, None)], ids=["now", "a moment before", "a poll is due"]
)
def test_it_wakes_when_time_alone_changes_the_decision(now: float, wakes_at: float | None) -> None:
    held = case(sent(EMAIL, Status.PENDING), planned(SMS))

    assert held.wakes_at(at(now)) == (None if wakes_at is None else at(wakes_at))


def test_a_read_counts_from_the_moment_of_asking() -> None:
    held = case(sent(EMAIL, Status.PENDING), planned(SMS))
    step = held.next(at(15))
    assert isinstance(step, LookUp)

    attempt = held.note_read(step, at(15))

    assert (attempt.reads, attempt.last_read, attempt.closing_read) == (1, at(15), False)
    assert attempt == held.progress.on(EMAIL)
    assert held.wakes_at(at(20)) == at(45)


def test_a_closing_read_is_done_once() -> None:
    held = case(sent(EMAIL, Status.PENDING), sent(SMS, Status.ACCEPTED))
    step = held.next(at(200))
    assert step == LookUp(Rule.CLOSING_READ, EMAIL, at(570))

    assert held.note_read(step, at(200)).closing_read
    assert isinstance(held.next(at(201)), Close)


def test_a_channel_is_a_fallback_unless_it_is_the_first() -> None:
    held = case()

    assert [held.is_fallback(each) for each in (EMAIL, SMS)] == [False, True]


def test_channels_are_ruled_out_with_their_reasons() -> None:
    held = case()

    held.rule_out({EMAIL: "no_address", SMS: "no_address"})

    assert [each.ruled_out for each in held.progress.attempts] == ["no_address", "no_address"]
    assert held.next(at(0)) == Close(Rule.NO_CHANNEL, Outcome.EXHAUSTED)


@pytest.mark.parametrize(
    ("attempts", "dispatching", "phase", "channel"),
    [
        ((planned(EMAIL), planned(SMS)), None, Phase.QUEUED, EMAIL),
        ((planned(EMAIL, ruled_out="no_address"), planned(SMS)), None, Phase.QUEUED, SMS),
        ((planned(EMAIL), planned(SMS)), at(0), Phase.CLAIMED, EMAIL),
        ((sent(EMAIL, Status.PENDING), planned(SMS)), None, Phase.AWAITING, EMAIL),
        ((failed(EMAIL), planned(SMS)), None, Phase.AWAITING, EMAIL),
        ((failed(EMAIL), planned(SMS)), at(20), Phase.CLAIMED, SMS),
        ((failed(EMAIL), sent(SMS, Status.PENDING)), None, Phase.AWAITING, SMS),
        (
            (planned(EMAIL, ruled_out="no_address"), planned(SMS, ruled_out="no_consent")),
            None,
            Phase.QUEUED,
            None,
        ),
    ],
)
def test_a_notice_stands_on_the_channel_that_it_was_last_sent_on(
    attempts: tuple[Attempt, ...], dispatching: datetime | None, phase: Phase, channel: Channel | None
) -> None:
    held = case(*attempts)
    if dispatching is not None:
        held.next(dispatching)
        held.dispatching = True

    assert (held.phase, held.channel) == (phase, channel)


@pytest.mark.parametrize(
    ("email", "step", "states"),
    [
        (
            sent(EMAIL, Status.ACCEPTED),
            Close(Rule.SETTLED, Outcome.ACCEPTED, EMAIL),
            ("confirmed", "planned"),
        ),
        (sent(EMAIL, Status.PENDING), Close(Rule.CUTOFF, Outcome.UNKNOWN), ("unknown", "planned")),
        (
            sent(EMAIL, state=AttemptState.AMBIGUOUS),
            Close(Rule.EXPIRED, Outcome.EXPIRED),
            ("unknown", "planned"),
        ),
        (failed(EMAIL), Close(Rule.NO_CHANNEL, Outcome.EXHAUSTED), ("failed", "planned")),
        (delivered(EMAIL), Close(Rule.SETTLED, Outcome.DELIVERED, EMAIL), ("confirmed", "planned")),
        (planned(EMAIL), Close(Rule.WITHDRAWN, Outcome.WITHDRAWN), ("planned", "planned")),
    ],
    ids=lambda value: value.rule if isinstance(value, Close) else "",
)
def test_at_the_close_no_attempt_stays_open(email: Attempt, step: Close, states: tuple[str, str]) -> None:
    held = case(email, planned(SMS))

    result = held.close(step, at(30))

    assert tuple(each.state.value for each in held.progress.attempts) == states
    assert result == Result(
        key=KEY, outcome=step.outcome, channel=step.channel, rule=step.rule, closed_at=at(30)
    )
    assert (held.phase, held.result) == (Phase.CLOSED, result)


def test_only_the_channel_that_settled_it_is_confirmed() -> None:
    held = case(sent(EMAIL, Status.PENDING), sent(SMS, Status.ACCEPTED))

    held.close(Close(Rule.SETTLED, Outcome.ACCEPTED, SMS), at(200))

    assert [each.state for each in held.progress.attempts] == [AttemptState.UNKNOWN, AttemptState.CONFIRMED]


def test_the_evidence_says_where_it_stands_and_what_comes_next() -> None:
    held = case(sent(EMAIL, Status.PENDING), planned(SMS), policy=PAYOUT)
    held.decisions = 2

    evidence = held.evidence(at(30))

    assert (evidence.key, evidence.kind) == (KEY, "password_reset")
    assert (evidence.phase, evidence.channel) == (Phase.AWAITING, EMAIL)
    assert (evidence.expires_at, evidence.fallback_at, evidence.next_at) == (at(3600), at(900), at(60))
    assert evidence.next_step == "wait until the next poll at 12:01:00Z"
    assert (evidence.attempts, evidence.decisions, evidence.outcome) == (held.progress.attempts, 2, None)


@pytest.mark.parametrize(
    ("held", "fallback_at"),
    [
        (case(sent(EMAIL, Status.PENDING), planned(SMS)), at(105)),
        (case(sent(EMAIL, Status.PENDING), planned(SMS, ruled_out="no_address")), None),
        (case(sent(EMAIL, Status.PENDING), policy=DIGEST), None),
    ],
    ids=["a channel is left", "none can be used", "there was only one"],
)
def test_the_evidence_names_a_fallback_only_where_one_may_come(
    held: Case, fallback_at: datetime | None
) -> None:
    assert held.evidence(at(1)).fallback_at == fallback_at


def test_what_is_due_is_next_now() -> None:
    held = case(sent(EMAIL, Status.PENDING), planned(SMS))

    assert held.evidence(at(16)).next_at == at(16)


@pytest.mark.parametrize(
    "end", [Close(Rule.SETTLED, Outcome.ACCEPTED, EMAIL), Close(Rule.CUTOFF, Outcome.UNKNOWN)]
)
def test_the_evidence_of_a_closed_notice_has_an_outcome_and_nothing_ahead(end: Close) -> None:
    held = case(sent(EMAIL, Status.ACCEPTED), planned(SMS))
    held.close(end, at(30))

    evidence = held.evidence(at(40))

    assert (evidence.phase, evidence.outcome, evidence.channel) == (Phase.CLOSED, end.outcome, end.channel)
    assert (evidence.next_at, evidence.next_step) == (None, "")


def test_the_evidence_says_that_the_caller_withdrew() -> None:
    held = case()

    held.withdraw()

    assert held.evidence(at(0)).withdrawn
