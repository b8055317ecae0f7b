"""When a message is due that nobody asked for: a period after the last, and never beyond a bound."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.drawn import lengths
from tests.policy.given import START, at
from workflows.policy.unasked import MOST, Unasked

MINUTE = timedelta(minutes=1)


def test_nothing_is_due_where_the_policy_does_not_say_so() -> None:
    assert Unasked(None).due(START) is None


def test_nothing_is_due_before_a_first_message() -> None:
    assert Unasked(MINUTE).due(None) is None


def test_a_message_is_due_a_period_after_the_last_whoever_asked_for_that() -> None:
    unasked = Unasked(MINUTE)

    assert (unasked.due(START), unasked.due(at(30))) == (at(60), at(90))


@pytest.mark.parametrize(
    ("again_at", "due"),
    [
        pytest.param(None, at(120), id="it names no moment"),
        pytest.param(at(90), at(120), id="it names one too soon"),
        pytest.param(at(500), at(500), id="it names a later one"),
    ],
)
def test_after_a_denial_it_is_another_period_or_as_long_as_that_says(
    again_at: datetime | None, due: datetime
) -> None:
    unasked = Unasked(MINUTE)

    unasked.denied(at(60), again_at)

    assert unasked.due(START) == due


def test_a_person_who_asks_after_a_denial_puts_it_off() -> None:
    unasked = Unasked(MINUTE)

    unasked.denied(at(60), None)

    assert unasked.due(at(100)) == at(160)


def test_every_asking_has_a_name_of_its_own_and_there_is_an_end_to_them() -> None:
    unasked = Unasked(MINUTE)
    names = []
    while unasked.due(START) is not None:
        names.append(unasked.ask())

    assert names == [f"automatic:{number}" for number in range(1, MOST + 1)]


@given(
    after=lengths(1, 3600),
    last_at=lengths(0, 4000).map(lambda offset: START + offset),
    denials=st.lists(
        st.tuples(lengths(0, 4000), st.none() | lengths(0, 8000)).map(
            lambda drawn: (START + drawn[0], None if drawn[1] is None else START + drawn[1])
        ),
        max_size=3,
    ),
)
def test_it_never_asks_within_a_period_of_a_message_or_of_a_denial(
    after: timedelta, last_at: datetime, denials: list[tuple[datetime, datetime | None]]
) -> None:
    unasked = Unasked(after)
    for now, again_at in denials:
        unasked.denied(now, again_at)

    due = unasked.due(last_at)

    assert due is not None
    assert due >= last_at + after
    for now, again_at in denials[-1:]:
        assert due >= now + after
        assert again_at is None or due >= again_at
