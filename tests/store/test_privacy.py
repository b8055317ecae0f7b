from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store.database import reading
from activities.store.ledger import Ledger
from activities.store.tables import metadata
from tests.store.facts import DIGEST, EMAIL_HASH, EXPIRY, KEY, NOW, POLICY, REQUEST, SMS, admit, claim, report
from workflows.calls import Decision
from workflows.policy.models import Result
from workflows.policy.plan import Rule
from workflows.policy.progress import Progress
from workflows.policy.words import Channel, Outcome, Status, SuppressionReason

MARKS = ("anna", "example.test", "4915112345678", "secret-link")
PERSONAL = ("address", "email", "phone", "name", "url", "link", "body", "subject", "fields")


async def live(ledger: Ledger) -> None:
    """See a notice with marked personal data through every table."""
    await admit(ledger)
    progress = Progress.begin(KEY, POLICY.route, EXPIRY, REQUEST.fallback_at)
    decision = Decision(
        number=1, rule=Rule.FIRST, action="send", at=NOW, progress=progress, policy_digest=DIGEST
    )
    await ledger.decisions.put("run-1", decision, answer="yes", reason=None, at=NOW)
    await claim(ledger)
    await ledger.evidence.observe(report(Status.INVALID_RECIPIENT, is_final=True), at=NOW)
    await ledger.suppressions.put(
        EMAIL_HASH,
        Channel.EMAIL,
        SuppressionReason.INVALID_RECIPIENT,
        source_notice=KEY,
        observed_at=NOW,
    )
    await claim(ledger, SMS)
    closed = Result(key=KEY, outcome=Outcome.UNKNOWN, rule="cutoff", closed_at=NOW)
    await ledger.notices.close(closed, progress.attempts, at=NOW)


async def test_no_row_holds_an_address_a_number_or_a_link(engine: AsyncEngine, ledger: Ledger) -> None:
    await live(ledger)
    async with reading(engine) as connection:
        rows = {
            table.name: (await connection.execute(select(table))).all() for table in metadata.sorted_tables
        }

    assert all(found or name == "controls" for name, found in rows.items())
    assert [mark for mark in MARKS if mark in repr(rows)] == []


def test_no_column_is_there_to_hold_one() -> None:
    columns = {f"{table.name}.{column.name}" for table in metadata.sorted_tables for column in table.columns}
    kept = {"attempts.address_hash", "suppressions.address_hash", "controls.name"}

    assert {name for name in columns - kept if any(word in name.split(".")[1] for word in PERSONAL)} == set()
