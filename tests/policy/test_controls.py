import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from workflows.policy.controls import Control, Controls, Switch, allows, cohort
from workflows.policy.keys import notice_key

KEYS = [notice_key("password_reset", f"event-{number}", "user-1") for number in range(2000)]


@pytest.mark.parametrize(
    ("control", "allowed"),
    [
        (Control(), 2000),
        (Control(on=False), 0),
        (Control(percent=0), 0),
        (Control(on=False, percent=100), 0),
    ],
)
def test_a_control_that_is_off_or_at_zero_lets_nothing_through(control: Control, allowed: int) -> None:
    assert sum(allows(control, key) for key in KEYS) == allowed


@pytest.mark.parametrize("percent", [1, 10, 50, 90, 99])
def test_a_percentage_lets_about_that_share_through(percent: int) -> None:
    share = sum(allows(Control(percent=percent), key) for key in KEYS) / len(KEYS)

    assert share == pytest.approx(percent / 100, abs=0.04)


@given(key=st.text(min_size=1), lower=st.integers(0, 100), higher=st.integers(0, 100))
def test_raising_a_percentage_only_adds_notices(key: str, lower: int, higher: int) -> None:
    low, high = sorted((lower, higher))

    assert allows(Control(percent=high), key) or not allows(Control(percent=low), key)


@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("password_reset:event-1:user-1", 63),
        ("class_cancelled:class%3A7:student@42", 77),
    ],
)
def test_the_cohort_of_a_notice_never_changes(key: str, place: int) -> None:
    assert cohort(key) == place


def test_what_nobody_has_set_is_on_but_for_what_nobody_asked_for_and_what_changes_every_effect() -> None:
    controls = Controls()
    off = {each for each in Switch if not getattr(controls, each).on}

    assert off == {Switch.AUTOMATIC_RESEND, Switch.OBSERVE}
    assert {getattr(controls, each).percent for each in Switch} == {100}


def test_every_switch_has_a_control_and_every_control_a_switch() -> None:
    assert set(Controls.model_fields) == set(Switch)


@pytest.mark.parametrize("percent", [-1, 101])
def test_a_percentage_beyond_its_range_is_refused(percent: int) -> None:
    with pytest.raises(ValidationError, match="percent"):
        Control(percent=percent)
