"""The terms of a kind: durations with units, and margins that fit into a life."""

from datetime import timedelta

import pytest
from pydantic import ValidationError

from tests.policy.given import PAYOUT, RESET
from workflows.policy.terms import Policy, Watch
from workflows.policy.words import Channel

TERMS = RESET.model_dump(mode="json")


def read(text: object) -> timedelta:
    """Read a duration as a policy does."""
    (offset,) = Watch.model_validate({"polls": [text]}).polls or ()
    return offset


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("3m", 180),
        ("1h30m", 5400),
        ("2d", 172_800),
        ("1d1h1m1s", 90_061),
        ("366d", 31_622_400),
        ("PT15S", 15),
        ("P1D", 86_400),
        (timedelta(milliseconds=150), 0.15),
    ],
)
def test_a_duration_has_a_unit(text: object, seconds: float) -> None:
    assert read(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "15",
        15,
        1.5,
        True,
        None,
        "5x",
        "1m1h",
        "-5s",
        "0s",
        "PT0S",
        "-PT5S",
        "00:15:00",
        "15 s",
        "s",
        "٣s",
    ],
)
def test_what_is_no_duration_is_refused(text: object) -> None:
    with pytest.raises(ValidationError):
        read(text)


@pytest.mark.parametrize("text", ["367d", "9999999d", "9" * 5000 + "s", "P400Y", "P999999999999D"])
def test_no_duration_leaves_the_calendar(text: str) -> None:
    with pytest.raises(ValidationError):
        read(text)


@pytest.mark.parametrize(
    ("change", "where", "says"),
    [
        ({"route": []}, "route", "at least 1"),
        ({"route": ["email", "email"]}, "route", "more than once"),
        ({"fallback_after": "10m"}, "fallback_after", "shorter than expires_after"),
        ({"fallback_before_expiry": "11m"}, "fallback_before_expiry", "shorter than expires_after"),
        ({"cutoff_before_expiry": "10m"}, "cutoff_before_expiry", "shorter than expires_after"),
        ({"min_useful": "5m"}, "min_useful", "less than half"),
        ({"email": {"polls": ["45s", "15s"]}}, "email.polls", "ascend"),
        ({"email": {"polls": ["15s", "15s"]}}, "email.polls", "ascend"),
        ({"sms": {"backoff": {"first": "2m", "cap": "1m"}}}, "sms.backoff.cap", "shorter than first"),
        ({"sms": {"polls": ["1s"], "backoff": {"first": "1s", "cap": "1m"}}}, "sms", "not both"),
        ({"essential": "yes"}, "essential", "boolean"),
    ],
)
def test_terms_that_make_no_sense_are_refused_at_their_place(
    change: dict[str, object], where: str, says: str
) -> None:
    with pytest.raises(ValidationError, match=says) as caught:
        Policy.model_validate(TERMS | change)
    assert [".".join(map(str, each["loc"])) for each in caught.value.errors()] == [where]


def test_defaults_must_fit_too() -> None:
    """The fallback needs `min_useful` twice: with a life of two minutes it would go out with the email."""
    with pytest.raises(ValidationError, match="less than half"):
        Policy.model_validate(TERMS | {"min_useful": "1m", "expires_after": "2m"})


def test_without_a_fallback_a_short_life_is_fine() -> None:
    alone = TERMS | {"route": ["email"], "min_useful": "59s", "expires_after": "1m"}
    assert Policy.model_validate(alone).expires_after == timedelta(minutes=1)


@pytest.mark.parametrize("policy", [RESET, PAYOUT])
def test_terms_survive_the_engine(policy: Policy) -> None:
    assert Policy.model_validate_json(policy.model_dump_json()) == policy


def test_a_newer_term_is_no_error_for_an_older_worker() -> None:
    assert Policy.model_validate(TERMS | {"quiet_hours": "22-7"}) == RESET


def test_each_channel_has_its_own_watch() -> None:
    watch = Watch(polls=(timedelta(seconds=1),))
    policy = RESET.model_copy(update={"sms": watch})
    assert policy.watch(Channel.SMS) == watch
    assert policy.watch(Channel.EMAIL) == RESET.email
