"""What is asked while somebody waits goes by an index: PostgreSQL says so, with thousands of rows."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store.database import new_engine, reading, writing
from activities.store.ledger import Ledger
from tests.store.challenge_facts import asked, challenge, code, digest, elsewhere, opened
from tests.store.conftest import Server
from tests.store.facts import NOW, after, report
from workflows.policy.keys import attempt_digest
from workflows.policy.words import ChallengeState, Source, Status

Statement = tuple[str, Any]

_FILL = (
    "INSERT INTO policies (digest, terms) VALUES ('d', '{}')",
    """INSERT INTO challenges (id, account_id, purpose, kind, method, chain, nonce, code_digits, wrong_codes,
    link_digest, code_digest, result_digest, state, wrong, created_at, expires_at)
    SELECT 'filler-' || n, 'account-' || n, 'signup', 'k', 'both', 'c', 'n', 6, 5,
    lpad(CAST(n AS text), 64, 'l'), lpad(CAST(n AS text), 64, 'c'), lpad(CAST(n AS text), 64, 'r'),
    'active', 0, '2026-03-01T11:59:00Z', '2026-03-01T13:00:00Z'
    FROM generate_series(1, 5000) AS n""",
    """INSERT INTO deliveries (event_id, challenge_id, notice_key, number, asked_id, is_automatic,
    account_id, email_hash, phone_hash, asked_at)
    SELECT 'filler-' || n, 'filler-' || n, 'k:filler-' || n || ':u', 1, '', FALSE, 'account-' || n,
    lpad(CAST(n AS text), 64, 'e'), lpad(CAST(n AS text), 64, 'p'), '2026-03-01T11:59:00Z'
    FROM generate_series(1, 5000) AS n""",
    """INSERT INTO tries (challenge_id, attempt_id, consumed, at)
    SELECT 'filler-' || n, 't', FALSE, '2026-03-01T11:59:00Z' FROM generate_series(1, 5000) AS n""",
    """INSERT INTO notices (key, kind, event_id, recipient_id, chain, policy_digest, route, phase, expires_at,
    reads, created_at, version)
    SELECT 'k:filler-' || n || ':u', 'k', 'e', 'u', 'c', 'd', '[]', 'claimed', '2026-03-01T13:00:00Z', 0,
    '2026-03-01T11:59:00Z', 0 FROM generate_series(1, 5000) AS n""",
    """INSERT INTO attempts (key, notice_key, channel, number, provider, provider_id, state, is_final,
    dispatches, version, digest)
    SELECT 'k:filler-' || n || ':u:sms:1', 'k:filler-' || n || ':u', 'sms', 1, 'sandbox', 'p-' || n,
    'ambiguous', FALSE, 1, 0, lpad(CAST(n AS text), 64, 'a') FROM generate_series(1, 5000) AS n""",
    """INSERT INTO observations (attempt_key, event_id, source, status, is_final, raw, at, verdict, reason)
    SELECT 'k:filler-' || n || ':u:sms:1', 'e', 'poll', 'pending', FALSE, '', '2026-03-01T11:59:00Z',
    'applied', '' FROM generate_series(1, 5000) AS n""",
    """INSERT INTO strays (provider, event_id, provider_id, report, received_at, seen)
    SELECT 'sandbox', 'e-' || n, 's-' || n, '{}', '2026-03-01T11:59:00Z', 1
    FROM generate_series(1, 5000) AS n""",
    """INSERT INTO tokens (provider, token, body_digest, taken_at)
    SELECT 'mailgun', 't-' || n, 'b', '2026-03-01T11:59:00Z' FROM generate_series(1, 5000) AS n""",
    "ANALYZE",
)


@pytest.fixture
async def engine(databases_of_postgres: Server) -> AsyncIterator[AsyncEngine]:
    engine = new_engine(await databases_of_postgres.migrated())
    async with writing(engine) as connection:
        for statement in _FILL:
            await connection.exec_driver_sql(statement)
    yield engine
    await engine.dispose()


@contextmanager
def recorded(engine: AsyncEngine) -> Iterator[list[Statement]]:
    """Write down every statement with its values."""
    statements: list[Statement] = []

    def note(_connection: object, _cursor: object, statement: str, values: Any, *_: object) -> None:  # noqa: ANN401 - the driver's
        statements.append((statement, values))

    event.listen(engine.sync_engine, "before_cursor_execute", note)
    yield statements
    event.remove(engine.sync_engine, "before_cursor_execute", note)


async def scans(engine: AsyncEngine, statements: list[Statement]) -> list[str]:
    """Return the statements that PostgreSQL would read a whole table for."""
    slow = []
    async with reading(engine) as connection:
        for statement, values in statements:
            if "pg_advisory_xact_lock" in statement:
                continue
            found = await connection.exec_driver_sql(f"EXPLAIN {statement}", values)
            plan = "\n".join(row[0] for row in found)
            if "Seq Scan" in plan:
                slow.append(f"{statement}\n{plan}")
    return slow


async def test_nothing_that_somebody_waits_for_reads_a_whole_table(
    engine: AsyncEngine, ledger: Ledger
) -> None:
    attempt = "k:filler-9:u:sms:1"
    with recorded(engine) as statements:
        await opened(ledger, challenge("filler-7"))
        await opened(ledger, to=elsewhere("e"))
        await asked(ledger)
        await ledger.challenges.consume("filler-8", code(), "try-1", at=NOW)
        await ledger.challenges.end("filler-8", ChallengeState.EXPIRED, at=NOW)
        await ledger.challenges.by_link(digest("link"))
        await ledger.challenges.by_result(digest("result"))
        await ledger.challenges.of_message("filler-8")
        await ledger.challenge_story("filler-8")
        await ledger.attempts.whose("sandbox", digest=attempt_digest("none"), provider_id="p-8")
        await ledger.evidence.known(attempt, "event-1")
        seen = report(Status.PENDING, key=attempt, source=Source.SEND, provider_id="s-9")
        await ledger.strays.put("sandbox", seen, provider_id="s-0", event_id="s-0", at=NOW)
        await ledger.tokens.take("mailgun", "token", digest("body"), at=NOW)
        await ledger.tokens.take("mailgun", "token", digest("body"), at=after(minutes=1))

    assert len(statements) > 25
    assert await scans(engine, statements) == []


async def test_adopting_and_clearing_away_read_no_whole_table(engine: AsyncEngine, ledger: Ledger) -> None:
    attempt = "k:filler-9:u:sms:1"
    seen = report(Status.PENDING, key=attempt, source=Source.SEND, provider_id="fresh")
    await ledger.strays.put("sandbox", seen, provider_id="fresh", event_id="fresh", at=NOW)
    with recorded(engine) as statements:
        await ledger.evidence.observe(seen, at=NOW)
        await ledger.strays.put("sandbox", seen, provider_id=None, event_id="later", at=after(days=8))
        await ledger.tokens.take("mailgun", "later", digest("body"), at=after(days=8))

    assert any(statement.startswith("DELETE FROM strays") for statement, _ in statements)
    assert any(statement.startswith("DELETE FROM tokens") for statement, _ in statements)
    assert await scans(engine, statements) == []
