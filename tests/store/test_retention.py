"""Evidence goes when it is old; what says that a key was used never does."""

import asyncio
from datetime import datetime

import pytest
from sqlalchemy import Table, delete, func, select, text
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store import challenge_tables, retention, tables
from activities.store.attempts import Closed
from activities.store.challenges import Duplicate
from activities.store.database import reading, writing
from activities.store.errors import StoreError
from activities.store.ledger import Ledger
from activities.store.notices import Admitted
from activities.store.retention import Pruned
from tests.store.challenge_facts import ID, asked, challenge, elsewhere, link, opened, wrong
from tests.store.facts import DIGEST, EMAIL, EXPIRY, KEY, NOW, POLICY, admit, after, claim, report
from workflows.calls import Decision
from workflows.policy.models import Result
from workflows.policy.plan import Rule
from workflows.policy.progress import Progress
from workflows.policy.words import ChallengeState, Channel, Outcome, Status

LATER = after(days=90)
NOTHING = Pruned(0, 0)


async def closed(ledger: Ledger, at: datetime = NOW) -> None:
    """Leave a notice with an email that was delivered."""
    await admit(ledger)
    await claim(ledger)
    decision = Decision(
        number=1,
        rule=Rule.FIRST,
        action="send",
        channel=Channel.EMAIL,
        at=NOW,
        progress=Progress.begin(KEY, POLICY.route, EXPIRY),
        policy_digest=DIGEST,
    )
    await ledger.decisions.put("run-1", decision, answer=None, reason=None, at=NOW)
    await ledger.evidence.observe(report(Status.DELIVERED, is_final=True), at=NOW)
    result = Result(
        key=KEY, outcome=Outcome.DELIVERED, channel=Channel.EMAIL, rule=Rule.SETTLED, closed_at=at
    )
    await ledger.notices.close(result, (), at=at)


async def counted(engine: AsyncEngine) -> dict[str, int]:
    kept = (*(tables.attempts, tables.observations, tables.decisions), *_OF_CHALLENGES)
    async with reading(engine) as connection:
        return {
            each.name: (await connection.execute(select(func.count()).select_from(each))).scalar_one()
            for each in kept
        }


_OF_CHALLENGES = (challenge_tables.deliveries, challenge_tables.tries)
EMPTY = dict.fromkeys(("attempts", "observations", "decisions", "deliveries", "tries"), 0)


async def test_the_evidence_of_a_notice_goes_and_its_outcome_stays(
    ledger: Ledger, engine: AsyncEngine
) -> None:
    await closed(ledger)

    assert await ledger.retention.prune(after(seconds=1), at=LATER) == Pruned(1, 0)
    assert await ledger.retention.prune(after(seconds=1), at=LATER) == NOTHING

    story = await ledger.story(KEY)
    assert story is not None
    assert (story.outcome, story.notice.pruned_at, story.attempts) == (Outcome.DELIVERED, LATER, ())
    assert await counted(engine) == EMPTY


@pytest.mark.parametrize("table", [tables.observations, tables.decisions], ids=str)
async def test_the_database_lets_no_evidence_go_that_was_not_pruned(
    ledger: Ledger, engine: AsyncEngine, table: Table
) -> None:
    await closed(ledger)
    before = await counted(engine)

    with pytest.raises(StoreError, match="refused a statement"):
        async with writing(engine) as connection:
            await connection.execute(delete(table))

    assert await counted(engine) == before


async def test_a_key_stays_used_and_nothing_is_sent_for_it(ledger: Ledger) -> None:
    await closed(ledger)
    await ledger.retention.prune(LATER, at=LATER)

    assert await admit(ledger, chain="another-run") is Admitted.DUPLICATE
    assert await claim(ledger, at=LATER) == Closed(Outcome.DELIVERED)


async def test_a_report_that_comes_after_all_changes_no_outcome(ledger: Ledger) -> None:
    await closed(ledger)
    await ledger.retention.prune(LATER, at=LATER)

    assert await ledger.attempts.find(EMAIL) is None
    assert await ledger.notices.is_closed(KEY)


@pytest.mark.parametrize(("gap", "pruned"), [(0, NOTHING), (1, Pruned(1, 0))])
async def test_only_what_closed_before_goes(ledger: Ledger, gap: int, pruned: Pruned) -> None:
    await closed(ledger)

    assert await ledger.retention.outdated(after(microseconds=gap)) == pruned
    assert await ledger.retention.prune(after(microseconds=gap), at=LATER) == pruned


async def test_what_is_open_is_kept_however_old_it_is(ledger: Ledger) -> None:
    await admit(ledger)
    await opened(ledger)

    assert await ledger.retention.prune(after(days=1000), at=after(days=1000)) == NOTHING


async def test_a_challenge_loses_messages_tries_and_secrets_and_its_id_stays_used(
    ledger: Ledger, engine: AsyncEngine
) -> None:
    await opened(ledger)
    await asked(ledger)
    await ledger.challenges.consume(ID, wrong(), "try-1", at=after(minutes=2))
    await ledger.challenges.consume(ID, link(), "try-2", at=after(minutes=3))

    assert await ledger.retention.prune(LATER, at=LATER) == Pruned(0, 1)

    row = await ledger.challenges.find(ID)
    assert row is not None
    assert (row.state, row.link_digest, row.code_digest) == (ChallengeState.CONSUMED, None, None)
    assert await ledger.challenges.by_link(str(link().link)) is None
    assert await opened(ledger, challenge(chain="another-run")) == Duplicate()
    assert await counted(engine) == EMPTY


async def test_it_goes_on_in_small_steps(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "AT_ONCE", 2)
    for number in range(5):
        await opened(ledger, challenge(f"challenge-{number}", account=f"account-{number}"))
        await ledger.challenges.end(f"challenge-{number}", ChallengeState.EXPIRED, at=NOW)

    steps = [await ledger.retention.prune(LATER, at=LATER) for _ in range(4)]

    assert [each.challenges for each in steps] == [2, 2, 1, 0]


async def test_two_that_prune_at_once_prune_each_once(ledgers: tuple[Ledger, Ledger]) -> None:
    for number in range(20):
        name = f"challenge-{number}"
        await opened(ledgers[0], challenge(name, account=name), to=elsewhere(name))
        await ledgers[0].challenges.end(f"challenge-{number}", ChallengeState.EXPIRED, at=NOW)

    done = await asyncio.gather(*(each.retention.prune(LATER, at=LATER) for each in ledgers))

    assert sum(each.challenges for each in done) == 20


@pytest.mark.parametrize("table", ["notices", "challenges"])
async def test_finding_the_oldest_reads_an_index(engine: AsyncEngine, table: str) -> None:
    closed_at = "closed_at" if table == "notices" else "ended_at"
    wanted = (
        f"SELECT * FROM {table} WHERE pruned_at IS NULL AND {closed_at} < '2026-01-01' ORDER BY {closed_at}"  # noqa: S608
    )
    explain = "EXPLAIN QUERY PLAN" if engine.dialect.name == "sqlite" else "EXPLAIN"
    async with reading(engine) as connection:
        if engine.dialect.name == "postgresql":
            await connection.execute(text("SET LOCAL enable_seqscan = off"))
        plan = str((await connection.execute(text(f"{explain} {wanted} LIMIT 200"))).all())

    assert f"ix_{table}_kept" in plan
