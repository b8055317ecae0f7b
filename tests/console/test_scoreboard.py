from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from typing import cast

import pytest
from rich.console import Console

from client.starting import Handle
from console.fates import BY_TEXT, CASES
from console.scoreboard import Row, board, verdicts
from workflows.policy.models import Result
from workflows.policy.words import Channel, Outcome

NOW = datetime(2026, 11, 30, tzinfo=UTC)
BOUNCED = next(case for case in CASES if case.ends == BY_TEXT)


def ended(outcome: Outcome, channel: Channel | None, emails: int, texts: int) -> Row:
    result = Result(key="a:b:c", outcome=outcome, channel=channel, rule="settled", closed_at=NOW)
    nobody = cast("Handle", None)
    return Row(BOUNCED, "a:b:c", nobody, 0.0, result=result, took=1.25, emails=emails, texts=texts)


def test_a_notice_that_ended_as_documented_is_no_news() -> None:
    assert verdicts([ended(Outcome.DELIVERED, Channel.SMS, 1, 1)]) == []


@pytest.mark.parametrize(
    "row",
    [
        ended(Outcome.ACCEPTED, Channel.SMS, 1, 1),
        ended(Outcome.DELIVERED, Channel.EMAIL, 1, 1),
        ended(Outcome.DELIVERED, Channel.SMS, 2, 1),
        ended(Outcome.DELIVERED, Channel.SMS, 1, 2),
    ],
)
def test_any_difference_is_told_with_what_was_expected(row: Row) -> None:
    (line,) = verdicts([row])

    assert line.startswith("a:b:c: expected delivered on sms, 1 emails, 1 texts; got ")


def test_a_notice_that_is_still_open_is_told_with_where_it_is() -> None:
    row = replace(ended(Outcome.DELIVERED, Channel.SMS, 1, 1), result=None, now="awaiting sms")

    (line,) = verdicts([row])
    assert line.endswith("it is still open: awaiting sms")


def test_the_demonstration_shows_every_outcome_but_the_refusal_and_both_channels() -> None:
    assert {case.ends.outcome for case in CASES} == set(Outcome) - {Outcome.REFUSED}
    assert {case.ends.channel for case in CASES} == {*Channel, None}
    assert len({case.title for case in CASES}) == len(CASES)


def test_the_table_fits_a_terminal_of_eighty_columns() -> None:
    out = Console(width=80, file=(written := StringIO()))
    rows = [replace(ended(Outcome.WITHDRAWN, Channel.EMAIL, 1, 1), case=case, took=26.5) for case in CASES]
    out.print(board(rows))

    lines = [line for line in written.getvalue().splitlines() if line.strip()]
    assert len(lines) == len(CASES) + 1
