import io
from datetime import timedelta

import pytest
from rich.console import Console

from activities.store.carrying import Bar
from activities.store.records import AttemptRow
from client.runs import Run
from client.story import Decided, Story
from console.page import Clock, away, render
from tests.store import facts
from workflows.policy.controls import Switch
from workflows.policy.eligibility import Answer
from workflows.policy.evidence import Evidence
from workflows.policy.plan import Horizon, Rule
from workflows.policy.progress import Progress
from workflows.policy.words import AttemptState, Channel, Phase, Status

NOTE = "connection refused"


def tried(state: AttemptState, status: Status | None = None, *, dispatches: int = 1) -> AttemptRow:
    return AttemptRow(
        key=facts.EMAIL,
        notice_key=facts.KEY,
        channel=Channel.EMAIL,
        number=1,
        provider="sandbox",
        state=state,
        status=status,
        dispatches=dispatches,
        first_dispatched_at=facts.NOW,
        last_dispatched_at=facts.after(seconds=dispatches - 1),
        note=NOTE if dispatches > 1 else None,
    )


def story(row: AttemptRow) -> Story:
    return Story(key=facts.KEY, kind="password_reset", phase=Phase.QUEUED, attempts=(row,))


def page(told: Story) -> list[str]:
    out = Console(record=True, file=io.StringIO(), width=120)
    out.print(*render(told, facts.NOW), sep="\n")
    return [" ".join(line.split()) for line in out.export_text().splitlines()]


@pytest.mark.parametrize(
    ("row", "line"),
    [
        pytest.param(
            tried(AttemptState.PLANNED, dispatches=3), "email planned - 3 - sandbox", id="given back"
        ),
        pytest.param(tried(AttemptState.FAILED), "email failed - 1 - sandbox", id="given back for good"),
        pytest.param(
            tried(AttemptState.FAILED, Status.REJECTED),
            "email failed rejected 1 12:00:00Z sandbox",
            id="taken, and refused",
        ),
        pytest.param(
            tried(AttemptState.AMBIGUOUS, dispatches=2),
            "email ambiguous - 2 12:00:01Z sandbox",
            id="in doubt",
        ),
        pytest.param(
            tried(AttemptState.SUBMITTED, Status.PENDING),
            "email submitted pending 1 12:00:00Z sandbox",
            id="taken",
        ),
    ],
)
def test_only_what_may_have_left_has_a_time_of_sending(row: AttemptRow, line: str) -> None:
    told = page(story(row))
    assert "channel state word tried sent provider" in told
    assert line in told


def claimed(**changes: object) -> Run:
    evidence = Evidence(
        key=facts.KEY,
        kind="password_reset",
        phase=Phase.CLAIMED,
        channel=Channel.EMAIL,
        next_at=facts.EXPIRY,
        next_step="send the email, tried until 12:10:00Z",
    )
    return Run(evidence=evidence.model_copy(update=changes))


@pytest.mark.parametrize(
    ("row", "run", "line"),
    [
        pytest.param(
            tried(AttemptState.PLANNED, dispatches=2),
            claimed(),
            f"now send the email, tried until 12:10:00Z; so far 2 times, the last: {NOTE}",
            id="retried",
        ),
        pytest.param(
            tried(AttemptState.AMBIGUOUS),
            claimed(),
            "now send the email, tried until 12:10:00Z; so far once",
            id="on the wire",
        ),
        pytest.param(
            tried(AttemptState.SUBMITTED),
            claimed(channel=Channel.SMS, next_step="send the text, tried until 12:10:00Z"),
            "now send the text, tried until 12:10:00Z",
            id="another channel",
        ),
        pytest.param(
            tried(AttemptState.SUBMITTED),
            claimed(phase=Phase.AWAITING, next_step="poll 1 of 3", next_at=facts.NOW),
            "next 12:00:00Z (now): poll 1 of 3",
            id="nothing is being sent",
        ),
    ],
)
def test_a_send_that_is_under_way_says_how_it_went_so_far(row: AttemptRow, run: Run, line: str) -> None:
    assert line in page(story(row).continued(run))


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (Run(failure="Workflow terminated"), "its run has ended without a result: Workflow terminated"),
        (None, "the engine knows no run of it"),
    ],
)
def test_a_notice_whose_run_is_over_does_not_look_as_if_it_went_on(run: Run | None, why: str) -> None:
    told = story(tried(AttemptState.SUBMITTED)).continued(run)
    assert told.notes == (f"{why}; nothing more happens by itself",)
    lines = page(told)
    assert lines[1] == f"queued, and {why}"
    assert "next nothing" in lines


def decided(rule: Rule, action: str, **changes: object) -> Decided:
    return Decided.model_validate(
        {"number": 1, "rule": rule, "action": action, "at": facts.NOW, "answered_at": facts.NOW, **changes}
    )


def held(switch: Switch) -> Decided:
    return decided(Rule.FIRST, "send", channel=Channel.EMAIL, answer=Answer.HELD, reason=f"{switch}_off")


WAITING = claimed(
    phase=Phase.QUEUED, next_step=f"wait until {Horizon.CONTROL} at 12:00:05Z", next_at=facts.after(seconds=5)
)


@pytest.mark.parametrize("switch", [Switch.DISPATCH, Switch.FALLBACK])
@pytest.mark.parametrize(
    ("run", "line"),
    [
        (WAITING, "next 12:00:05Z (in 5 s): ask again; held by the control {}, see: standby controls"),
        (
            claimed(phase=Phase.AWAITING, next_step="poll 1 of 3", next_at=facts.NOW),
            "next 12:00:00Z (now): poll 1 of 3; held by the control {}, see: standby controls",
        ),
        (None, "next nothing"),
    ],
)
def test_what_a_control_holds_names_the_control_and_how_to_see_it(
    switch: Switch, run: Run | None, line: str
) -> None:
    told = Story(
        key=facts.KEY,
        kind="password_reset",
        phase=Phase.QUEUED,
        decisions=(held(Switch.OBSERVE), held(switch)),
    )
    assert line.format(switch) in page(told.continued(run))


def test_what_was_held_and_then_let_through_names_no_control() -> None:
    sent = decided(Rule.FIRST, "send", channel=Channel.EMAIL, answer=Answer.YES)
    told = Story(
        key=facts.KEY, kind="password_reset", phase=Phase.QUEUED, decisions=(held(Switch.DISPATCH), sent)
    )
    assert not [line for line in page(told.continued(claimed())) if "held by" in line]


@pytest.mark.parametrize(
    ("reasons", "words"),
    [
        ((Bar.OVER, Bar.OVER), "its verification is over"),
        ((Bar.SUPERSEDED, None), "email: a later message of the same verification was asked for"),
        ((Bar.FOREIGN, Bar.FOREIGN), "no verification asked for this message to this address"),
        (("suppressed: stopped", "no_consent"), "email: suppressed: stopped, sms: no consent"),
    ],
)
def test_a_notice_that_no_channel_could_be_used_for_says_why(
    reasons: tuple[str | None, ...], words: str
) -> None:
    begun = Progress.begin(facts.KEY, facts.POLICY.route, facts.EXPIRY)
    attempts = tuple(
        each.model_copy(update={"ruled_out": reason})
        for each, reason in zip(begun.attempts, reasons, strict=True)
    )
    closing = decided(Rule.NO_CHANNEL, "close", inputs=begun.model_copy(update={"attempts": attempts}))
    told = Story(key=facts.KEY, kind="password_reset", phase=Phase.CLOSED, decisions=(closing,))
    assert f"12:00:00Z close: no channel can be used ({words})" in page(told)


@pytest.mark.parametrize(
    ("distance", "words"),
    [
        (timedelta(), "now"),
        (timedelta(seconds=12.9), "in 12 s"),
        (timedelta(seconds=-119), "119 s ago"),
        (timedelta(minutes=-2), "2 min ago"),
        (timedelta(hours=3), "in 3 h"),
        (timedelta(days=-40), "40 days ago"),
    ],
)
def test_a_distance_is_told_in_one_unit(distance: timedelta, words: str) -> None:
    assert away(distance) == words


def test_an_instant_of_another_day_has_its_date() -> None:
    clock = Clock(facts.NOW)
    assert clock.at(facts.NOW) == "12:00:00Z"
    assert clock.at(facts.after(hours=12)) == "2026-03-02 00:00:00Z"
