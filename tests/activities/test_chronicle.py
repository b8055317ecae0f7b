"""Reports and outcomes: each kept once, whatever is retried."""

import pytest

from activities.chronicle import LedgerChronicle
from activities.store.errors import Missing
from activities.store.ledger import Ledger
from tests.activities.given import (
    EMAIL,
    NOW,
    admitted,
    after,
    claimed,
    decision,
    engine,
    request,
    row_of,
    seen,
    story_of,
)
from workflows import calls
from workflows.policy.keys import attempt_key
from workflows.policy.models import NoticeRequest, Result
from workflows.policy.progress import Attempt
from workflows.policy.words import AttemptState, Outcome, Phase, Status, Verdict


def closing(asked: NoticeRequest, outcome: Outcome = Outcome.UNKNOWN, **changes: object) -> calls.Close:
    attempt = Attempt(key=attempt_key(asked.key, EMAIL), channel=EMAIL, state=AttemptState.UNKNOWN)
    result = Result(key=asked.key, outcome=outcome, rule="cutoff", closed_at=after(minutes=9))
    call = calls.Close(result=result, attempts=(attempt,), decision=decision(asked, 3, action="close"))
    return call.model_copy(update=changes)


async def record(ledger: Ledger, asked: NoticeRequest, status: Status, event_id: str = "e-1") -> None:
    call = calls.Record(observation=seen(attempt_key(asked.key, EMAIL), status, event_id=event_id))
    await engine().run(LedgerChronicle(ledger).record, call)


async def close(ledger: Ledger, call: calls.Close) -> None:
    await engine(run="run-7").run(LedgerChronicle(ledger).close, call)


async def test_a_report_is_kept_once_and_moves_its_attempt(ledger: Ledger) -> None:
    asked = await admitted(ledger)
    await claimed(ledger, asked)

    await record(ledger, asked, Status.ACCEPTED)
    await record(ledger, asked, Status.ACCEPTED)

    story = await story_of(ledger, asked)
    assert [(each.event_id, each.verdict) for each in story.observations] == [("e-1", Verdict.APPLIED)]
    assert [each.state for each in story.attempts] == [AttemptState.SUBMITTED]
    evidence_at = story.notice.last_evidence_at
    assert evidence_at is not None
    assert NOW <= evidence_at < after(minutes=1), "the engine's time, not the host's"


async def test_a_close_writes_the_outcome_its_decision_and_a_last_state_for_every_attempt(
    ledger: Ledger,
) -> None:
    asked = await admitted(ledger)
    await claimed(ledger, asked)

    await close(ledger, closing(asked))

    story = await story_of(ledger, asked)
    assert (story.phase, story.outcome, story.next_at) == (Phase.CLOSED, Outcome.UNKNOWN, None)
    assert [each.state for each in story.attempts] == [AttemptState.UNKNOWN]
    assert [(each.run, each.number, each.action) for each in story.decisions] == [("run-7", 3, "close")]


async def test_the_first_outcome_stays(ledger: Ledger) -> None:
    asked = await admitted(ledger)

    await close(ledger, closing(asked))
    await close(ledger, closing(asked))
    await close(ledger, closing(asked, Outcome.DELIVERED))

    story = await story_of(ledger, asked)
    assert (story.outcome, len(story.decisions)) == (Outcome.UNKNOWN, 1)


async def test_a_close_without_a_decision_writes_none(ledger: Ledger) -> None:
    asked = await admitted(ledger)

    await close(ledger, closing(asked, decision=None))

    story = await story_of(ledger, asked)
    assert (story.outcome, story.decisions) == (Outcome.UNKNOWN, ())


async def test_a_report_after_the_close_is_kept_and_moves_nothing(ledger: Ledger) -> None:
    asked = await admitted(ledger)
    await claimed(ledger, asked)
    await close(ledger, closing(asked))

    await record(ledger, asked, Status.DELIVERED)

    story = await story_of(ledger, asked)
    assert [each.verdict for each in story.observations] == [Verdict.LATE]
    assert (await row_of(ledger, attempt_key(asked.key, EMAIL))).state is AttemptState.UNKNOWN


async def test_nothing_is_kept_about_a_notice_that_nobody_admitted(ledger: Ledger) -> None:
    asked = request()

    with pytest.raises(Missing):
        await record(ledger, asked, Status.DELIVERED)
    with pytest.raises(Missing):
        await close(ledger, closing(asked, decision=None))
