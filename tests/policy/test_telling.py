"""Every step and rule has words, and none of them can repeat an address, a number or a link."""

import re
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.drawn import policies, progresses
from tests.policy.given import EMAIL, RESET, SMS, START, at, failed, notice, planned, sent
from workflows.policy import plan, telling
from workflows.policy.case import Case
from workflows.policy.models import NoticeRequest, Recipient
from workflows.policy.plan import Close, Horizon, LookUp, Rule, Send, Step, Wait
from workflows.policy.progress import Attempt, Progress
from workflows.policy.terms import Policy
from workflows.policy.words import AttemptState, Channel, Outcome, Phase, Status

BOTH = notice(sent(EMAIL, Status.PENDING, reads=1), planned(SMS))

STEPS: dict[str, tuple[Step, str]] = {
    "first": (Send(Rule.FIRST, EMAIL, at(105)), "may the email go out? nothing was sent yet"),
    "fallback": (
        Send(Rule.UNRESOLVED, SMS, at(600)),
        "may the text go out? the fallback deadline passed without evidence",
    ),
    "poll": (LookUp(Rule.POLL, EMAIL, at(570)), "poll 2 of 3: what became of the email?"),
    "deadline": (
        LookUp(Rule.DEADLINE_READ, EMAIL, at(570)),
        "deadline, asked once more: what became of the email?",
    ),
    "closing": (
        LookUp(Rule.CLOSING_READ, EMAIL, at(570)),
        "read once before closing: what became of the email?",
    ),
    "wait": (Wait(Rule.SILENCE, at(45), Horizon.POLL), "wait until the next poll at 12:00:45Z"),
    "held": (Wait(Rule.HELD, at(60), Horizon.CONTROL), "wait until an operator's control at 12:01:00Z"),
    "settled": (
        Close(Rule.SETTLED, Outcome.DELIVERED, EMAIL),
        "close as delivered on email: the evidence asked for is there",
    ),
    "expired": (Close(Rule.EXPIRED, Outcome.EXPIRED), "close as expired: it is no longer useful"),
}


@pytest.mark.parametrize(("step", "words"), STEPS.values(), ids=STEPS)
def test_each_step_is_told_in_one_line(step: Step, words: str) -> None:
    assert telling.upcoming(step, BOTH, RESET) == words


@pytest.mark.parametrize("rule", Rule)
def test_every_rule_has_words_of_its_own(rule: Rule) -> None:
    words = telling.because(rule)

    assert " " in words
    assert "_" not in words
    assert [each for each in Rule if telling.because(each) == words] == [rule]


@pytest.mark.parametrize("channel", Channel)
def test_every_channel_has_a_noun(channel: Channel) -> None:
    assert telling.NOUN[channel] in telling.question(Send(Rule.FIRST, channel, at(600)))


@pytest.mark.parametrize("what", Horizon)
def test_every_wait_says_what_for(what: Horizon) -> None:
    assert telling.pause(Wait(Rule.SILENCE, at(45), what)) == f"until {what} at 12:00:45Z"


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_is_named(outcome: Outcome) -> None:
    assert telling.ending(Close(Rule.EXPIRED, outcome)).startswith(f"{outcome}: ")


def test_a_dispatch_says_until_when_it_is_tried() -> None:
    assert telling.dispatch(Send(Rule.FIRST, SMS, at(600))) == "send the text, tried until 12:10:00Z"


def test_times_are_told_in_utc() -> None:
    elsewhere = datetime(2026, 3, 1, 23, 30, tzinfo=timezone(timedelta(hours=-5)))

    assert telling.clock(elsewhere) == "04:30:00Z"
    assert telling.moment(elsewhere) == "2026-03-02 04:30:00Z"


def test_the_title_names_the_kind_and_the_opaque_id() -> None:
    assert telling.title("password_reset:event-1:user%3A1") == "password_reset to user%3A1"


def table(details: str) -> list[list[str]]:
    """Read a Markdown table as GitHub's rules do; fail where it is none."""
    head, rule, *body = [line for line in details.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in (head, *body)]
    width = len(rows[0])
    assert re.fullmatch(r"\|(-{3,}\|)+", rule)
    assert rule.count("-") // 3 == width
    assert all(len(row) == width for row in rows)
    assert details.splitlines()[-len(rows) - 2] == "", "a table begins after an empty line"
    assert details.splitlines()[-1].startswith("|"), "nothing follows it"
    return rows


def test_the_details_tell_the_notice_at_a_glance() -> None:
    progress = notice(failed(EMAIL), planned(SMS, ruled_out="no_consent"))

    details = telling.details(Phase.AWAITING, Close(Rule.FAILED, Outcome.EXHAUSTED), progress, RESET)

    assert details.startswith(
        "**awaiting** · next: close as exhausted: the channel before it failed for good\n"
    )
    assert "expires 2026-03-01 12:10:00Z · settles on accepted" in details
    assert table(details) == [
        ["channel", "state", "evidence", "reads", "provider id"],
        ["email", "failed", "rejected (final)", "0", "p-1"],
        ["sms", "not sent: no_consent", "-", "0", "-"],
    ]


def test_the_details_of_what_has_closed_say_how_and_nothing_of_next() -> None:
    closed = Close(Rule.SETTLED, Outcome.DELIVERED, EMAIL)

    details = telling.details(Phase.CLOSED, closed, notice(failed(EMAIL), planned(SMS)), RESET)

    assert details.startswith("**closed** · delivered on email: the evidence asked for is there\n")


@pytest.mark.parametrize(
    ("attempt", "state"),
    [
        (planned(EMAIL), "not sent"),
        (planned(EMAIL, ruled_out="no_address"), "not sent: no_address"),
        (planned(EMAIL, not_sent=True), "not sent: provider took nothing"),
        (sent(EMAIL, state=AttemptState.AMBIGUOUS), "ambiguous"),
        (sent(EMAIL, Status.ACCEPTED), "submitted"),
    ],
)
def test_the_details_say_why_something_was_not_sent(attempt: Attempt, state: str) -> None:
    progress = notice(attempt, planned(SMS))

    [_, row, _] = table(telling.details(Phase.QUEUED, Wait(Rule.SILENCE, at(15)), progress, RESET))

    assert row[1] == state


@given(provider_id=st.text(max_size=80))
def test_no_provider_id_breaks_the_table(provider_id: str) -> None:
    progress = notice(sent(EMAIL, Status.PENDING, provider_id=provider_id), planned(SMS))

    rows = table(telling.details(Phase.AWAITING, Wait(Rule.SILENCE, at(15)), progress, RESET))

    assert len(rows) == 3


SECRETS = ["zephyrine", "+12025550182", "2025550182", "secret-link", "example.test"]
PERSONS = st.builds(
    Recipient,
    id=st.uuids().map(str),
    email=st.sampled_from(["zephyrine@example.test", None]),
    phone=st.sampled_from(["+12025550182", None]),
    sms_consent=st.booleans(),
)
REQUESTS = st.builds(
    NoticeRequest,
    kind=st.sampled_from(["password_reset", "seller_payout"]),
    event_id=st.uuids().map(str),
    recipient=PERSONS,
    fields=st.fixed_dictionaries(
        {"name": st.just("zephyrine"), "reset_url": st.just("https://example.test/secret-link")}
    ),
)


@given(data=st.data(), request=REQUESTS, policy=policies(), phase=st.sampled_from(Phase))
def test_nothing_that_is_told_repeats_who_is_written_to_or_what(
    data: st.DataObject, request: NoticeRequest, policy: Policy, phase: Phase
) -> None:
    now = START + timedelta(seconds=data.draw(st.integers(0, 4000)))
    begun = Progress.begin(request.key, policy.route, data.draw(progresses(policy)).expires_at)
    held = Case(request, policy, "digest", begun)
    for each in data.draw(progresses(policy)).attempts:
        facts = each.model_dump(exclude={"key", "channel"})
        held.amend(each.channel, **facts)
    step = plan.next(held.progress, policy, now)

    told = [
        telling.title(request.key),
        telling.upcoming(step, held.progress, policy),
        telling.details(phase, step, held.progress, policy),
        held.evidence(now).model_dump_json(),
        repr(request),
    ]

    assert not [secret for secret in SECRETS for words in told if secret in words]
    assert len(table(told[2])) == len(policy.route) + 1


@given(data=st.data(), policy=policies())
def test_every_step_of_any_notice_has_one_line_of_words(data: st.DataObject, policy: Policy) -> None:
    progress = data.draw(progresses(policy))
    step = plan.next(progress, policy, START + timedelta(seconds=data.draw(st.integers(0, 4000))))

    words = telling.upcoming(step, progress, policy)

    assert words
    assert "\n" not in words
