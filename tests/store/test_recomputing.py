"""A notice's rows, read without checking a word of them."""

from datetime import datetime

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store.database import writing
from activities.store.ledger import Ledger
from activities.store.recomputing import Records
from tests.store import facts
from workflows import calls
from workflows.policy import policy_file
from workflows.policy.compared import Item
from workflows.policy.controls import Control, Switch
from workflows.policy.models import Result
from workflows.policy.progress import Progress
from workflows.policy.recomputing import recompute
from workflows.policy.recorded import Record
from workflows.policy.steps import Rule
from workflows.policy.words import Channel, Outcome, Source, Status, SuppressionReason

DIGEST = policy_file.digest(facts.POLICY)
ANOTHER = "password_reset:another:user-2"


async def decide(ledger: Ledger, *, rule: Rule = Rule.FIRST, answer: str | None = "yes") -> None:
    progress = Progress.begin(facts.KEY, facts.POLICY.route, facts.EXPIRY)
    decision = calls.Decision(
        number=1,
        rule=rule,
        action="send",
        channel=Channel.EMAIL,
        at=facts.NOW,
        progress=progress,
        policy_digest=DIGEST,
    )
    await ledger.decisions.put("run-1", decision, answer=answer, reason=None, at=facts.NOW)


async def live(ledger: Ledger) -> None:
    """Let a notice be sent, and bounce."""
    await facts.admit(ledger, digest=DIGEST)
    await decide(ledger)
    await facts.claim(ledger)
    bounced = facts.report(Status.INVALID_RECIPIENT, source=Source.SEND, is_final=True)
    await ledger.evidence.observe(bounced, at=facts.NOW)


async def read(engine: AsyncEngine) -> Record:
    record = await Records(engine).of(facts.KEY)
    assert record is not None
    return record


async def test_a_notice_that_is_not_on_record_has_no_rows(engine: AsyncEngine) -> None:
    assert await Records(engine).of(facts.KEY) is None


async def test_all_rows_of_a_notice_come_back_and_are_the_same_again(
    engine: AsyncEngine, ledger: Ledger
) -> None:
    await live(ledger)
    record = await read(engine)
    assert (record.notice.key, [*record.policies]) == (facts.KEY, [DIGEST])
    assert [(each.state, each.has_address) for each in record.attempts] == [("failed", True)]
    assert [(each.status, each.verdict) for each in record.observations] == [("invalid_recipient", "applied")]
    assert [each.reason for each in record.suppressions] == ["invalid_recipient"]
    assert [each.item for each in recompute(record)] == [
        *(Item.DECISION, Item.CHECK),
        *(Item.REPORT, Item.ATTEMPT),
    ]
    assert [each.because for each in recompute(record) if not each.same] == []


async def test_no_hash_of_an_address_is_read(engine: AsyncEngine, ledger: Ledger) -> None:
    await live(ledger)
    assert facts.EMAIL_HASH not in (await read(engine)).model_dump_json()


async def test_a_word_that_nobody_knows_any_more_is_read_as_it_is(
    engine: AsyncEngine, ledger: Ledger
) -> None:
    await live(ledger)
    async with writing(engine) as connection:
        await connection.execute(text("UPDATE attempts SET state = 'levitating'"))
        await connection.execute(text("UPDATE notices SET phase = 'limbo'"))
    record = await read(engine)
    assert (record.notice.phase, record.attempts[0].state) == ("limbo", "levitating")


@pytest.mark.parametrize(
    ("address_hash", "source", "counts"),
    [
        (facts.EMAIL_HASH, ANOTHER, True),
        (facts.SMS_HASH, facts.KEY, True),
        (facts.SMS_HASH, ANOTHER, False),
    ],
)
async def test_suppressions_count_that_are_of_its_addresses_or_came_of_it(
    engine: AsyncEngine, ledger: Ledger, address_hash: str, source: str, *, counts: bool
) -> None:
    await facts.admit(ledger, digest=DIGEST)
    await facts.claim(ledger)
    channel = Channel.EMAIL if address_hash == facts.EMAIL_HASH else Channel.SMS
    await ledger.suppressions.put(
        address_hash, channel, SuppressionReason.COMPLAINT, source_notice=source, observed_at=facts.NOW
    )
    assert bool((await read(engine)).suppressions) is counts


@pytest.mark.parametrize(
    ("switch", "changed_at", "counts"),
    [
        (Switch.DISPATCH, facts.NOW, True),
        (Switch.FALLBACK, facts.NOW, True),
        (Switch.RESEND, facts.NOW, False),
        (Switch.DISPATCH, facts.after(minutes=5), False),
    ],
)
async def test_settings_count_that_a_check_may_have_met(
    engine: AsyncEngine, ledger: Ledger, switch: Switch, changed_at: datetime, *, counts: bool
) -> None:
    await facts.admit(ledger, digest=DIGEST)
    result = Result(key=facts.KEY, outcome=Outcome.EXPIRED, rule="expired", closed_at=facts.after(minutes=4))
    await ledger.notices.close(result, (), at=result.closed_at)
    await ledger.controls.put(switch, Control(on=False), by="ops", why="a test", at=changed_at)
    assert bool((await read(engine)).controls) is counts


async def test_a_decision_of_other_code_is_found_different(engine: AsyncEngine, ledger: Ledger) -> None:
    await facts.admit(ledger, digest=DIGEST)
    await decide(ledger, rule=Rule.FAILED, answer=None)
    assert [each.same for each in recompute(await read(engine))] == [False]


async def test_the_revision_of_the_tables_is_known(engine: AsyncEngine) -> None:
    assert (await Records(engine).schema()).isdigit()
