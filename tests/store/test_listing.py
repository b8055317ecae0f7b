"""What an operator lists: newest first, bounded, counted, and by an index on both databases."""

import re
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import Table
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store import challenge_tables, listing, tables
from activities.store.challenge_rows import DeliveryRow
from activities.store.database import reading, writing
from activities.store.ledger import Ledger
from activities.store.listing import Notices, Stuck, Suppressed, Verifications
from activities.store.notices import Terms
from activities.store.records import AttemptRow, DecisionRow, NoticeRow
from activities.store.suppressions import Suppression
from tests.store.challenge_facts import asked, challenge, digest, elsewhere, opened
from tests.store.facts import EMAIL_HASH, EXPIRY, NOW, POLICY, SMS_HASH, after, report
from tests.store.test_query_plans import Statement, recorded
from workflows.calls import Decision
from workflows.policy.keys import attempt_key
from workflows.policy.models import NoticeRequest, Recipient, Result
from workflows.policy.plan import Rule
from workflows.policy.progress import Progress
from workflows.policy.terms import Policy
from workflows.policy.words import (
    AttemptState,
    ChallengeState,
    Channel,
    OnUnresolved,
    Outcome,
    Phase,
    Source,
    Status,
    SuppressionReason,
)

FALLING_BACK = POLICY.model_copy(update={"fallback_after": timedelta(minutes=3)})
STUCK = Stuck(due_before=after(minutes=4), claimed_before=after(minutes=4))


async def admitted(
    ledger: Ledger,
    event_id: str,
    *,
    at: datetime = NOW,
    policy: Policy = FALLING_BACK,
    kind: str = "password_reset",
    recipient: str = "user-1",
) -> str:
    request = NoticeRequest(kind=kind, event_id=event_id, recipient=Recipient(id=recipient))
    terms = Terms(policy, f"digest of {policy.on_unresolved} {policy.route}", EXPIRY, "run-1")
    await ledger.notices.admit(request, terms, at=at)
    return request.key


async def sent(ledger: Ledger, key: str, channel: Channel = Channel.EMAIL, **due: datetime) -> None:
    attempt = attempt_key(key, channel)
    await ledger.attempts.claim(attempt, provider="sandbox", address_hash=EMAIL_HASH, at=NOW)
    seen = report(Status.PENDING, key=attempt, source=Source.SEND)
    await ledger.evidence.observe(seen, at=NOW, next_at=due.get("due"))


async def closed(ledger: Ledger, key: str, outcome: Outcome = Outcome.EXHAUSTED) -> None:
    await ledger.notices.close(Result(key=key, outcome=outcome, rule="failed", closed_at=NOW), (), at=NOW)


async def events(ledger: Ledger, wanted: Notices) -> list[str]:
    page = await ledger.listing.notices(wanted, 50)
    return [each.event_id for each in page.rows]


async def test_the_newest_come_first_and_those_beyond_the_limit_are_counted(ledger: Ledger) -> None:
    for number in range(5):
        await admitted(ledger, str(number), at=after(minutes=number))

    page = await ledger.listing.notices(Notices(), 2)

    assert ([each.event_id for each in page.rows], page.more) == (["4", "3"], 3)
    assert (await ledger.listing.notices(Notices(), 5)).more == 0


async def test_an_empty_ledger_has_an_empty_list(ledger: Ledger) -> None:
    for wanted in (Notices(), Notices(past_fallback_at=NOW)):
        page = await ledger.listing.notices(wanted, 50)
        assert (page.rows, page.more) == ((), 0)


@pytest.fixture
async def town(ledger: Ledger) -> Ledger:
    """Four notices: one due in time, one late, one that was claimed and left, one that has closed."""
    await sent(ledger, await admitted(ledger, "fine"), due=after(minutes=6))
    await sent(ledger, await admitted(ledger, "late", recipient="user 2"), due=after(minutes=1))
    left = await admitted(ledger, "left", kind="payout", at=after(minutes=1))
    await ledger.notices.set_next(left, None)
    await ledger.attempts.claim(
        attempt_key(left, Channel.EMAIL), provider="sandbox", address_hash=EMAIL_HASH, at=after(minutes=1)
    )
    await closed(ledger, await admitted(ledger, "over", at=after(minutes=2)))
    return ledger


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Notices(), {"fine", "late", "left", "over"}),
        (Notices(phase=Phase.AWAITING), {"fine", "late"}),
        (Notices(phase=Phase.CLAIMED), {"left"}),
        (Notices(phase=Phase.CLOSED), {"over"}),
        (Notices(outcome=Outcome.EXHAUSTED), {"over"}),
        (Notices(outcome=Outcome.DELIVERED), set()),
        (Notices(kind="payout"), {"left"}),
        (Notices(recipients=("user 2", "user%202")), {"late"}),
        (Notices(since=after(minutes=1)), {"left", "over"}),
        (Notices(due_before=after(minutes=10)), {"fine", "late"}),
        (Notices(due_before=after(minutes=5)), {"late"}),
        (Notices(stuck=STUCK), {"late", "left"}),
        (Notices(stuck=replace(STUCK, claimed_before=after(minutes=1))), {"late"}),
        (Notices(stuck=replace(STUCK, due_before=NOW)), {"left"}),
        (Notices(stuck=STUCK, kind="payout"), {"left"}),
    ],
    ids=lambda value: "" if isinstance(value, set) else repr(value),
)
async def test_every_filter_must_hold(town: Ledger, wanted: Notices, found: set[str]) -> None:
    assert set(await events(town, wanted)) == found


async def decided(ledger: Ledger, key: str, policy: Policy, *, ruled_out: str | None) -> None:
    """Put a decision on record that knew why the second channel cannot be used, if it cannot."""
    progress = Progress.begin(key, policy.route, EXPIRY).amend(Channel.SMS, ruled_out=ruled_out)
    decision = Decision(
        number=1,
        rule=Rule.FIRST,
        action="send",
        at=NOW,
        progress=progress,
        policy_digest=f"digest of {policy.on_unresolved} {policy.route}",
    )
    await ledger.decisions.put("run-1", decision, answer="yes", reason=None, at=NOW)


async def test_past_its_fallback_is_what_could_still_fall_back_and_has_not(ledger: Ledger) -> None:
    alone = FALLING_BACK.model_copy(update={"route": (Channel.EMAIL,)})
    patient = FALLING_BACK.model_copy(update={"on_unresolved": OnUnresolved.EXPIRE})
    for name, policy in (("waits", FALLING_BACK), ("alone", alone), ("patient", patient)):
        await sent(ledger, await admitted(ledger, name, policy=policy))
    fell = await admitted(ledger, "fell back")
    await sent(ledger, fell)
    await sent(ledger, fell, Channel.SMS)
    await admitted(ledger, "not sent yet")
    phoneless = await admitted(ledger, "no phone")
    await sent(ledger, phoneless)
    await decided(ledger, phoneless, FALLING_BACK, ruled_out="no_address")
    over = await admitted(ledger, "over")
    await sent(ledger, over)
    await closed(ledger, over)

    assert await events(ledger, Notices(past_fallback_at=after(minutes=3))) == []
    assert await events(ledger, Notices(past_fallback_at=after(minutes=3, seconds=1))) == ["waits"]


async def test_those_past_their_fallback_are_filtered_bounded_and_counted(ledger: Ledger) -> None:
    for number in range(3):
        key = await admitted(ledger, str(number), at=after(seconds=number))
        await sent(ledger, key)
        await decided(ledger, key, FALLING_BACK, ruled_out=None)
    await sent(ledger, await admitted(ledger, "other", kind="payout"))

    wanted = Notices(kind="password_reset", past_fallback_at=after(minutes=4))
    page = await ledger.listing.notices(wanted, 2)

    assert ([each.event_id for each in page.rows], page.more) == (["2", "1"], 1)


async def test_verifications_are_listed_with_their_messages_and_without_their_secrets(
    ledger: Ledger,
) -> None:
    await opened(ledger)
    await asked(ledger)
    later = challenge("challenge-2", account="account 2", at=after(minutes=2))
    await opened(ledger, later, to=elsewhere("2"), at=after(minutes=2))
    await ledger.challenges.end("challenge-2", ChallengeState.EXPIRED, at=after(minutes=3))

    async def found(wanted: Verifications) -> list[tuple[str, int]]:
        page = await ledger.listing.verifications(wanted, 50)
        assert not [name for name in ("nonce", "digest") if name in page.rows[0].model_dump_json()]
        return [(each.id, each.messages) for each in page.rows]

    assert await found(Verifications()) == [("challenge-2", 1), ("challenge-1", 2)]
    assert await found(Verifications(state=ChallengeState.ACTIVE)) == [("challenge-1", 2)]
    assert await found(Verifications(accounts=("account 2",))) == [("challenge-2", 1)]
    assert await found(Verifications(since=after(minutes=1))) == [("challenge-2", 1)]


async def test_suppressions_are_listed_and_lifted_ones_only_where_they_are_asked_for(ledger: Ledger) -> None:
    rows = (
        (EMAIL_HASH, Channel.EMAIL, SuppressionReason.COMPLAINT),
        (EMAIL_HASH, Channel.EMAIL, SuppressionReason.INVALID_RECIPIENT),
        (SMS_HASH, Channel.SMS, SuppressionReason.STOPPED),
    )
    for number, (hashed, channel, reason) in enumerate(rows):
        await ledger.suppressions.put(
            hashed, channel, reason, source_notice="k:e:u", observed_at=after(minutes=number)
        )
    await ledger.suppressions.lift(*rows[1], by="ops", at=after(hours=1), why="a new mailbox")

    async def found(wanted: Suppressed) -> list[str]:
        return [each.reason for each in (await ledger.listing.suppressions(wanted, 50)).rows]

    assert await found(Suppressed()) == ["stopped", "complaint"]
    assert await found(Suppressed(lifted=True)) == ["stopped", "invalid_recipient", "complaint"]
    assert await found(Suppressed(channel=Channel.EMAIL)) == ["complaint"]
    assert await found(Suppressed(reason=SuppressionReason.STOPPED)) == ["stopped"]
    assert await found(Suppressed(since=after(minutes=1))) == ["stopped"]


MANY = 5_000


def filled(number: int) -> dict[Table, dict[str, object]]:
    """Return a row for each table: one notice and one challenge in five hundred is open."""
    at, is_open, name = after(seconds=-number), number % 500 == 1, f"filler-{number}"
    over = None if is_open else at
    notice = NoticeRow(
        key=f"k:{name}:u",
        kind=f"kind-{number % 20}",
        event_id=name,
        recipient_id=f"user-{number}",
        chain="c",
        policy_digest="d",
        route=POLICY.route,
        phase=Phase.CLAIMED if is_open else Phase.CLOSED,
        outcome=None if is_open else Outcome.EXPIRED if number % 50 else Outcome.EXHAUSTED,
        expires_at=at,
        next_at=at if is_open else None,
        created_at=at,
        closed_at=over,
    )
    attempt = AttemptRow(
        key=attempt_key(notice.key, Channel.EMAIL),
        notice_key=notice.key,
        channel=Channel.EMAIL,
        number=1,
        state=AttemptState.AMBIGUOUS,
        dispatches=1,
        first_dispatched_at=at,
        last_dispatched_at=at,
    )
    verification = challenge(name, account=name, at=at).model_copy(
        update={"ended_at": over, "state": ChallengeState.ACTIVE if is_open else ChallengeState.EXPIRED}
    )
    message = DeliveryRow(
        event_id=name,
        challenge_id=name,
        notice_key=notice.key,
        number=1,
        asked_id="a",
        account_id=name,
        asked_at=at,
    )
    decision = DecisionRow(
        run="run-1",
        number=1,
        rule=Rule.FIRST,
        action="send",
        at=at,
        inputs=Progress.begin(notice.key, POLICY.route, at),
        answered_at=at,
        policy_digest="d",
    )
    held = Suppression(
        address_hash=digest(name),
        channel=Channel.EMAIL,
        reason=SuppressionReason.COMPLAINT,
        observed_at=at,
        lifted_at=over,
    )
    return {
        tables.notices: notice.model_dump(),
        tables.attempts: attempt.model_dump(),
        tables.decisions: decision.model_dump()
        | {"notice_key": notice.key, "inputs": decision.inputs.model_dump(mode="json")},
        challenge_tables.challenges: verification.model_dump(),
        challenge_tables.deliveries: message.model_dump(),
        tables.suppressions: held.model_dump(),
    }


@pytest.fixture
async def crowded(engine: AsyncEngine) -> AsyncEngine:
    """Return a database with thousands of rows, of which few are open."""
    rows = [filled(number) for number in range(MANY)]
    async with writing(engine) as connection:
        terms = POLICY.model_dump(mode="json")
        await connection.execute(tables.policies.insert().values(digest="d", terms=terms))
        for table in rows[0]:
            await connection.execute(table.insert(), [each[table] for each in rows])
        if engine.dialect.name == "postgresql":  # SQLite does it for nobody
            await connection.exec_driver_sql("ANALYZE")
    return engine


async def scanned(engine: AsyncEngine, statements: list[Statement]) -> list[str]:
    """Return the statements for which a whole table would be read: policies are few."""
    explain = "EXPLAIN" if engine.dialect.name == "postgresql" else "EXPLAIN QUERY PLAN"
    slow = []
    async with reading(engine) as connection:
        for statement, values in statements:
            found = await connection.exec_driver_sql(f"{explain} {statement}", values)
            plan = "\n".join(str(row[-1]) for row in found)
            if _WHOLE.search(plan):
                slow.append(f"{statement}\n{plan}")
    return slow


_WHOLE = re.compile(r"Seq Scan on (?!policies)|SCAN (?!policies|anon)\w+(?! USING)\b(?! USING)")

WANTED = [
    Notices(),
    *(Notices(phase=each) for each in Phase),
    Notices(kind="kind-7"),
    Notices(outcome=Outcome.EXHAUSTED),
    Notices(recipients=("user-7", "user%7")),
    Notices(since=after(minutes=-1)),
    Notices(due_before=NOW),
    Notices(stuck=STUCK),
    Notices(past_fallback_at=NOW),
    Notices(kind="kind-7", outcome=Outcome.EXHAUSTED, since=after(minutes=-9)),
]


@pytest.fixture
def counting_a_hundred(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "COUNTED", 100)


@pytest.mark.usefixtures("counting_a_hundred")
async def test_no_list_reads_a_whole_table(crowded: AsyncEngine, ledger: Ledger) -> None:
    with recorded(crowded) as statements:
        for notices in WANTED:
            await ledger.listing.notices(notices, 50)
        for state in (None, ChallengeState.ACTIVE, ChallengeState.CONSUMED):
            await ledger.listing.verifications(Verifications(state=state), 50)
        await ledger.listing.verifications(Verifications(accounts=("account-7",)), 50)
        for lifted in (True, False):
            await ledger.listing.suppressions(Suppressed(lifted=lifted), 50)
        await ledger.suppressions.of(EMAIL_HASH, Channel.EMAIL)
        await ledger.suppressions.put(
            EMAIL_HASH, Channel.EMAIL, SuppressionReason.STOPPED, source_notice="n", observed_at=NOW
        )

    asked = [each for each in statements if each[0].startswith(("SELECT", "INSERT"))]
    assert len(asked) > 30
    assert await scanned(crowded, asked) == []


@pytest.mark.usefixtures("crowded", "counting_a_hundred")
async def test_of_very_many_more_only_so_many_are_counted(ledger: Ledger) -> None:
    assert (await ledger.listing.notices(Notices(), 50)).more == 100
