"""What next: the product's own tables as rows, and a row for every rule.

Times are seconds from the submission of the first channel; see `given` for the deadlines of each policy.
"""

from dataclasses import replace

import pytest

from tests.policy.given import EMAIL, SMS, at, seen
from tests.policy.product_rows import FIRST_TABLE, SECOND_TABLE, THIRD_TABLE
from tests.policy.rows import Row
from tests.policy.rule_rows import RULES
from workflows.policy import plan
from workflows.policy.hygiene import suppression
from workflows.policy.plan import Rule, Wait
from workflows.policy.words import Status, SuppressionReason

ROWS = FIRST_TABLE | SECOND_TABLE | THIRD_TABLE | RULES


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_the_plan(row: Row) -> None:
    assert plan.next(row.progress, row.policy, at(row.now)) == row.step


def test_every_rule_has_a_row() -> None:
    assert {row.step.rule for row in ROWS.values()} == set(Rule)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        pytest.param(
            Status.INVALID_RECIPIENT,
            SuppressionReason.INVALID_RECIPIENT,
            id="invalid recipient: suppress that email",
        ),
        pytest.param(Status.PENDING, None, id="deadline reached unresolved: suppress nobody"),
        pytest.param(Status.TEMPORARY_FAILURE, None, id="nor for a temporary failure"),
    ],
)
def test_what_the_tables_say_of_suppression(status: Status, reason: SuppressionReason | None) -> None:
    assert suppression(seen(status, is_final=True), EMAIL) is reason


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_the_order_of_the_route_is_the_policys_choice(row: Row) -> None:
    """What holds from email to text holds from text to email."""
    turned = {EMAIL: SMS, SMS: EMAIL}
    attempts = tuple(
        each.model_copy(update={"channel": turned[each.channel]}) for each in row.progress.attempts
    )
    policy = row.policy.model_copy(
        update={
            "route": tuple(turned[each] for each in row.policy.route),
            "email": row.policy.sms,
            "sms": row.policy.email,
        },
    )
    step = plan.next(row.progress.model_copy(update={"attempts": attempts}), policy, at(row.now))
    expected = row.step
    if not isinstance(expected, Wait) and expected.channel is not None:
        expected = replace(expected, channel=turned[expected.channel])
    assert step == expected
