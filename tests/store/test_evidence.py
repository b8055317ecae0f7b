import asyncio
from datetime import datetime

import pytest
from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store.attempts import Settled
from activities.store.database import writing
from activities.store.errors import Missing
from activities.store.ledger import Ledger
from activities.store.records import Story
from activities.store.tables import attempts
from tests.store.facts import (
    EMAIL,
    EMAIL_HASH,
    KEY,
    NOW,
    SMS,
    SMS_HASH,
    Crash,
    CrashError,
    admit,
    after,
    claim,
    report,
)
from workflows.policy.models import Observation, Result
from workflows.policy.words import (
    AttemptState,
    Channel,
    Outcome,
    Phase,
    Source,
    Status,
    SuppressionReason,
    Verdict,
)

CLOSED = Result(key=KEY, outcome=Outcome.UNKNOWN, rule="cutoff", closed_at=after(minutes=9))


async def told(ledger: Ledger) -> Story:
    story = await ledger.story(KEY)
    assert story is not None
    return story


async def state_of(ledger: Ledger, key: str = EMAIL) -> AttemptState | None:
    row = await ledger.attempts.find(key)
    return None if row is None else row.state


async def test_a_report_moves_its_attempt_and_its_notice(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)

    did = await ledger.evidence.observe(
        report(Status.ACCEPTED), at=after(seconds=20), next_at=after(seconds=45)
    )

    assert (did.state, did.verdict) == (AttemptState.SUBMITTED, Verdict.APPLIED)
    story = await told(ledger)
    assert [(each.state, each.status, each.provider_id) for each in story.attempts] == [
        (AttemptState.SUBMITTED, Status.ACCEPTED, "id-1")
    ]
    assert [(each.event_id, each.verdict) for each in story.observations] == [
        ("poll-accepted-False", Verdict.APPLIED)
    ]
    assert (story.phase, story.next_at) == (Phase.AWAITING, after(seconds=45))
    assert (story.notice.last_evidence_at, story.notice.reads) == (after(seconds=20), 1)


async def test_the_same_report_again_writes_nothing(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    await ledger.evidence.observe(report(Status.PENDING), at=NOW)
    before = await told(ledger)

    did = await ledger.evidence.observe(report(Status.PENDING), at=after(minutes=1), next_at=after(hours=1))

    assert (did.state, did.verdict) == (AttemptState.SUBMITTED, Verdict.REPEATED)
    assert await told(ledger) == before


async def test_the_same_report_many_times_at_once_is_kept_once(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)

    did = await asyncio.gather(
        *[ledger.evidence.observe(report(Status.DELIVERED), at=NOW) for _ in range(10)]
    )

    assert sorted(each.verdict for each in did) == [Verdict.APPLIED, *[Verdict.REPEATED] * 9]
    assert len((await told(ledger)).observations) == 1


async def test_reports_that_race_are_all_kept_and_the_state_is_right(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    seen = [report(Status.PENDING, event_id=f"poll-{number}") for number in range(9)]
    seen.insert(4, report(Status.DELIVERED))

    await asyncio.gather(*[ledger.evidence.observe(each, at=NOW) for each in seen])

    story = await told(ledger)
    assert len(story.observations) == story.notice.reads == 10
    assert story.attempts[0].state is AttemptState.CONFIRMED


@pytest.mark.parametrize("nth", [1, 2, 3, 4])
async def test_a_crash_leaves_neither_the_report_nor_its_effect(
    engine: AsyncEngine, ledger: Ledger, nth: int
) -> None:
    await admit(ledger)
    await claim(ledger)
    before = await told(ledger)

    with Crash(engine, nth), pytest.raises(CrashError):
        await ledger.evidence.observe(report(Status.DELIVERED), at=NOW)

    assert await told(ledger) == before
    assert (await ledger.evidence.observe(report(Status.DELIVERED), at=NOW)).verdict is Verdict.APPLIED


async def test_a_callback_before_the_claim_is_kept_and_the_claim_finds_it(ledger: Ledger) -> None:
    await admit(ledger)

    did = await ledger.evidence.observe(report(Status.DELIVERED, source=Source.CALLBACK), at=NOW)

    assert (did.state, did.verdict) == (AttemptState.CONFIRMED, Verdict.APPLIED)
    found = await claim(ledger)
    assert isinstance(found, Settled)
    assert (found.row.state, found.row.dispatches) == (AttemptState.CONFIRMED, 0)
    story = await told(ledger)
    assert (story.phase, story.channel) == (Phase.AWAITING, Channel.EMAIL)


async def test_a_callback_before_the_receipt_leaves_the_receipt_nothing_to_undo(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    await ledger.evidence.observe(
        report(Status.DELIVERED, source=Source.CALLBACK, provider_id=None), at=after(seconds=1)
    )

    did = await ledger.evidence.observe(report(Status.PENDING, source=Source.SEND), at=after(seconds=2))

    assert did.verdict is Verdict.REFUSED
    assert await state_of(ledger) is AttemptState.CONFIRMED


async def test_a_refused_report_is_kept_with_its_reason(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    await ledger.evidence.observe(report(Status.DELIVERED), at=NOW)

    await ledger.evidence.observe(report(Status.INVALID_RECIPIENT, is_final=True), at=after(minutes=1))

    story = await told(ledger)
    assert [each.verdict for each in story.observations] == [Verdict.APPLIED, Verdict.REFUSED]
    assert "not undone" in story.observations[1].reason
    assert (story.attempts[0].state, story.attempts[0].status) == (AttemptState.CONFIRMED, Status.DELIVERED)


@pytest.mark.parametrize("status", [Status.DELIVERED, Status.REJECTED])
async def test_a_late_report_is_kept_and_changes_nothing(ledger: Ledger, status: Status) -> None:
    await admit(ledger)
    await claim(ledger)
    await ledger.notices.close(CLOSED, (), at=after(minutes=9))
    before = await told(ledger)

    did = await ledger.evidence.observe(
        report(status, is_final=True, source=Source.CALLBACK), at=after(hours=1)
    )

    after_it = await told(ledger)
    assert (did.state, did.verdict) == (AttemptState.UNKNOWN, Verdict.LATE)
    assert [each.verdict for each in after_it.observations] == [Verdict.LATE]
    assert after_it.notice == before.notice
    assert after_it.attempts == before.attempts


async def test_a_late_report_about_an_attempt_that_was_never_sent_opens_nothing(ledger: Ledger) -> None:
    await admit(ledger)
    await ledger.notices.close(CLOSED, (), at=after(minutes=9))

    await ledger.evidence.observe(report(Status.DELIVERED), at=after(hours=1))

    assert await state_of(ledger) is AttemptState.PLANNED


async def test_word_of_an_earlier_channel_does_not_move_the_notice_back_to_it(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    await ledger.evidence.observe(report(Status.PENDING), at=NOW)
    await claim(ledger, SMS)

    await ledger.evidence.observe(report(Status.TEMPORARY_FAILURE), at=after(minutes=2))

    story = await told(ledger)
    assert (story.phase, story.channel) == (Phase.CLAIMED, Channel.SMS)
    assert story.notice.last_evidence_at == after(minutes=2)


async def test_word_of_a_later_channel_before_its_claim_moves_the_notice_on_to_it(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)

    await ledger.evidence.observe(report(Status.ACCEPTED, key=SMS, source=Source.CALLBACK), at=NOW)

    story = await told(ledger)
    assert (story.phase, story.channel) == (Phase.AWAITING, Channel.SMS)


async def test_a_callback_leaves_the_next_time_alone(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    await ledger.evidence.observe(report(Status.PENDING), at=NOW, next_at=after(seconds=45))

    await ledger.evidence.observe(report(Status.ACCEPTED, source=Source.CALLBACK), at=after(seconds=5))

    story = await told(ledger)
    assert (story.next_at, story.notice.reads) == (after(seconds=45), 1)


async def test_the_strongest_word_stays_whatever_the_order(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    for status in (Status.ACCEPTED, Status.PENDING, Status.UNRECOGNIZED):
        await ledger.evidence.observe(report(status), at=NOW)

    row = await ledger.attempts.find(EMAIL)
    assert row is not None
    assert (row.state, row.status) == (AttemptState.SUBMITTED, Status.ACCEPTED)


async def test_a_report_about_a_notice_that_is_not_on_record_is_refused(ledger: Ledger) -> None:
    with pytest.raises(Missing, match=KEY):
        await ledger.evidence.observe(report(Status.DELIVERED), at=NOW)


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (report(Status.REJECTED, key=SMS, is_final=True, opt_out=SuppressionReason.STOPPED), "stopped"),
        (report(Status.INVALID_RECIPIENT, key=SMS, is_final=True), "invalid_recipient"),
        (report(Status.REJECTED, key=SMS, is_final=True), None),
        (report(Status.INVALID_RECIPIENT, key=SMS), None),
    ],
    ids=["a choice", "a fault", "a refusal", "not final"],
)
async def test_who_must_not_be_written_to_is_suppressed_with_the_evidence(
    ledger: Ledger, seen: Observation, reason: str | None
) -> None:
    """A worker that dies between the report and the suppression would take the person's word with it."""
    await admit(ledger)
    await claim(ledger, SMS)

    await ledger.evidence.observe(seen, at=NOW)
    await ledger.evidence.observe(seen, at=NOW)

    assert await ledger.suppressions.active(SMS_HASH, Channel.SMS) == ({reason} if reason else set())


async def test_a_bounce_after_the_close_suppresses_too(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    await ledger.notices.close(CLOSED, (), at=after(minutes=9))

    await ledger.evidence.observe(report(Status.INVALID_RECIPIENT, is_final=True), at=after(minutes=10))

    assert await ledger.suppressions.active(EMAIL_HASH, Channel.EMAIL) == {"invalid_recipient"}


async def aside(
    ledger: Ledger,
    status: Status,
    *,
    at: datetime = NOW,
    provider_id: str = "id-1",
    provider: str = "sandbox",
) -> str:
    """Keep a final report aside, and return the id of its event."""
    seen = report(status, is_final=True, event_id=f"event-{status}-{at:%S}")
    assert await ledger.strays.put(provider, seen, provider_id=provider_id, event_id=seen.event_id, at=at)
    return seen.event_id


@pytest.mark.parametrize("source", [Source.SEND, Source.POLL])
async def test_a_receipt_adopts_what_came_under_its_id_before(ledger: Ledger, source: Source) -> None:
    await admit(ledger)
    await claim(ledger)
    event_id = await aside(ledger, Status.DELIVERED, at=after(seconds=1))

    did = await ledger.evidence.observe(report(Status.PENDING, source=source), at=after(seconds=2))

    assert (did.state, did.verdict) == (AttemptState.CONFIRMED, Verdict.APPLIED)
    story = await told(ledger)
    assert [(each.source, each.event_id, each.verdict, each.at) for each in story.observations] == [
        (source, f"{source}-pending-False", Verdict.APPLIED, NOW),
        (Source.CALLBACK, event_id, Verdict.APPLIED, after(seconds=1)),
    ]
    assert (story.attempts[0].state, story.attempts[0].settled_at) == (
        AttemptState.CONFIRMED,
        after(seconds=2),
    )
    assert await ledger.strays.count() == {}


async def test_strays_are_applied_in_the_order_they_came_and_each_once(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    later = await aside(ledger, Status.INVALID_RECIPIENT, at=after(seconds=2))
    first = await aside(ledger, Status.DELIVERED, at=after(seconds=1))
    known = report(Status.DELIVERED, source=Source.CALLBACK, is_final=True, event_id=later, provider_id=None)
    await ledger.evidence.observe(known, at=after(seconds=3))

    for _ in range(2):
        await ledger.evidence.observe(report(Status.PENDING, source=Source.SEND), at=after(seconds=4))

    assert [(each.event_id, each.verdict) for each in (await told(ledger)).observations] == [
        (later, Verdict.APPLIED),
        ("send-pending-False", Verdict.REFUSED),
        (first, Verdict.REPEATED),
    ]


async def test_an_adopted_bounce_suppresses_the_address(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    await aside(ledger, Status.INVALID_RECIPIENT)

    await ledger.evidence.observe(report(Status.PENDING, source=Source.SEND), at=NOW)

    assert await ledger.suppressions.active(EMAIL_HASH, Channel.EMAIL) == {"invalid_recipient"}


async def test_only_strays_of_that_provider_and_that_id_are_adopted(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    await aside(ledger, Status.DELIVERED, provider="another")
    await aside(ledger, Status.DELIVERED, provider_id="id-2")

    did = await ledger.evidence.observe(report(Status.PENDING, source=Source.SEND), at=NOW)

    assert did.state is AttemptState.SUBMITTED
    assert await ledger.strays.count() == {"another": 1, "sandbox": 1}


async def test_an_id_that_two_attempts_share_adopts_nothing(engine: AsyncEngine, ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    await claim(ledger, SMS)
    await aside(ledger, Status.DELIVERED)
    async with writing(engine) as connection:
        await connection.execute(update(attempts).where(attempts.c.key == EMAIL).values(provider_id="id-1"))

    await ledger.evidence.observe(report(Status.PENDING, key=SMS, source=Source.SEND), at=NOW)

    assert await ledger.strays.count() == {"sandbox": 1}


@pytest.mark.parametrize("nth", [1, 2, 3, 4, 5, 6])
async def test_a_crash_leaves_the_strays_where_they_are(
    engine: AsyncEngine, ledger: Ledger, nth: int
) -> None:
    await admit(ledger)
    await claim(ledger)
    await aside(ledger, Status.DELIVERED)
    before = await told(ledger)

    with Crash(engine, nth), pytest.raises(CrashError):
        await ledger.evidence.observe(report(Status.PENDING, source=Source.SEND), at=NOW)

    assert await told(ledger) == before
    assert await ledger.strays.count() == {"sandbox": 1}


async def test_a_receipt_after_the_close_still_tells_the_id_and_adopts_late_evidence(ledger: Ledger) -> None:
    """A bounce may come much later, and under nothing but that id."""
    await admit(ledger)
    await claim(ledger)
    await ledger.notices.close(CLOSED, (), at=after(minutes=9))
    await aside(ledger, Status.INVALID_RECIPIENT)

    did = await ledger.evidence.observe(report(Status.PENDING, source=Source.SEND), at=after(minutes=10))

    assert (did.state, did.verdict) == (AttemptState.UNKNOWN, Verdict.LATE)
    assert await ledger.attempts.whose("sandbox", digest=None, provider_id="id-1") == EMAIL
    assert [each.verdict for each in (await told(ledger)).observations] == [Verdict.LATE, Verdict.LATE]
    assert await ledger.suppressions.active(EMAIL_HASH, Channel.EMAIL) == {"invalid_recipient"}


async def test_a_report_that_says_what_is_known_still_tells_the_id(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    nameless = report(Status.DELIVERED, source=Source.CALLBACK, provider_id=None)
    await ledger.evidence.observe(nameless, at=NOW)
    await aside(ledger, Status.INVALID_RECIPIENT)

    did = await ledger.evidence.observe(report(Status.DELIVERED), at=NOW)

    assert (did.state, did.verdict) == (AttemptState.CONFIRMED, Verdict.REPEATED)
    assert await ledger.attempts.whose("sandbox", digest=None, provider_id="id-1") == EMAIL
    assert await ledger.suppressions.active(EMAIL_HASH, Channel.EMAIL) == {"invalid_recipient"}


async def test_what_is_on_record_is_known_by_its_event(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger)
    await ledger.evidence.observe(report(Status.PENDING, event_id="event-1"), at=NOW)

    assert await ledger.evidence.known(EMAIL, "event-1")
    assert not await ledger.evidence.known(EMAIL, "event-2")
    assert not await ledger.evidence.known(SMS, "event-1")
