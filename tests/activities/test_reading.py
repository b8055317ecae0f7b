"""What became of an attempt: the ledger's word first, then the provider's, each answer once on record."""

import pytest
from temporalio.exceptions import ApplicationError

from activities.discreet import is_public
from activities.observing import OBSERVER
from activities.providers.base import Capabilities, Reported
from activities.providers.errors import Misconfigured, ReadFailed
from activities.reading import Reader
from activities.store.ledger import Ledger
from tests.activities.given import (
    EMAIL,
    NOW,
    Deployment,
    Scripted,
    SetClock,
    admitted,
    after,
    claimed,
    decision,
    engine,
    row_of,
    says,
    seen,
    story_of,
)
from workflows import calls
from workflows.policy.controls import Control, Switch
from workflows.policy.keys import attempt_key
from workflows.policy.models import NoticeRequest
from workflows.policy.words import AttemptState, Source, Status

BY_ID = Capabilities(reads_by_id=True)
BY_KEY = Capabilities(reads_by_key=True)
BLIND = Capabilities()


def look_up(asked: NoticeRequest, number: int = 1) -> calls.LookUp:
    return calls.LookUp(
        attempt_key=attempt_key(asked.key, EMAIL),
        number=number,
        decision=decision(asked, number, action="look_up"),
        next_at=after(seconds=45),
    )


async def read(ledger: Ledger, provider: Scripted, call: calls.LookUp, *, run: str = "run-1") -> calls.Report:
    """Read once, as one run of the activity."""

    async def look() -> calls.Report:
        return await Reader(ledger, Deployment(provider)).look_up(call, SetClock())

    return await engine(run=run).run(look)


async def sent(ledger: Ledger, status: Status = Status.PENDING, *, is_final: bool = False) -> NoticeRequest:
    """Put a notice on record whose email the provider took, with the id `p-1`."""
    asked = await admitted(ledger)
    await claimed(ledger, asked)
    key = attempt_key(asked.key, EMAIL)
    await ledger.evidence.observe(seen(key, status, is_final=is_final, event_id="send"), at=NOW)
    return asked


async def in_doubt(ledger: Ledger) -> NoticeRequest:
    """Put a notice on record whose email may have left."""
    asked = await admitted(ledger)
    await claimed(ledger, asked)
    return asked


async def test_the_decision_to_read_goes_on_record(ledger: Ledger) -> None:
    asked = await sent(ledger)

    await read(ledger, Scripted(can=BY_ID), look_up(asked))

    [kept] = (await story_of(ledger, asked)).decisions
    assert (kept.run, kept.number, kept.action, kept.answer) == ("run-1", 1, "look_up", None)
    assert kept.answered_at == NOW


@pytest.mark.parametrize("released", [False, True])
async def test_an_attempt_without_a_claim_was_never_sent(ledger: Ledger, *, released: bool) -> None:
    asked, provider = await admitted(ledger), Scripted(can=BY_KEY)
    if released:
        claim = await claimed(ledger, asked)
        await ledger.attempts.release(attempt_key(asked.key, EMAIL), claim, note="HTTP 429")

    report = await read(ledger, provider, look_up(asked))

    assert report == calls.Report(unclaimed=True, at=NOW)
    assert provider.asked == []


@pytest.mark.parametrize(
    ("status", "is_final"),
    [(Status.DELIVERED, True), (Status.REJECTED, True), (Status.INVALID_RECIPIENT, True)],
)
async def test_what_the_ledger_knows_for_good_is_not_asked_again(
    ledger: Ledger, *, status: Status, is_final: bool
) -> None:
    asked, provider = await sent(ledger, status, is_final=is_final), Scripted(can=BY_ID)

    report = await read(ledger, provider, look_up(asked))

    assert provider.asked == []
    assert report.observation is not None
    assert (report.observation.status, report.observation.is_final) == (status, is_final)
    assert report.observation.provider_id == "p-1"
    assert (await read(ledger, provider, look_up(asked, 2))).observation == report.observation


async def test_nobody_is_asked_while_reconciliation_is_off(ledger: Ledger) -> None:
    asked, provider = await sent(ledger), Scripted(can=BY_ID, views=[says(Status.DELIVERED)])
    off = Control(on=False)
    await ledger.controls.put(Switch.RECONCILE, off, by="ops", why="an incident", at=NOW)

    report = await read(ledger, provider, look_up(asked))

    assert report == calls.Report(at=NOW)
    assert provider.asked == []


@pytest.mark.parametrize(
    ("can", "readable", "observed"),
    [
        (BLIND, True, None),
        (BY_ID, True, None),
        (BY_KEY, True, Status.ACCEPTED),
    ],
)
async def test_a_dispatch_in_doubt_can_only_be_found_by_key(
    ledger: Ledger, *, can: Capabilities, readable: bool, observed: Status | None
) -> None:
    asked, provider = await in_doubt(ledger), Scripted(can=can, views=[says(Status.ACCEPTED)])
    call = look_up(asked)

    report = await read(ledger, provider, call)

    assert (report.readable, report.observation and report.observation.status) == (readable, observed)
    assert provider.asked == ([(EMAIL, call.attempt_key, None)] if observed else [])


async def test_nobody_is_asked_about_what_was_only_observed(ledger: Ledger) -> None:
    asked = await admitted(ledger)
    await claimed(ledger, asked, by=OBSERVER)
    key = attempt_key(asked.key, EMAIL)
    await ledger.evidence.observe(seen(key, Status.PENDING, event_id="send"), at=NOW)
    provider = Scripted(OBSERVER, Capabilities(reads_by_id=True, reads_by_key=True))

    report = await read(ledger, provider, look_up(asked))

    assert report.observation is not None
    assert (report.observation.status, report.readable) == (Status.PENDING, False)
    assert provider.asked == []


async def test_a_dispatch_in_doubt_that_its_worker_has_concluded_is_told_from_the_ledger(
    ledger: Ledger,
) -> None:
    asked, provider = await sent(ledger, Status.ACCEPTED), Scripted(can=BLIND)

    report = await read(ledger, provider, look_up(asked))

    assert report.observation is not None
    assert (report.observation.status, report.readable) == (Status.ACCEPTED, False)
    assert provider.asked == []


async def test_a_dispatch_that_is_found_by_its_key_is_on_record_from_then_on(ledger: Ledger) -> None:
    asked = await in_doubt(ledger)

    await read(ledger, Scripted(can=BY_KEY, views=[says(Status.ACCEPTED)]), look_up(asked))

    row = await row_of(ledger, attempt_key(asked.key, EMAIL))
    assert (row.state, row.status, row.provider_id) == (AttemptState.SUBMITTED, Status.ACCEPTED, "p-1")


@pytest.mark.parametrize("can", [BY_ID, Capabilities(reads_by_id=True, reads_by_key=True)])
async def test_a_submitted_attempt_is_read_by_its_id(ledger: Ledger, can: Capabilities) -> None:
    asked = await sent(ledger)
    provider = Scripted(can=can, views=[says(Status.DELIVERED, is_final=True, code="250")])
    call = look_up(asked)

    report = await read(ledger, provider, call)

    story = await story_of(ledger, asked)
    assert provider.asked == [(EMAIL, call.attempt_key, "p-1")]
    assert report.observation is not None
    assert (report.observation.source, report.observation.status) == (Source.POLL, Status.DELIVERED)
    assert (report.observation.code, report.observation.at) == ("250", NOW)
    assert [each.event_id for each in story.observations] == ["send", report.observation.event_id]
    assert story.attempts[0].state is AttemptState.CONFIRMED


async def test_a_provider_that_does_not_know_the_attempt_proves_nothing(ledger: Ledger) -> None:
    asked = await in_doubt(ledger)

    report = await read(ledger, Scripted(can=BY_KEY, views=[None]), look_up(asked))

    assert report == calls.Report(at=NOW)
    assert (await row_of(ledger, attempt_key(asked.key, EMAIL))).state is AttemptState.AMBIGUOUS


@pytest.mark.parametrize("view", [says(Status.PENDING), None])
async def test_the_next_look_is_noted_whatever_was_seen(ledger: Ledger, view: Reported | None) -> None:
    asked = await sent(ledger)

    await read(ledger, Scripted(can=BY_ID, views=[view]), look_up(asked))

    assert (await story_of(ledger, asked)).next_at == after(seconds=45)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ReadFailed("HTTP 503"), "ReadFailed"),
        (Misconfigured("HTTP 401: check the credentials"), "Misconfigured"),
    ],
)
async def test_a_read_that_fails_says_why_in_words_that_anyone_may_see(
    ledger: Ledger, error: Exception, kind: str
) -> None:
    asked = await sent(ledger)

    with pytest.raises(ApplicationError, match=str(error)) as caught:
        await read(ledger, Scripted(can=BY_ID, views=[error]), look_up(asked))

    assert (caught.value.type, is_public(caught.value)) == (kind, True)
    assert (caught.value.__cause__, caught.value.__suppress_context__) == (None, True)
    assert [each.event_id for each in (await story_of(ledger, asked)).observations] == ["send"]


async def test_a_provider_that_is_gone_is_named(ledger: Ledger) -> None:
    asked = await sent(ledger)

    with pytest.raises(ApplicationError, match="provider 'first' is not known") as caught:
        await read(ledger, Scripted("another"), look_up(asked))

    assert caught.value.type == "Misconfigured"


@pytest.mark.parametrize(
    ("again", "kept"),
    [
        ((1, "run-1"), 1),
        ((2, "run-1"), 2),
        ((1, "run-2"), 2),
    ],
    ids=["a retried read", "the next poll", "a reset by an operator"],
)
async def test_a_retried_read_is_one_observation(ledger: Ledger, again: tuple[int, str], kept: int) -> None:
    asked = await sent(ledger)
    provider = Scripted(can=BY_ID, views=[says(Status.PENDING), says(Status.ACCEPTED)])
    number, run = again

    await read(ledger, provider, look_up(asked, 1), run="run-1")
    await read(ledger, provider, look_up(asked, number), run=run)

    story = await story_of(ledger, asked)
    assert len([each for each in story.observations if each.source is Source.POLL]) == kept
    assert story.notice.reads == kept
