"""The transition table: complete, and safe in whatever order reports arrive."""

from collections.abc import Iterable
from functools import reduce
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.given import EMAIL, planned, seen, sent
from workflows.policy.progress import Attempt
from workflows.policy.state import OPEN, TABLE, TERMINAL, lapse, prevailing, stronger, transition
from workflows.policy.words import AttemptState, Status, Verdict

Report = tuple[Status, bool]

ALL = list(product(Status, [False, True]))
GIVES_UP = [Status.TEMPORARY_FAILURE, Status.INVALID_RECIPIENT, Status.REJECTED]
REPORTS = st.tuples(st.sampled_from(Status), st.booleans())


def after(reports: Iterable[Report], state: AttemptState = AttemptState.PLANNED) -> AttemptState:
    """Return where an attempt stands after these reports, in this order."""
    return reduce(lambda at, report: transition(at, report[0], is_final=report[1]).state, reports, state)


@pytest.mark.parametrize("state", AttemptState)
def test_every_pair_is_listed(state: AttemptState) -> None:
    assert sorted(TABLE[state]) == sorted(ALL)


@pytest.mark.parametrize(("state", "report"), list(product(AttemptState, ALL)))
def test_what_is_not_applied_changes_nothing_and_says_why(state: AttemptState, report: Report) -> None:
    moved = transition(state, report[0], is_final=report[1])
    if moved.verdict is not Verdict.APPLIED:
        assert moved.state is state
        assert moved.reason
    else:
        assert state not in TERMINAL


def test_every_state_is_planned_open_or_terminal() -> None:
    assert {AttemptState.PLANNED, *OPEN, *TERMINAL} == set(AttemptState)
    assert not OPEN & TERMINAL


SUBMITTED, CONFIRMED, FAILED = AttemptState.SUBMITTED, AttemptState.CONFIRMED, AttemptState.FAILED
PLANNED, AMBIGUOUS, UNKNOWN = AttemptState.PLANNED, AttemptState.AMBIGUOUS, AttemptState.UNKNOWN


@pytest.mark.parametrize(
    ("state", "status", "is_final", "then", "verdict"),
    [
        pytest.param(
            PLANNED, Status.ACCEPTED, False, SUBMITTED, Verdict.APPLIED, id="callback before the receipt"
        ),
        pytest.param(
            PLANNED, Status.DELIVERED, True, CONFIRMED, Verdict.APPLIED, id="delivery before the receipt"
        ),
        pytest.param(
            AMBIGUOUS, Status.PENDING, False, SUBMITTED, Verdict.APPLIED, id="ambiguous, then found"
        ),
        pytest.param(AMBIGUOUS, Status.REJECTED, True, FAILED, Verdict.APPLIED, id="ambiguous, then refused"),
        pytest.param(
            CONFIRMED,
            Status.INVALID_RECIPIENT,
            True,
            CONFIRMED,
            Verdict.REFUSED,
            id="delivered, then bounce stays",
        ),
        pytest.param(CONFIRMED, Status.DELIVERED, True, CONFIRMED, Verdict.REPEATED, id="delivered twice"),
        pytest.param(
            SUBMITTED,
            Status.TEMPORARY_FAILURE,
            False,
            SUBMITTED,
            Verdict.APPLIED,
            id="temporary failure, still tried",
        ),
        pytest.param(
            SUBMITTED,
            Status.TEMPORARY_FAILURE,
            True,
            FAILED,
            Verdict.APPLIED,
            id="temporary failure, given up",
        ),
        pytest.param(
            SUBMITTED, Status.ACCEPTED, True, SUBMITTED, Verdict.APPLIED, id="acceptance as the last word"
        ),
        pytest.param(
            SUBMITTED,
            Status.INVALID_RECIPIENT,
            False,
            SUBMITTED,
            Verdict.APPLIED,
            id="a bounce that is not final",
        ),
        pytest.param(
            SUBMITTED, Status.UNRECOGNIZED, True, SUBMITTED, Verdict.APPLIED, id="a word nobody knows"
        ),
        pytest.param(
            FAILED, Status.DELIVERED, True, FAILED, Verdict.REFUSED, id="delivered after the failure"
        ),
        pytest.param(
            CONFIRMED, Status.PENDING, False, CONFIRMED, Verdict.REFUSED, id="non-terminal after delivery"
        ),
        pytest.param(FAILED, Status.PENDING, False, FAILED, Verdict.REFUSED, id="non-terminal after failure"),
        pytest.param(UNKNOWN, Status.DELIVERED, True, UNKNOWN, Verdict.LATE, id="evidence after the window"),
    ],
)
def test_the_oddities_are_legal(
    state: AttemptState, status: Status, *, is_final: bool, then: AttemptState, verdict: Verdict
) -> None:
    moved = transition(state, status, is_final=is_final)
    assert (moved.state, moved.verdict) == (then, verdict)


def test_a_temporary_failure_may_end_in_delivery() -> None:
    assert after([(Status.TEMPORARY_FAILURE, False), (Status.DELIVERED, True)]) is CONFIRMED


@pytest.mark.parametrize("status", GIVES_UP)
def test_only_a_final_failure_fails(status: Status) -> None:
    assert after([(status, False)]) is SUBMITTED
    assert after([(status, True)]) is FAILED


@given(st.lists(REPORTS), st.lists(REPORTS))
def test_a_terminal_state_never_moves(before: list[Report], later: list[Report]) -> None:
    ended = after(before)
    if ended in TERMINAL:
        assert after(later, ended) is ended


@given(st.lists(REPORTS, min_size=1))
def test_any_order_of_reports_ends_in_one_state(reports: list[Report]) -> None:
    """The first terminal word decides; all others leave the attempt open."""
    ending = (transition(PLANNED, status, is_final=final).state for status, final in reports)
    assert after(reports) is next((state for state in ending if state in TERMINAL), SUBMITTED)


@given(st.lists(REPORTS, min_size=1, max_size=5), st.sampled_from([CONFIRMED, FAILED]))
def test_reports_that_agree_end_alike_in_every_order(reports: list[Report], left_out: AttemptState) -> None:
    agreeing = [each for each in reports if after([each]) is not left_out]
    assert len({after(each) for each in permutations(agreeing)}) == 1


@given(st.lists(st.tuples(REPORTS, st.integers(1, 3))))
def test_duplicates_change_nothing(reports: list[tuple[Report, int]]) -> None:
    repeated = [report for report, times in reports for _ in range(times)]
    assert after(repeated) is after(report for report, _ in reports)


def observe(attempt: Attempt, *reports: Report) -> Attempt:
    """Apply reports to an attempt."""
    for status, is_final in reports:
        attempt, _ = attempt.observe(seen(status, is_final=is_final))
    return attempt


def test_a_refused_report_leaves_the_attempt_as_it_was() -> None:
    confirmed = observe(planned(EMAIL), (Status.DELIVERED, True))
    assert observe(confirmed, (Status.INVALID_RECIPIENT, True)) == confirmed


def test_a_callback_before_the_receipt_starts_the_clock_of_the_polls() -> None:
    attempt, _ = planned(EMAIL).observe(seen(Status.PENDING, seconds=3))
    later, _ = attempt.observe(seen(Status.PENDING, seconds=9))
    assert attempt.since == later.since == seen(Status.PENDING, seconds=3).at


@pytest.mark.parametrize(
    ("reports", "word"),
    [
        pytest.param(
            [Status.ACCEPTED, Status.PENDING], Status.ACCEPTED, id="a late queued does not undo acceptance"
        ),
        pytest.param([Status.ACCEPTED, Status.UNRECOGNIZED], Status.ACCEPTED, id="nor does an unknown word"),
        pytest.param(
            [Status.ACCEPTED, Status.TEMPORARY_FAILURE], Status.TEMPORARY_FAILURE, id="a deferral is news"
        ),
        pytest.param(
            [Status.TEMPORARY_FAILURE, Status.ACCEPTED], Status.ACCEPTED, id="acceptance after it is, too"
        ),
        pytest.param(
            [Status.TEMPORARY_FAILURE, Status.PENDING], Status.TEMPORARY_FAILURE, id="a late queued is not"
        ),
    ],
)
def test_the_better_evidence_is_kept(reports: list[Status], word: Status) -> None:
    assert observe(sent(EMAIL), *((status, False) for status in reports)).status is word


@given(st.sampled_from(Status), st.sampled_from(Status), st.sampled_from(Status))
def test_evidence_only_grows(one: Status, two: Status, three: Status) -> None:
    assert stronger(stronger(one, two), stronger(two, three)) is stronger(stronger(one, two), three)
    assert stronger(None, one) is one


@pytest.mark.parametrize(
    ("state", "settled", "then"),
    [
        (PLANNED, False, PLANNED),
        (AMBIGUOUS, False, UNKNOWN),
        (SUBMITTED, False, UNKNOWN),
        (SUBMITTED, True, CONFIRMED),
        (CONFIRMED, False, CONFIRMED),
        (FAILED, False, FAILED),
        (UNKNOWN, False, UNKNOWN),
    ],
)
def test_what_is_open_when_the_notice_closes_becomes_terminal(
    state: AttemptState, *, settled: bool, then: AttemptState
) -> None:
    assert lapse(state, settled=settled) is then


@given(st.lists(st.tuples(st.sampled_from(Status), st.booleans()), max_size=8))
def test_the_word_that_stands_always_agrees_with_the_state(reports: list[tuple[Status, bool]]) -> None:
    """So that a state on record can be told again as the report that brought it."""
    state, word = AttemptState.SUBMITTED, (Status.PENDING, False)
    for status, is_final in reports:
        moved = transition(state, status, is_final=is_final)
        if moved.verdict is Verdict.APPLIED:
            word = prevailing(word, (status, is_final), moved.state)
            state = moved.state

    assert transition(AttemptState.SUBMITTED, word[0], is_final=word[1]).state is state


def test_a_finality_is_never_lent_to_another_word() -> None:
    invalid = (Status.INVALID_RECIPIENT, False)

    assert prevailing(invalid, (Status.PENDING, True), AttemptState.SUBMITTED) == invalid
    assert prevailing(invalid, (Status.DELIVERED, True), AttemptState.CONFIRMED) == (Status.DELIVERED, True)
