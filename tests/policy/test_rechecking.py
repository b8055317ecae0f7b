from collections.abc import Sequence

import pytest

from tests.policy.given import EMAIL, RESET, SMS, failed, notice, planned
from tests.policy.on_record import attempted, decided, record, suppressed, turned
from workflows.policy.compared import Compared
from workflows.policy.rechecking import SLACK, recheck
from workflows.policy.recorded import RecordedAttempt, RecordedControl, RecordedSuppression

ASKED = 100.0
EDGE = SLACK.total_seconds()
INSIDE, OUTSIDE = EDGE - 1, EDGE + 1
KNOWN = (attempted("submitted"),)
SUPPRESSED = "suppressed: unsubscribed"


def checked(
    answer: str,
    reason: str | None = None,
    *,
    controls: Sequence[RecordedControl] = (),
    suppressions: Sequence[RecordedSuppression] = (),
    attempts: Sequence[RecordedAttempt] = KNOWN,
) -> Compared:
    """Recheck the first email's answer."""
    inputs = notice()
    decision = decided(inputs, ASKED, answer=answer, reason=reason)
    rows = record(decision, attempts=attempts, suppressions=suppressions, controls=controls)
    return recheck(rows, decision, policy=RESET, inputs=inputs)


def off(seconds: float, name: str = "dispatch") -> RecordedControl:
    return turned(name, seconds, on=False)


HELD = ("held", "dispatch_off")
NO = ("no", SUPPRESSED)


@pytest.mark.parametrize(
    ("said", "controls", "same"),
    [
        (("yes", None), [], True),
        (HELD, [off(0)], True),
        (("yes", None), [off(0)], False),
        (HELD, [], False),
        (("yes", None), [off(0), turned("dispatch", 50, on=True)], True),
        (HELD, [off(0), turned("dispatch", 50, on=True)], False),
        (HELD, [turned("dispatch", 0, on=True, percent=0)], True),
        (("yes", None), [off(0, "fallback")], True),
        # Hosts' clocks are apart: what was set close to the check may have been seen by it or not.
        (("yes", None), [off(ASKED - INSIDE)], True),
        (HELD, [off(ASKED - INSIDE)], True),
        (HELD, [off(ASKED + INSIDE)], True),
        (("yes", None), [off(ASKED - OUTSIDE)], False),
        (HELD, [off(ASKED + OUTSIDE)], False),
    ],
)
def test_an_answer_agrees_with_the_controls_of_its_moment(
    said: tuple[str, str | None],
    controls: list[RecordedControl],
    *,
    same: bool,
) -> None:
    assert checked(*said, controls=controls).same is same


@pytest.mark.parametrize(
    ("said", "held", "same"),
    [
        (NO, [suppressed("unsubscribed", 0)], True),
        (("yes", None), [suppressed("unsubscribed", 0)], False),
        (NO, [], False),
        (("no", "suppressed: invalid_recipient"), [suppressed("unsubscribed", 0)], False),
        (("yes", None), [suppressed("unsubscribed", 0, channel=SMS)], True),
        (("yes", None), [suppressed("unsubscribed", 0, lifted_at=decided(notice(), 50).at)], True),
        (NO, [suppressed("unsubscribed", 0, lifted_at=decided(notice(), 50).at)], False),
        (NO, [suppressed("unsubscribed", 0, lifted_at=decided(notice(), 150).at)], True),
        (("yes", None), [suppressed("unsubscribed", ASKED + OUTSIDE)], True),
        # The report that suppressed came while it was being asked.
        (("yes", None), [suppressed("unsubscribed", ASKED - INSIDE)], True),
        (NO, [suppressed("unsubscribed", ASKED + INSIDE)], True),
        # A provider's list says since when, and not when it was read.
        (("yes", None), [suppressed("unsubscribed", 0, source_notice="sendgrid's list")], True),
        (NO, [suppressed("unsubscribed", 0, source_notice="sendgrid's list")], True),
        (("yes", None), [suppressed("a reason of old", 0)], True),
    ],
)
def test_an_answer_agrees_with_the_suppressions_of_its_moment(
    said: tuple[str, str | None],
    held: list[RecordedSuppression],
    *,
    same: bool,
) -> None:
    assert checked(*said, suppressions=held).same is same


@pytest.mark.parametrize(
    ("said", "same"),
    [
        (NO, True),
        (("no", "no_address"), True),
        (("yes", None), True),
        (HELD, False),
        (("no", "a reason of old"), False),
    ],
)
def test_where_no_attempt_put_the_address_on_record_the_answer_s_word_for_it_is_believed(
    said: tuple[str, str | None],
    *,
    same: bool,
) -> None:
    found = checked(*said, attempts=())
    assert (found.same, found.not_on_record) == (same, ("the address",))


def test_a_believed_answer_still_yields_to_a_control() -> None:
    assert checked(*NO, attempts=(), controls=[off(0)]).today == "held, dispatch_off"


def test_consent_to_texts_is_believed_and_said_to_be() -> None:
    inputs = notice(failed(EMAIL), planned(SMS))
    decision = decided(inputs, ASKED, answer="no", reason="no_consent")
    found = recheck(record(decision), decision, policy=RESET, inputs=inputs)
    assert (found.same, found.not_on_record) == (True, ("consent", "the address"))


def test_a_fallback_answers_to_its_own_control() -> None:
    inputs = notice(failed(EMAIL), planned(SMS))
    decision = decided(inputs, ASKED, answer="held", reason="fallback_off")
    rows = record(decision, controls=[off(0, "fallback")])
    assert recheck(rows, decision, policy=RESET, inputs=inputs).same


@pytest.mark.parametrize(
    ("found", "because"),
    [
        (checked("yes", controls=[off(0)]), "the control dispatch was off since 2026-03-01 12:00:00Z"),
        (
            checked("yes", controls=[turned("dispatch", 0, on=True, percent=0)]),
            "the control dispatch was at 0 % since 2026-03-01 12:00:00Z",
        ),
        (
            checked("yes", suppressions=[suppressed("unsubscribed", 0)]),
            "unsubscribed is on record since 2026-03-01 12:00:00Z",
        ),
        (checked(*HELD), "nothing on record stood in its way"),
    ],
)
def test_a_difference_says_on_what_of_the_record_it_rests(found: Compared, because: str) -> None:
    assert found.because == because
    assert found.verdict.startswith("different: recorded ")


def test_an_answer_at_or_after_expiry_is_expired() -> None:
    inputs = notice()
    decision = decided(inputs, ASKED, answer="yes", answered_at=inputs.expires_at)
    assert recheck(record(decision), decision, policy=RESET, inputs=inputs).today == "expired, expired"
