from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.challenge import Seed, derive, digests, result_digest
from activities.keyring import Keyring
from activities.providers.base import Reported
from activities.store.database import reading
from activities.store.ledger import Ledger
from activities.store.schema import metadata
from tests.store.challenge_facts import ID, challenge, opened
from tests.store.facts import DIGEST, EMAIL_HASH, EXPIRY, KEY, NOW, POLICY, REQUEST, SMS, admit, claim, report
from workflows.calls import Decision
from workflows.policy.controls import Control, Switch
from workflows.policy.models import Result
from workflows.policy.plan import Rule
from workflows.policy.progress import Progress
from workflows.policy.words import Channel, Outcome, Status, SuppressionReason

RING = Keyring.plaintext()
MADE = derive(RING, Seed(None, "5" * 64), digits=8)
MARKS = ("anna", "example.test", "4915112345678", "secret-link", MADE.link, MADE.code, MADE.result)
PERSONAL = (
    *("address", "email", "phone", "name", "url", "link", "body", "subject", "fields"),
    *("code", "token", "nonce", "secret", "result", "report"),
)
KEPT = {
    "attempts.address_hash": "a keyed hash",
    "suppressions.address_hash": "a keyed hash",
    "deliveries.email_hash": "a keyed hash",
    "deliveries.phone_hash": "a keyed hash",
    "challenges.link_digest": "a keyed digest of 256 bits",
    "challenges.code_digest": "a keyed digest, of no use to anybody without the key",
    "challenges.result_digest": "a keyed digest of 256 bits",
    "challenges.nonce": "random: what is derived from it takes a key that is not on record",
    "challenges.code_digits": "a number from 6 to 8",
    "challenges.wrong_codes": "a number up to 5",
    "observations.code": "a provider's error code, cleaned",
    "strays.report": "classified words of a provider, cleaned as an observation's are",
    "tokens.token": "a digest of random text that a provider has signed",
    "tokens.body_digest": "a digest of what a provider sent, good for comparing only",
    "controls.name": "the name of a control",
    "control_changes.name": "the name of a control",
}
"""Columns that sound as if they held something, and why they do not."""


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
    await ledger.controls.put(Switch.DISPATCH, Control(on=False), by="ops", why="incident", at=NOW)


async def verify(ledger: Ledger) -> None:
    """See a challenge through its tables, as well as what may be called back about it."""
    kept = digests(RING, ID, MADE)
    new = challenge().model_copy(
        update={
            "key_id": RING.current,
            "nonce": "5" * 64,
            "code_digits": 8,
            "link_digest": kept.link,
            "code_digest": kept.code,
            "result_digest": result_digest(RING, MADE.result),
        }
    )
    await opened(ledger, new)
    trial = await ledger.challenges.consume(ID, kept, "try-1", at=NOW)
    assert trial is not None
    assert trial.consumed
    told = Reported(Status.REJECTED, is_final=True, raw="550 anna@example.test +4915112345678")
    await ledger.strays.put("sandbox", told, provider_id="id-9", event_id="event-9", at=NOW)
    await ledger.tokens.take("mailgun", MADE.link, kept.link or "", at=NOW)


async def test_no_row_holds_an_address_a_number_or_a_link(engine: AsyncEngine, ledger: Ledger) -> None:
    await live(ledger)
    await verify(ledger)
    async with reading(engine) as connection:
        rows = {
            table.name: (await connection.execute(select(table))).all() for table in metadata.sorted_tables
        }

    # Who changes a control besides writes its history is the board's to know.
    assert [name for name, found in rows.items() if not found and name != "control_changes"] == []
    assert [mark for mark in MARKS if mark in repr(rows)] == []


def test_no_column_is_there_to_hold_one() -> None:
    columns = {f"{table.name}.{column.name}" for table in metadata.sorted_tables for column in table.columns}

    assert {name for name in columns if any(word in name.split(".")[1] for word in PERSONAL)} == set(KEPT)
