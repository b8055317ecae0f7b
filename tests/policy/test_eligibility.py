"""May it be sent: a row for every rule, and which rule speaks where several object."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.given import EMAIL, KEY, SMS, START, at
from workflows.policy.controls import Control
from workflows.policy.eligibility import Answer, Facts, ask_again, judge
from workflows.policy.words import Channel, SuppressionReason

INVALID, COMPLAINT, UNSUBSCRIBED, STOPPED = SuppressionReason
OFF = Control(on=False)
FINE = Facts(
    notice_key=KEY,
    channel=SMS,
    now=START,
    expires_at=at(600),
    has_address=True,
    sms_consent=True,
    essential=True,
    is_fallback=True,
    suppressed_for=frozenset(),
    dispatch=Control(),
    fallback=Control(),
)


def facts(**changes: object) -> Facts:
    """Return a text that may be sent, with some of its facts changed."""
    return replace(FINE, **changes)  # type: ignore[arg-type]  # the names are those of its fields


def suppressed(*reasons: SuppressionReason) -> dict[str, object]:
    return {"suppressed_for": frozenset(reasons)}


OBJECTIONS: dict[str, tuple[dict[str, object], Answer, str]] = {
    "at expiry": ({"now": at(600)}, Answer.EXPIRED, "expired"),
    "after expiry": ({"now": at(601)}, Answer.EXPIRED, "expired"),
    "dispatch is off": ({"dispatch": OFF}, Answer.HELD, "dispatch_off"),
    "fallback is off": ({"fallback": OFF}, Answer.HELD, "fallback_off"),
    "nowhere to send it": ({"has_address": False}, Answer.NO, "no_address"),
    "no consent": ({"sms_consent": False}, Answer.NO, "no_consent"),
    "a number that does not exist": (suppressed(INVALID), Answer.NO, "suppressed: invalid_recipient"),
    "STOP": (suppressed(STOPPED), Answer.NO, "suppressed: stopped"),
}


def test_what_nothing_objects_to_may_be_sent() -> None:
    assert judge(facts()) == (Answer.YES, None)


@pytest.mark.parametrize(("changes", "answer", "reason"), OBJECTIONS.values(), ids=OBJECTIONS)
def test_each_objection_is_answered_with_its_reason(
    changes: dict[str, object], answer: Answer, reason: str
) -> None:
    assert judge(facts(**changes)) == (answer, reason)


@pytest.mark.parametrize(
    "changes",
    [
        {"now": at(600) - timedelta(microseconds=1)},
        {"fallback": OFF, "is_fallback": False},
        {"channel": EMAIL, "sms_consent": False},
        {"channel": EMAIL, **suppressed(UNSUBSCRIBED)},
        {"channel": EMAIL, **suppressed(COMPLAINT, STOPPED)},
        {"essential": False},
    ],
    ids=[
        "the last instant",
        "fallback is off for a first channel",
        "an email needs no consent to texts",
        "an essential email to somebody who unsubscribed",
        "an essential email to somebody who complained",
        "a text that is not essential",
    ],
)
def test_what_looks_like_an_objection_and_is_none(changes: dict[str, object]) -> None:
    assert judge(facts(**changes)) == (Answer.YES, None)


@pytest.mark.parametrize("essential", [False, True])
@pytest.mark.parametrize("channel", Channel)
@pytest.mark.parametrize("reason", SuppressionReason)
def test_only_an_essential_email_passes_an_opt_out(
    reason: SuppressionReason, channel: Channel, *, essential: bool
) -> None:
    answer, why = judge(facts(channel=channel, essential=essential, **suppressed(reason)))

    if channel is EMAIL and essential and reason is not INVALID:
        assert (answer, why) == (Answer.YES, None)
    else:
        assert (answer, why) == (Answer.NO, f"suppressed: {reason}")


def test_the_fault_of_an_address_is_named_before_its_persons_choice() -> None:
    assert judge(facts(**suppressed(*SuppressionReason))) == (Answer.NO, "suppressed: invalid_recipient")


def test_expiry_comes_first_then_the_operator_then_the_person() -> None:
    """Each objection, with all that stand below it in the table, is the one that answers."""
    rows = list(OBJECTIONS.values())
    for place, (_, answer, reason) in enumerate(rows):
        changes = {name: value for row in reversed(rows[place:]) for name, value in row[0].items()}

        assert judge(facts(**changes)) == (answer, reason)


@given(
    now=st.datetimes(datetime(2000, 1, 1), datetime(2199, 1, 1)),  # noqa: DTZ001 - arithmetic only
    left=st.timedeltas(timedelta(microseconds=1), timedelta(days=366)),
)
def test_a_held_dispatch_asks_again_soon_and_never_after_expiry(now: datetime, left: timedelta) -> None:
    again = ask_again(now, now + left)

    assert now < again <= now + left
    assert again - now <= max(timedelta(minutes=15), left / 300)
    assert again == now + left or again - now >= timedelta(seconds=5)


@pytest.mark.parametrize(
    ("left", "pause"),
    [
        (timedelta(seconds=3), timedelta(seconds=3)),
        (timedelta(seconds=30), timedelta(seconds=5)),
        (timedelta(minutes=10), timedelta(minutes=1)),
        (timedelta(days=1), timedelta(minutes=15)),
        (timedelta(days=300), timedelta(days=1)),
    ],
)
def test_the_pause_of_a_held_dispatch_follows_what_is_left(left: timedelta, pause: timedelta) -> None:
    assert ask_again(START, START + left) - START == pause


@pytest.mark.parametrize("left", [timedelta(minutes=10), timedelta(days=2), timedelta(days=366)])
def test_however_long_a_hold_lasts_its_history_stays_far_below_the_engines_limit(left: timedelta) -> None:
    now, asks = START, 0
    while now < START + left:
        now, asks = ask_again(now, START + left), asks + 1

    # An ask is about ten events, and the engine takes 51,200.
    assert asks < 2_500


@pytest.mark.parametrize("left", [timedelta(), timedelta(seconds=-1)])
def test_what_has_expired_is_not_asked_about_later(left: timedelta) -> None:
    assert ask_again(START, START + left) == START + left
