from collections.abc import Sequence

import pytest

from tests.policy.given import EMAIL, KEY, SMS, at, failed, notice, planned, sent
from tests.policy.on_record import attempted, decided, record, reported
from workflows.policy.compared import UNREADABLE, Compared, Item
from workflows.policy.recomputing import recompute
from workflows.policy.recorded import RecordedAttempt, RecordedDecision, RecordedReport

PENDING, ACCEPTED = reported("pending"), reported("accepted")
DELIVERED = reported("delivered", is_final=True)
BOUNCED = reported("invalid_recipient", is_final=True)
REFUSED = reported("pending", verdict="refused")
LATE = reported("delivered", is_final=True, verdict="late")
CLOSED_AT = at(570)


def replayed(
    row: RecordedAttempt,
    *observations: RecordedReport,
    closing: RecordedDecision | None = None,
    has_closed: bool = False,
    channel: str | None = None,
) -> tuple[Compared, ...]:
    rows = record(
        *([closing] if closing else []),
        attempts=[row],
        observations=observations,
        closed_at=CLOSED_AT if has_closed else None,
        outcome="unknown" if has_closed else None,
        channel=channel,
    )
    return tuple(each for each in recompute(rows) if each.item in {Item.REPORT, Item.ATTEMPT})


OPEN = {
    "planned": (attempted("planned", dispatches=0), []),
    "in doubt": (attempted("ambiguous"), []),
    "given back": (attempted("planned"), []),
    "submitted": (attempted("submitted", "pending"), [PENDING]),
    "accepted": (attempted("submitted", "accepted"), [PENDING, ACCEPTED]),
    "the stronger word stays": (attempted("submitted", "accepted"), [ACCEPTED, PENDING]),
    "delivered": (attempted("confirmed", "delivered", is_final=True), [PENDING, DELIVERED]),
    "refused after a delivery": (attempted("confirmed", "delivered", is_final=True), [DELIVERED, REFUSED]),
    "failed": (attempted("failed", "invalid_recipient", is_final=True), [PENDING, BOUNCED]),
    "before its receipt": (attempted("submitted", "accepted", dispatches=0), [ACCEPTED]),
}
CLOSED = {
    "nothing sent": (attempted("planned", dispatches=0), []),
    "in doubt": (attempted("unknown"), []),
    "given back": (attempted("failed"), []),
    "silent": (attempted("unknown", "pending"), [PENDING]),
    "late": (attempted("unknown", "pending"), [PENDING, LATE]),
    "delivered": (attempted("confirmed", "delivered", is_final=True), [PENDING, DELIVERED]),
}


@pytest.mark.parametrize(("row", "observations"), OPEN.values(), ids=OPEN.keys())
def test_an_open_attempt_is_where_its_reports_lead(
    row: RecordedAttempt, observations: Sequence[RecordedReport]
) -> None:
    assert [each.verdict for each in replayed(row, *observations)] == ["same"] * (len(observations) + 1)


@pytest.mark.parametrize(("row", "observations"), CLOSED.values(), ids=CLOSED.keys())
def test_a_close_gives_every_attempt_a_terminal_state(
    row: RecordedAttempt, observations: Sequence[RecordedReport]
) -> None:
    found = replayed(row, *observations, has_closed=True)
    assert [each.verdict for each in found] == ["same"] * (len(observations) + 1)


def test_the_attempt_whose_acceptance_settled_the_notice_is_confirmed() -> None:
    row = attempted("confirmed", "accepted")
    assert all(each.same for each in replayed(row, ACCEPTED, has_closed=True, channel="email"))
    assert not all(each.same for each in replayed(row, ACCEPTED, has_closed=True, channel="sms"))


def test_the_workflow_s_word_counted_at_the_close() -> None:
    """It may have known of a failure that the ledger had in another order."""
    closing = decided(notice(failed(EMAIL), planned(SMS, ruled_out="no_address")), 570)
    (_, found) = replayed(attempted("failed", "pending"), PENDING, closing=closing, has_closed=True)
    assert (found.same, found.not_on_record) == (True, ("the workflow's word at the close",))


def test_a_workflow_that_knew_of_nothing_sent_leaves_the_ledger_s_word() -> None:
    closing = decided(notice(planned(EMAIL, ruled_out="suppressed"), planned(SMS, ruled_out="no")), 570)
    found = replayed(attempted("unknown", "pending"), PENDING, closing=closing, has_closed=True)
    assert all(each.same for each in found)
    assert sent(EMAIL).key == f"{KEY}:email:1"


def test_what_was_given_back_is_believed_and_said_to_be() -> None:
    (found,) = replayed(attempted("failed"), has_closed=True)
    assert found.not_on_record == ("that a dispatch was given back",)


@pytest.mark.parametrize(
    ("row", "observations", "today"),
    [
        (attempted("submitted", "accepted"), [DELIVERED], "confirmed, delivered, final"),
        (attempted("confirmed"), [], "ambiguous"),
        (attempted("submitted", dispatches=0), [], "planned"),
        (attempted("submitted", "pending"), [ACCEPTED], "submitted, accepted"),
    ],
)
def test_an_attempt_that_is_elsewhere_than_its_reports_lead_is_different(
    row: RecordedAttempt, observations: Sequence[RecordedReport], today: str
) -> None:
    found = replayed(row, *observations)[-1]
    assert (found.same, found.today) == (False, today)
    assert found.verdict.endswith("because that is where its reports on record lead")


@pytest.mark.parametrize(
    ("observations", "has_closed", "today"),
    [
        ([DELIVERED, reported("pending")], False, "pending: refused"),
        ([LATE], False, "delivered, final: applied"),
        ([LATE, reported("pending")], True, "pending: late"),
    ],
)
def test_a_report_that_did_something_else_than_today_is_different(
    observations: Sequence[RecordedReport],
    *,
    has_closed: bool,
    today: str,
) -> None:
    *reports, _ = replayed(attempted("unknown"), *observations, has_closed=has_closed)
    assert (reports[-1].same, reports[-1].today) == (False, today)


def test_a_word_that_today_s_code_does_not_know_is_told_and_passed_over() -> None:
    unknown, accepted, attempt = replayed(
        attempted("submitted", "accepted"), reported("levitating"), ACCEPTED
    )
    assert (unknown.same, unknown.today) == (False, UNREADABLE)
    assert accepted.same
    assert attempt.same
