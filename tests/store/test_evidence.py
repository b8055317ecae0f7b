import asyncio

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store.attempts import Settled
from activities.store.errors import Missing
from activities.store.ledger import Ledger
from activities.store.records import Story
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

    did = await ledger.evidence.observe(report(status, is_final=True), at=after(hours=1))

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
