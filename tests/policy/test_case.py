"""One notice in hand: each report counts once, and nothing that has ended moves again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.given import EMAIL, KEY, RESET, SMS, at, failed, notice, planned, seen, sent
from workflows.policy.case import Case
from workflows.policy.models import NoticeRequest, Recipient
from workflows.policy.plan import Close, Rule
from workflows.policy.progress import Attempt
from workflows.policy.state import TERMINAL
from workflows.policy.terms import Policy
from workflows.policy.words import AttemptState, Channel, Outcome, Status, Verdict

REQUEST = NoticeRequest(kind="password_reset", event_id="event-1", recipient=Recipient(id="ana"))
END = Close(Rule.CUTOFF, Outcome.UNKNOWN)


def case(*attempts: Attempt, policy: Policy = RESET, **facts: object) -> Case:
    """Return a notice that was admitted at the start."""
    return Case(REQUEST, policy, "digest", notice(*attempts, policy=policy, **facts))


def email(found: Case) -> Attempt:
    return found.progress.on(EMAIL)


def test_a_report_moves_its_attempt() -> None:
    held = case(sent(EMAIL), planned(SMS))
    report = seen(Status.ACCEPTED)

    heard = held.learn(report)

    assert heard is not None
    assert (heard.seen, heard.channel, heard.did.verdict) == (report, EMAIL, Verdict.APPLIED)
    assert (email(held).state, email(held).status) == (AttemptState.SUBMITTED, Status.ACCEPTED)


def test_the_same_report_counts_once() -> None:
    held = case(sent(EMAIL), planned(SMS))
    held.learn(seen(Status.ACCEPTED))
    before = held.progress

    assert held.learn(seen(Status.DELIVERED)) is None, "one event id is one report"
    assert held.progress == before


def test_two_attempts_may_share_an_event_id() -> None:
    held = case(sent(EMAIL), sent(SMS))

    assert held.learn(seen(Status.ACCEPTED, event_id="send")) is not None
    assert held.learn(seen(Status.ACCEPTED, event_id="send", channel=SMS)) is not None


@pytest.mark.parametrize("key", [f"{KEY}:email:2", "password_reset:event-2:ana:email:1"])
def test_a_report_about_another_attempt_or_notice_is_ignored(key: str) -> None:
    held = case(sent(EMAIL), planned(SMS))
    before = held.progress

    assert held.learn(seen(Status.DELIVERED).model_copy(update={"attempt_key": key})) is None
    assert held.progress == before


def test_a_refused_report_is_heard_and_moves_nothing() -> None:
    held = case(failed(EMAIL), planned(SMS))
    before = held.progress

    heard = held.learn(seen(Status.DELIVERED))

    assert heard is not None
    assert heard.did.verdict is Verdict.REFUSED
    assert heard.did.reason
    assert held.progress == before


def test_a_report_may_come_before_the_receipt() -> None:
    held = case()

    held.learn(seen(Status.ACCEPTED, seconds=3))

    assert (email(held).state, email(held).since) == (AttemptState.SUBMITTED, at(3))


def test_a_report_after_the_close_is_late_and_moves_nothing() -> None:
    held = case(sent(EMAIL), planned(SMS))
    held.close(END, at(570))
    before = held.progress

    heard = held.learn(seen(Status.DELIVERED, is_final=True))

    assert heard is not None
    assert (heard.did.verdict, heard.did.state) == (Verdict.LATE, AttemptState.UNKNOWN)
    assert heard.did.reason == "the notice had closed"
    assert held.progress == before
    assert held.learn(seen(Status.DELIVERED, is_final=True)) is None, "late ones count once too"


def test_callbacks_wait_for_the_ledger_in_the_order_of_their_coming() -> None:
    held = case(sent(EMAIL), planned(SMS))
    reports = [seen(Status.PENDING, event_id="1"), seen(Status.ACCEPTED, event_id="2")]

    for report in [*reports, *reports]:
        held.hear(report)

    assert [each.seen for each in held.unfiled()] == reports
    assert held.unfiled() == ()


def test_what_an_activity_has_put_on_record_is_not_filed_again() -> None:
    held = case(sent(EMAIL), planned(SMS))
    held.learn(seen(Status.ACCEPTED))
    held.hear(seen(Status.ACCEPTED))

    assert held.unfiled() == ()


@given(st.data())
def test_the_order_and_the_number_of_repetitions_never_move_what_has_ended(data: st.DataObject) -> None:
    reports = data.draw(
        st.lists(
            st.builds(
                seen,
                st.sampled_from(Status),
                is_final=st.booleans(),
                channel=st.sampled_from([EMAIL, SMS]),
                event_id=st.sampled_from(["1", "2", "3", "4"]),
            ),
            max_size=12,
        )
    )
    held, ended = case(), dict[Channel, AttemptState]()
    for report in reports:
        held.hear(report)
        for each in held.progress.attempts:
            assert ended.get(each.channel) in {None, each.state}
            if each.state in TERMINAL:
                ended[each.channel] = each.state

    heard = held.unfiled()
    names = [(each.seen.attempt_key, each.seen.event_id) for each in heard]
    assert len(names) == len(set(names)) == len({(each.attempt_key, each.event_id) for each in reports})


def test_a_dispatch_whose_result_never_came_is_in_doubt() -> None:
    held = case()

    held.doubt(EMAIL, at(5))

    assert (email(held).state, email(held).since) == (AttemptState.AMBIGUOUS, at(5))


@pytest.mark.parametrize("state", [each for each in AttemptState if each is not AttemptState.PLANNED])
def test_a_report_that_did_come_knows_better_than_the_doubt(state: AttemptState) -> None:
    held = case(sent(EMAIL, Status.PENDING, state=state), planned(SMS))
    before = held.progress

    held.doubt(EMAIL, at(5))

    assert held.progress == before


def test_what_the_ledger_has_no_claim_of_may_be_sent_again() -> None:
    held = case()
    held.doubt(EMAIL, at(5))

    held.clear(EMAIL)

    assert (email(held).state, email(held).since, email(held).not_sent) == (AttemptState.PLANNED, None, True)
    assert email(held).is_spare


@pytest.mark.parametrize("state", [each for each in AttemptState if each is not AttemptState.AMBIGUOUS])
def test_only_a_doubt_can_be_cleared(state: AttemptState) -> None:
    held = case(sent(EMAIL, Status.PENDING, state=state), planned(SMS))
    before = held.progress

    held.clear(EMAIL)

    assert held.progress == before
