import asyncio

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store.database import writing
from activities.store.decisions import Answered
from activities.store.errors import StoreError
from activities.store.ledger import Ledger
from activities.store.records import DecisionRow
from tests.store.facts import DIGEST, EXPIRY, KEY, NOW, POLICY, admit, after
from workflows.calls import Decision
from workflows.policy.plan import Rule
from workflows.policy.progress import Progress
from workflows.policy.words import Channel

PROGRESS = Progress.begin(KEY, POLICY.route, EXPIRY)


def decision(number: int = 1, rule: Rule = Rule.FIRST) -> Decision:
    return Decision(
        number=number,
        rule=rule,
        action="send",
        channel=Channel.EMAIL,
        at=NOW,
        progress=PROGRESS,
        policy_digest=DIGEST,
    )


async def recorded(ledger: Ledger) -> tuple[DecisionRow, ...]:
    story = await ledger.story(KEY)
    assert story is not None
    return story.decisions


async def test_a_decision_comes_back_with_all_that_it_was_made_from(ledger: Ledger) -> None:
    await admit(ledger)
    await ledger.decisions.put("run-1", decision(), answer="no", reason="no_consent", at=after(seconds=1))

    assert await recorded(ledger) == (
        DecisionRow(
            run="run-1",
            number=1,
            rule=Rule.FIRST,
            action="send",
            channel=Channel.EMAIL,
            at=NOW,
            inputs=PROGRESS,
            answer="no",
            reason="no_consent",
            answered_at=after(seconds=1),
            policy_digest=DIGEST,
        ),
    )


async def test_the_first_answer_stays_and_every_caller_is_told_it(ledger: Ledger) -> None:
    await admit(ledger)

    put: list[Answered] = await asyncio.gather(
        *[
            ledger.decisions.put("run-1", decision(), answer=f"answer-{each}", reason=None, at=NOW)
            for each in range(5)
        ]
    )

    [kept] = await recorded(ledger)
    assert {each.answer for each in put} == {kept.answer}


async def test_a_reset_run_counts_its_decisions_anew(ledger: Ledger) -> None:
    await admit(ledger)
    await ledger.decisions.put("run-1", decision(), answer="yes", reason=None, at=NOW)
    await ledger.decisions.put("run-2", decision(), answer="no", reason="suppressed", at=after(minutes=1))
    await ledger.decisions.put("run-2", decision(2), answer="yes", reason=None, at=after(minutes=2))

    assert [(each.run, each.number, each.answer) for each in await recorded(ledger)] == [
        ("run-1", 1, "yes"),
        ("run-2", 1, "no"),
        ("run-2", 2, "yes"),
    ]


@pytest.mark.parametrize("change", ["UPDATE decisions SET answer = 'yes'", "DELETE FROM decisions"])
async def test_the_database_refuses_to_change_a_decision(
    engine: AsyncEngine, ledger: Ledger, change: str
) -> None:
    await admit(ledger)
    await ledger.decisions.put("run-1", decision(), answer="no", reason=None, at=NOW)

    with pytest.raises(StoreError, match="refused a statement"):
        async with writing(engine) as connection:
            await connection.execute(text(change))

    assert [each.answer for each in await recorded(ledger)] == ["no"]
