"""When a notice stops being useful: the earlier of what its event says and what its policy counts."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.drawn import SECOND, lengths
from tests.policy.given import DIGEST, RESET, START, at
from workflows.policy.lifetime import LifetimeError, expiry
from workflows.policy.models import NoticeRequest, Recipient
from workflows.policy.terms import Policy

TEN, HOUR = RESET, RESET.model_copy(update={"expires_after": timedelta(hours=1)})
UNBOUNDED = RESET.model_copy(update={"expires_after": None})
"""Its events bring the times."""


def request(**times: datetime | None) -> NoticeRequest:
    return NoticeRequest.model_validate(
        {"kind": "password_reset", "event_id": "event-1", "recipient": Recipient(id="ana"), **times}
    )


@pytest.mark.parametrize(
    ("policy", "times", "now", "expected"),
    [
        (TEN, {}, at(0), at(600)),
        (TEN, {}, at(5), at(605)),
        (TEN, {"occurred_at": at(-300)}, at(0), at(300)),
        (TEN, {"occurred_at": at(-3600)}, at(0), at(-3000)),
        (TEN, {"occurred_at": at(60)}, at(0), at(660)),
        (TEN, {"expires_at": at(300)}, at(0), at(300)),
        (TEN, {"expires_at": at(900)}, at(0), at(600)),
        (TEN, {"expires_at": at(900), "occurred_at": at(400)}, at(0), at(900)),
        (TEN, {"expires_at": at(-60)}, at(0), at(-60)),
        (UNBOUNDED, {"expires_at": at(7200)}, at(0), at(7200)),
        (UNBOUNDED, {"expires_at": at(7200), "occurred_at": at(-7200)}, at(0), at(7200)),
    ],
    ids=[
        "counted from the start",
        "counted from whenever that is",
        "counted from the event",
        "held back until it had expired",
        "an event of a host whose clock is ahead",
        "the event says earlier",
        "the policy says earlier",
        "the event says earlier than the policy counts from it",
        "the event says that it is over",
        "only the event says",
        "only the event says, whenever it happened",
    ],
)
def test_a_notice_expires_at_the_earlier_of_both(
    policy: Policy, times: dict[str, datetime], now: datetime, expected: datetime
) -> None:
    assert expiry(request(**times), policy, now) == expected


def test_where_nothing_says_when_the_field_is_named() -> None:
    with pytest.raises(LifetimeError, match=r"^expires_at: this kind needs it"):
        expiry(request(), UNBOUNDED, START)


@pytest.mark.parametrize("fallback_at", [at(540) + timedelta(microseconds=1), at(599), at(600), at(900)])
def test_a_fallback_that_would_be_of_no_use_is_refused(fallback_at: datetime) -> None:
    with pytest.raises(LifetimeError, match=r"^fallback_at: must leave"):
        expiry(request(fallback_at=fallback_at), TEN, START)


@pytest.mark.parametrize("fallback_at", [at(540), at(0), at(-60)])
def test_a_fallback_that_leaves_min_useful_is_not(fallback_at: datetime) -> None:
    assert expiry(request(fallback_at=fallback_at), TEN, START) == at(600)


def test_where_nothing_can_follow_a_late_fallback_harms_nobody() -> None:
    assert expiry(request(fallback_at=at(3599)), DIGEST, START) == at(3600)


@given(
    event=st.none() | lengths(0, 9999),
    born=st.none() | lengths(0, 9999),
    now=lengths(0, 9999),
)
def test_no_notice_outlives_its_event_or_its_policy(
    event: timedelta | None, born: timedelta | None, now: timedelta
) -> None:
    asked = request(
        expires_at=None if event is None else START + event,
        occurred_at=None if born is None else START + born,
    )

    expires_at = expiry(asked, HOUR, START + now)

    bounds = [START + (now if born is None else born) + 3600 * SECOND]
    assert expires_at == min([*bounds, *([asked.expires_at] if asked.expires_at else [])])
    assert expires_at == expiry(asked, HOUR, START + now), "asked again, it says the same"


@given(born=lengths(0, 9999), first=lengths(0, 99999), second=lengths(0, 99999))
def test_when_it_is_admitted_does_not_matter_where_the_event_says_when_it_was(
    born: timedelta, first: timedelta, second: timedelta
) -> None:
    asked = request(occurred_at=START + born)

    assert expiry(asked, HOUR, START + first) == expiry(asked, HOUR, START + second)
