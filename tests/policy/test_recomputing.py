from datetime import timedelta

import pytest

from tests.policy.given import EMAIL, RESET, SMS, at, delivered, failed, notice, planned, sent
from tests.policy.on_record import TERMS, decided, record
from workflows.policy.compared import UNREADABLE, Compared, Item
from workflows.policy.progress import Progress
from workflows.policy.recomputing import changed, recompute
from workflows.policy.words import SettlesOn, Status

LIVES = {
    "nothing sent": (notice(), 0),
    "a poll is due": (notice(sent(EMAIL, Status.PENDING), planned(SMS)), 15),
    "silence": (notice(sent(EMAIL, Status.PENDING), planned(SMS)), 1),
    "failed": (notice(failed(EMAIL), planned(SMS)), 20),
    "the deadline": (notice(sent(EMAIL, Status.PENDING, last_read=at(105)), planned(SMS)), 105),
    "delivered": (notice(delivered(EMAIL), planned(SMS)), 15),
    "expired": (notice(), 600),
    "withdrawn": (notice(withdrawn=True), 1),
}


def only(*compared: Compared) -> Compared:
    (one,) = compared
    return one


@pytest.mark.parametrize(("inputs", "seconds"), LIVES.values(), ids=LIVES.keys())
def test_a_decision_of_today_s_code_is_the_same(inputs: Progress, seconds: float) -> None:
    assert only(*recompute(record(decided(inputs, seconds)))).verdict == "same"


@pytest.mark.parametrize(
    ("changes", "recorded"),
    [
        ({"rule": "failed"}, "send email (failed)"),
        ({"channel": "sms"}, "send sms (first)"),
        ({"action": "look_up"}, "look up email (first)"),
        ({"rule": "a rule of old"}, "send email (a rule of old)"),
        ({"action": "close", "channel": None}, "close (first)"),
    ],
)
def test_a_decision_that_other_code_made_is_different_and_says_where(
    changes: dict[str, object], recorded: str
) -> None:
    found = only(*recompute(record(decided(notice()).model_copy(update=changes))))
    assert found.verdict == (
        f"different: recorded {recorded}, today send email (first)"
        " because the rule first says: nothing was sent yet"
    )


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"policy_digest": "gone"}, "terms of its policy digest"),
        ({"inputs": {"key": "x"}}, "what it was decided from"),
        ({"channel": "pigeon"}, "what it was decided from"),
    ],
)
def test_what_today_s_models_cannot_read_is_told_as_such(changes: dict[str, object], why: str) -> None:
    found = only(*recompute(record(decided(notice(), answer="yes").model_copy(update=changes))))
    assert (found.same, found.today) == (False, UNREADABLE)
    assert why in (found.because or "")


def test_terms_that_today_s_model_cannot_read_are_told_as_such() -> None:
    rows = record(decided(notice()))
    broken = rows.model_copy(update={"policies": {TERMS: {"route": ["pigeon"]}}})
    assert only(*recompute(broken)).today == UNREADABLE


@pytest.mark.parametrize(("outcome", "same"), [("delivered", True), ("accepted", False)])
def test_the_decision_that_closed_a_notice_is_compared_with_its_outcome(outcome: str, *, same: bool) -> None:
    closing = decided(LIVES["delivered"][0], 15)
    found = only(*recompute(record(closing, closed_at=at(15), outcome=outcome, channel="email")))
    assert (found.same, found.today) == (same, "close as delivered on email (settled)")


def test_the_run_of_a_reset_that_closed_later_is_not_held_against_the_outcome() -> None:
    closing = decided(LIVES["expired"][0], 600, run="run-2")
    assert only(*recompute(record(closing, closed_at=at(15), outcome="delivered"))).same


def test_a_check_stands_behind_its_decision() -> None:
    found = recompute(record(decided(notice(), answer="yes")))
    assert [each.item for each in found] == [Item.DECISION, Item.CHECK]


@pytest.mark.parametrize(
    ("update", "fields"),
    [
        ({}, ()),
        ({"settles_on": SettlesOn.DELIVERED}, ("settles_on",)),
        ({"min_useful": timedelta(minutes=2), "essential": True}, ("essential", "min_useful")),
        ({"email": RESET.email.model_copy(update={"provider": "ses"})}, ("email.provider",)),
        ({"route": (SMS, EMAIL)}, ("route",)),
    ],
)
def test_what_has_changed_in_a_kind_since_is_named(
    update: dict[str, object], fields: tuple[str, ...]
) -> None:
    assert changed(RESET.model_dump(mode="json"), RESET.model_copy(update=update)) == fields


def test_a_field_that_old_terms_did_not_have_is_no_change() -> None:
    old = RESET.model_dump(mode="json", exclude={"essential", "challenge"})
    assert changed(old, RESET) == ()


def test_old_terms_that_cannot_be_read_are_compared_as_they_are() -> None:
    old = {**RESET.model_dump(mode="json"), "route": ["pigeon"]}
    assert changed(old, RESET) == ("route",)
