"""Where a report goes: each is with the engine or the ledger before anybody is told that it was taken."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

import pytest
from temporalio.client import Client

from activities import reports
from activities.observing import OBSERVER
from activities.providers.base import Reported
from activities.store.errors import StoreError, Unreachable
from activities.store.ledger import Ledger
from receiver.taking import ABREAST, Taken, Taker, named
from tests.providers.subject import NOW
from tests.receiver.deployed import ASKED, EMAIL, SMS, Engine, admitted, dispatched, gone
from workflows.policy.keys import attempt_digest
from workflows.policy.models import Result
from workflows.policy.words import AttemptState, Outcome, Source, Status, SuppressionReason


def told(status: Status = Status.DELIVERED, **facts: Any) -> Reported:  # noqa: ANN401 - as a report has them
    given = {"provider_id": "p-1", "event_id": "ev-1", "attempt_key": EMAIL, **facts}
    return Reported(status, is_final=True, raw=status, **given)


def taker(ledger: Ledger, engine: Engine | None = None) -> Taker:
    return Taker(ledger, (engine or Engine()).client)


async def state(ledger: Ledger, key: str = EMAIL) -> AttemptState:
    row = await ledger.attempts.find(key)
    assert row is not None
    return row.state


NAMED_BY: dict[str, dict[str, Any]] = {
    "its key": {"provider_id": None},
    "its digest": {"provider_id": None, "attempt_key": None, "attempt_digest": attempt_digest(EMAIL)},
    "its id": {"attempt_key": None},
    "its id, with a key that is none": {"attempt_key": "anna@example.test"},
    "its id, with a key of nobody": {"attempt_key": "kind:e:u:email:1"},
    "its id, with a key that no database takes": {"attempt_key": "k\x00:e:u:email:1"},
    "its id, with a key without end": {"attempt_key": f"k:{'e' * 5000}:u:email:1"},
}


@pytest.mark.parametrize("facts", NAMED_BY.values(), ids=NAMED_BY)
async def test_an_attempt_is_known_by(ledger: Ledger, facts: dict[str, Any]) -> None:
    engine = Engine()
    await dispatched(ledger, "sandbox")
    sent = reports.observation(told(Status.PENDING), EMAIL, Source.SEND, at=NOW, event_id="send")
    await ledger.evidence.observe(sent.model_copy(update={"event_id": "send"}), at=NOW)
    assert await taker(ledger, engine).take("sandbox", told(**facts), at=NOW) is Taken.SIGNALLED
    assert [each.attempt_key for each in engine.heard] == [EMAIL]


async def test_an_id_says_nothing_about_the_attempts_of_another_provider(ledger: Ledger) -> None:
    engine = Engine()
    await dispatched(ledger, "sandbox")
    for facts in NAMED_BY.values():
        assert await taker(ledger, engine).take("mailgun", told(**facts), at=NOW) is Taken.ASIDE
    assert engine.heard == []
    assert await state(ledger) is AttemptState.AMBIGUOUS


async def test_a_receipt_adopts_what_came_before_it(ledger: Ledger) -> None:
    await dispatched(ledger, "sandbox")
    assert await taker(ledger).take("sandbox", told(attempt_key=None), at=NOW) is Taken.ASIDE
    sent = reports.observation(told(Status.PENDING), EMAIL, Source.SEND, at=NOW, event_id="send")
    await ledger.evidence.observe(sent.model_copy(update={"event_id": "send", "is_final": False}), at=NOW)
    assert await state(ledger) is AttemptState.CONFIRMED
    assert await ledger.strays.count() == {}


async def test_a_receipt_that_comes_while_a_report_is_put_aside_does_not_miss_it(ledger: Ledger) -> None:
    class Meanwhile(type(ledger.strays)):  # type: ignore[misc]
        async def put(self, *given: object, **facts: object) -> bool:
            sent = reports.observation(told(Status.PENDING), EMAIL, Source.SEND, at=NOW, event_id="send")
            await ledger.evidence.observe(sent.model_copy(update={"event_id": "send"}), at=NOW)
            return bool(await super().put(*given, **facts))

    engine = Engine()
    await dispatched(ledger, "sandbox")
    ledger.strays = Meanwhile(ledger.strays._engine)
    assert await taker(ledger, engine).take("sandbox", told(attempt_key=None), at=NOW) is Taken.SIGNALLED
    assert [each.attempt_key for each in engine.heard] == [EMAIL]


async def test_a_person_s_choice_is_kept_with_the_evidence_of_a_closed_notice(ledger: Ledger) -> None:
    await dispatched(ledger, "sandbox")
    row = await ledger.attempts.find(EMAIL)
    assert row is not None
    assert row.address_hash is not None
    complaint = told(opt_out=SuppressionReason.COMPLAINT)
    assert await taker(ledger, Engine(running=set())).take("sandbox", complaint, at=NOW) is Taken.RECORDED
    assert await ledger.suppressions.active(row.address_hash, row.channel) == {SuppressionReason.COMPLAINT}


async def test_what_was_signalled_says_when_it_came_and_when_it_happened(ledger: Ledger) -> None:
    engine, happened = Engine(), NOW - timedelta(seconds=40)
    await dispatched(ledger, "sandbox")
    await taker(ledger, engine).take("sandbox", told(provider_at=happened), at=NOW)
    (seen,) = engine.heard
    assert (seen.source, seen.at, seen.provider_at) == (Source.CALLBACK, NOW, happened)


@dataclass
class Hanging:
    """An engine that takes a signal and never answers."""

    asked: list[str] = field(default_factory=list)

    def get_workflow_handle_for(self, _workflow: object, name: str) -> "Hanging":
        self.asked.append(name)
        return self

    async def signal(self, *_: object) -> None:
        await asyncio.Event().wait()


async def test_an_engine_that_does_not_answer_is_not_waited_for(ledger: Ledger) -> None:
    await dispatched(ledger, "sandbox")
    hanging = Hanging()
    taken = await Taker(ledger, cast("Client", hanging), timedelta()).take("sandbox", told(), at=NOW)
    assert (taken, hanging.asked) == (Taken.RECORDED, [ASKED.key])
    assert await state(ledger) is AttemptState.CONFIRMED


async def test_without_a_ledger_nothing_is_believed(ledger: Ledger) -> None:
    engine = Engine()
    await dispatched(ledger, "sandbox")
    with gone(ledger), pytest.raises(StoreError):
        await taker(ledger, engine).take("sandbox", told(), at=NOW)
    assert engine.heard == []


# Batches


class Half(Ledger):
    """A ledger that cannot say anything of one attempt."""

    def __init__(self, whole: Ledger, failure: Exception) -> None:
        super().__init__(whole._engine)
        known, first = self.evidence.known, failure

        async def at_times(attempt_key: str, event_id: str) -> bool:
            if attempt_key == SMS:
                raise first
            return await known(attempt_key, event_id)

        self.evidence.known = at_times  # type: ignore[method-assign]


BATCH = [told(attempt_key=SMS, event_id="a"), *(told(event_id=f"e-{number}") for number in range(40))]


async def both(ledger: Ledger) -> None:
    await dispatched(ledger, "sandbox", EMAIL)
    await dispatched(ledger, "sandbox", SMS)


@pytest.mark.parametrize(
    "failure", [Unreachable("ledger: gone"), KeyError("unforeseen")], ids=["ledger", "?"]
)
async def test_one_report_that_fails_fails_the_batch_and_keeps_nobody_else_from_being_heard(
    ledger: Ledger, failure: Exception
) -> None:
    engine = Engine()
    await both(ledger)
    with pytest.raises(type(failure)):
        await taker(Half(ledger, failure), engine).take_all("sandbox", BATCH, at=NOW)
    assert {each.event_id for each in engine.heard} == {f"e-{number}" for number in range(40)}


async def test_an_unforeseen_error_is_told_before_a_ledger_that_is_away(ledger: Ledger) -> None:
    class Worse(Half):
        def __init__(self, whole: Ledger) -> None:
            super().__init__(whole, KeyError("unforeseen"))

            async def fail(*_: object, **__: object) -> str:
                raise Unreachable("ledger: gone")

            self.attempts.whose = fail  # type: ignore[method-assign]

    await both(ledger)
    nobody = told(attempt_key=None, event_id="n")
    with pytest.raises(KeyError):
        await taker(Worse(ledger)).take_all("sandbox", [nobody, *BATCH], at=NOW)


async def test_a_batch_that_comes_again_is_heard_once(ledger: Ledger) -> None:
    await both(ledger)
    closed = Engine(running=set())
    first = await taker(ledger, closed).take_all("sandbox", BATCH, at=NOW)
    again = await taker(ledger, closed).take_all("sandbox", BATCH, at=NOW)
    assert (set(first), set(again)) == ({Taken.RECORDED}, {Taken.KNOWN})


async def test_the_same_event_twice_in_a_batch_is_signalled_once(ledger: Ledger) -> None:
    engine = Engine()
    await dispatched(ledger, "sandbox")
    assert await taker(ledger, engine).take_all("sandbox", [told(), told()], at=NOW) == (Taken.SIGNALLED,)
    assert len(engine.heard) == 1


async def test_a_large_batch_is_taken_a_few_at_a_time(ledger: Ledger) -> None:
    class Counting(Taker):
        most = now = 0

        async def take(self, provider: str, reported: Reported, *, at: datetime) -> Taken:
            Counting.now += 1
            Counting.most = max(Counting.most, Counting.now)
            await asyncio.sleep(0)
            Counting.now -= 1
            assert (provider, at) == ("sandbox", NOW)
            assert reported.event_id
            return Taken.KNOWN

    batch = [told(event_id=f"e-{number}") for number in range(10 * ABREAST)]
    taken = await Counting(ledger, Engine().client).take_all("sandbox", batch, at=NOW)
    assert (len(taken), Counting.most) == (10 * ABREAST, ABREAST)


def test_an_event_without_an_id_is_known_by_what_it_says() -> None:
    bare, other = told(event_id=None), told(Status.REJECTED, event_id=None)
    assert named(bare) == named(told(event_id=None)) != named(other)


async def test_a_notice_without_that_attempt_keeps_the_report_aside(ledger: Ledger) -> None:
    await admitted(ledger)
    assert await taker(ledger).take("sandbox", told(), at=NOW) is Taken.ASIDE


async def test_a_run_that_stands_for_a_closed_notice_is_not_told_what_only_the_ledger_keeps(
    ledger: Ledger,
) -> None:
    """A second start of a notice that the engine has forgotten hears signals, and is refused."""
    engine = Engine()
    await dispatched(ledger, "sandbox")
    closed = Result(key=ASKED.key, outcome=Outcome.DELIVERED, rule="settled", closed_at=NOW)
    await ledger.notices.close(closed, (), at=NOW)
    assert await taker(ledger, engine).take("sandbox", told(), at=NOW) is Taken.RECORDED
    assert engine.heard == []


@pytest.mark.parametrize(("served", "taken"), [({"sandbox"}, Taken.SIGNALLED), (set(), Taken.ASIDE)])
@pytest.mark.parametrize("facts", NAMED_BY.values(), ids=NAMED_BY)
async def test_of_what_was_observed_only_a_provider_that_serves_a_channel_can_speak(
    ledger: Ledger, facts: dict[str, Any], served: set[str], taken: Taken
) -> None:
    await dispatched(ledger, OBSERVER)
    seen = reports.observation(told(Status.PENDING), EMAIL, Source.SEND, at=NOW, event_id="send")
    await ledger.evidence.observe(seen.model_copy(update={"event_id": "send"}), at=NOW)
    hearing = Taker(ledger, Engine().client, served=frozenset(served))
    assert await hearing.take("sandbox", told(**facts), at=NOW) is taken
