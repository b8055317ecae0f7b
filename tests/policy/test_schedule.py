"""Poll times and deadlines, as instants."""

from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.given import DIGEST, KEY, PAYOUT, RESET, START, at
from workflows.policy.schedule import cutoff, due, fallback_deadline, offsets, poll_times
from workflows.policy.terms import Backoff, Policy, Watch

SECOND = timedelta(seconds=1)
EXPIRY = at(600)

EVEN = Backoff(first=timedelta(seconds=10), cap=timedelta(seconds=60), jitter=0.0, limit=5)

LENGTHS = st.timedeltas(min_value=timedelta(milliseconds=1), max_value=timedelta(days=1))


@st.composite
def backoffs(draw: st.DrawFn) -> Backoff:
    """Draw any backoff that a policy may hold."""
    first = draw(LENGTHS)
    return Backoff(
        first=first,
        cap=first + draw(LENGTHS),
        factor=draw(st.floats(1, 10)),
        jitter=draw(st.floats(0, 0.5)),
        limit=draw(st.integers(1, 50)),
    )


def seconds(times: tuple[datetime, ...]) -> list[float]:
    """Return instants as seconds from the submission."""
    return [(each - START).total_seconds() for each in times]


def test_explicit_polls_are_offsets_from_the_submission() -> None:
    assert seconds(poll_times(RESET.email, START, EXPIRY, KEY)) == [15, 45, 105]


def test_no_poll_is_planned_at_or_after_the_end() -> None:
    assert seconds(poll_times(RESET.email, START, at(45), KEY)) == [15]


def test_without_a_schedule_there_are_no_polls() -> None:
    assert poll_times(Watch(), START, EXPIRY, KEY) == ()


def test_backoff_grows_to_its_cap_and_stops_at_its_limit() -> None:
    assert seconds(poll_times(Watch(backoff=EVEN), START, EXPIRY, KEY)) == [10, 30, 70, 130, 190]


@given(backoffs(), st.text())
def test_jittered_polls_ascend_and_are_bounded(backoff: Backoff, key: str) -> None:
    planned = (timedelta(), *offsets(Watch(backoff=backoff), key))
    gaps = [later - earlier for earlier, later in pairwise(planned)]
    longest = backoff.cap * (1 + backoff.jitter) + SECOND
    assert len(gaps) == backoff.limit
    assert all(timedelta() <= gap <= longest for gap in gaps)


@given(backoffs(), st.text())
def test_jitter_is_the_same_in_every_replay(backoff: Backoff, key: str) -> None:
    watch = Watch(backoff=backoff)
    assert offsets(watch, key) == offsets(watch.model_copy(deep=True), key)


def test_jitter_spreads_attempts_of_one_moment() -> None:
    watch = Watch(backoff=EVEN.model_copy(update={"jitter": 0.5}))
    assert len({offsets(watch, f"k:e:{number}:email:1") for number in range(100)}) == 100


@pytest.mark.parametrize(
    ("last_read", "next_at"),
    [
        pytest.param(None, 15, id="nothing was read yet"),
        pytest.param(14, 15, id="a read before the poll does not cover it"),
        pytest.param(15, 45, id="a read at the poll does"),
        pytest.param(50, 105, id="missed polls are done once, and not made up"),
        pytest.param(105, None, id="all are covered"),
    ],
)
def test_one_read_covers_every_poll_up_to_it(last_read: int | None, next_at: int | None) -> None:
    times = poll_times(RESET.email, START, EXPIRY, KEY)
    found = due(times, None if last_read is None else at(last_read))
    assert found == (None if next_at is None else at(next_at))


def changed(policy: Policy, **terms: object) -> Policy:
    """Return a policy with other terms, validated."""
    return Policy.model_validate(policy.model_dump() | terms)


@pytest.mark.parametrize(
    ("policy", "fallback_at", "deadline"),
    [
        pytest.param(RESET, None, 105, id="nothing named: the last explicit poll"),
        pytest.param(changed(RESET, fallback_after="3m"), None, 180, id="counted from the submission"),
        pytest.param(
            changed(RESET, fallback_before_expiry="3m"), None, 420, id="worked backward from expiry"
        ),
        pytest.param(RESET, 200, 200, id="the event says"),
        pytest.param(changed(RESET, fallback_after="3m"), 300, 180, id="the earliest of several"),
        pytest.param(
            changed(RESET, fallback_after="3m", fallback_before_expiry="8m"),
            None,
            120,
            id="of the policy's, too",
        ),
        pytest.param(
            changed(RESET, fallback_after="9m"), None, 480, id="it leaves the fallback twice its useful time"
        ),
        pytest.param(RESET, 599, 480, id="whatever the event says"),
        pytest.param(
            changed(RESET, fallback_after="9m", cutoff_before_expiry="4m"),
            None,
            360,
            id="and never passes the cutoff",
        ),
        pytest.param(
            changed(RESET, email={"backoff": {"first": "10s", "cap": "60s"}}),
            None,
            480,
            id="a backoff names none",
        ),
    ],
)
def test_the_fallback_deadline(policy: Policy, fallback_at: int | None, deadline: int) -> None:
    spoken = None if fallback_at is None else at(fallback_at)
    assert fallback_deadline(policy, START, EXPIRY, spoken) == at(deadline)


def test_without_another_channel_silence_is_waited_for_until_the_cutoff() -> None:
    alone = changed(DIGEST, email={}, cutoff_before_expiry="2m")
    assert fallback_deadline(alone, START, at(3600), None) == cutoff(alone, at(3600)) == at(3480)


def test_a_late_submission_does_not_push_the_deadline_past_its_use() -> None:
    assert fallback_deadline(PAYOUT, at(3000), at(3600), None) == at(3480)
