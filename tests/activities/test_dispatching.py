"""The decision table of one dispatch, on a real ledger: what is on record, who is asked, what it answers."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import product

import pytest
from typing_extensions import override

from activities.crossing import KEEP_TRIES
from activities.providers.base import Capabilities, Reported
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, Rejected
from activities.store.errors import Unreachable
from activities.store.evidence import Evidence
from activities.store.filings import Kept
from activities.store.ledger import Ledger
from tests.activities.given import (
    EMAIL,
    EXPIRY,
    KEYRING,
    NOW,
    SHIPPED,
    SMS,
    Scripted,
    SetClock,
    admitted,
    after,
    claimed,
    dispatcher,
    outcome,
    request,
    row_of,
    says,
    seen,
    send,
    story_of,
)
from workflows import calls
from workflows.policy.keys import attempt_key
from workflows.policy.models import NoticeRequest, Observation, Result
from workflows.policy.words import AttemptState, Outcome, Source, Status

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
NOT, HONOURS = Capabilities(), Capabilities(idempotent_for=DAY)
SOON, LATER = timedelta(seconds=5), timedelta(seconds=30)
REJECTED = Rejected("HTTP 400", says(Status.REJECTED, is_final=True, provider_id=None))


class Record(StrEnum):
    """What the ledger knows of the attempt."""

    NOTHING = "nothing"
    RELEASED = "released"
    STANDING = "standing"
    SETTLED = "settled"
    CLOSED = "closed"


class Manner(StrEnum):
    """What can be asked of the provider."""

    HONOURS = "honours keys"
    LAPSED = "the window has lapsed"
    OTHER = "another provider now"
    NOT = "honours no keys"


class Answer(StrEnum):
    """What comes of asking it."""

    ACCEPTED = "accepted"
    PENDING = "pending"
    BUSY = "busy"
    DOWN = "down"
    REFUSED = "refused"
    LOST = "lost"
    MISMATCH = "mismatch"
    DENIED = "denied"
    BROKEN = "broken"
    FORGOTTEN = "forgotten"


SCRIPT: dict[Answer, Reported | Exception] = {
    Answer.ACCEPTED: says(Status.ACCEPTED),
    Answer.PENDING: says(Status.PENDING),
    Answer.BUSY: NotSent("HTTP 429", retry_after=LATER),
    Answer.DOWN: NotSent("connection failed"),
    Answer.REFUSED: REJECTED,
    Answer.LOST: Ambiguous("HTTP 503", retry_after=SOON),
    Answer.MISMATCH: Ambiguous("HTTP 409", repeatable=False),
    Answer.DENIED: Misconfigured("HTTP 401: check the credentials"),
    Answer.BROKEN: RuntimeError("a fault of an adapter, with anna@example.test in it"),
    Answer.FORGOTTEN: says(Status.ACCEPTED),
}

FIRST = {
    Answer.ACCEPTED: ("submitted: accepted", AttemptState.SUBMITTED),
    Answer.PENDING: ("submitted: pending", AttemptState.SUBMITTED),
    Answer.BUSY: ("NotSent, again in 30 s", AttemptState.PLANNED),
    Answer.DOWN: ("NotSent", AttemptState.PLANNED),
    Answer.REFUSED: ("submitted: rejected", AttemptState.FAILED),
    Answer.LOST: ("Ambiguous, again in 5 s", AttemptState.AMBIGUOUS),
    Answer.MISMATCH: ("ambiguous", AttemptState.AMBIGUOUS),
    Answer.DENIED: ("Misconfigured, again in 30 s", AttemptState.PLANNED),
    Answer.BROKEN: ("RuntimeError", AttemptState.AMBIGUOUS),
    Answer.FORGOTTEN: ("Unreachable", AttemptState.AMBIGUOUS),
}
"""A dispatch that nothing was sent before: its refusals prove that nothing is under way."""

AGAIN = FIRST | {
    Answer.BUSY: ("Ambiguous, again in 30 s", AttemptState.AMBIGUOUS),
    Answer.DOWN: ("Ambiguous", AttemptState.AMBIGUOUS),
    Answer.REFUSED: ("ambiguous", AttemptState.AMBIGUOUS),
    Answer.DENIED: ("Ambiguous, again in 30 s", AttemptState.AMBIGUOUS),
}
"""A repeat under a key that is honoured: its refusals prove nothing, and never give the claim back."""

CLAIMED_AT = {manner: after(minutes=-1) for manner in Manner} | {Manner.LAPSED: NOW - DAY}


class Forgetful(Evidence):
    """A ledger that is lost while the message is on the wire."""

    @override
    async def observe(self, seen: Observation, *, at: datetime, next_at: datetime | None = None) -> Kept:
        raise Unreachable("ledger: cannot be reached")


async def put_on_record(ledger: Ledger, asked: NoticeRequest, record: Record, manner: Manner) -> None:
    """Write what earlier runs have left in the ledger."""
    key, at = send(asked).attempt_key, CLAIMED_AT[manner]
    if record in {Record.RELEASED, Record.STANDING, Record.SETTLED}:
        claim = await claimed(ledger, asked, by="former" if manner is Manner.OTHER else "first", at=at)
        if record is Record.RELEASED:
            await ledger.attempts.release(key, claim, note="HTTP 429")
        elif record is Record.SETTLED:
            await ledger.evidence.observe(seen(key, Status.DELIVERED), at=at)
    elif record is Record.CLOSED:
        closed = Result(key=asked.key, outcome=Outcome.WITHDRAWN, rule="withdrawn", closed_at=at)
        await ledger.notices.close(closed, (), at=at)


def expected(record: Record, manner: Manner, answer: Answer) -> tuple[str, int, AttemptState | None]:
    """Return what the engine learns, how often the wire was crossed, and the state of the row."""
    match record, manner, answer:
        case ((Record.NOTHING | Record.RELEASED), Manner.NOT, Answer.LOST):
            return "ambiguous", 1, AttemptState.AMBIGUOUS
        case ((Record.NOTHING | Record.RELEASED), _, _):
            said, state = FIRST[answer]
            return said, 1, state
        case Record.STANDING, Manner.HONOURS, _:
            said, state = AGAIN[answer]
            return said, 1, state
        case Record.STANDING, _, _:
            return "ambiguous", 0, AttemptState.AMBIGUOUS
        case Record.SETTLED, _, _:
            return "submitted: delivered", 0, AttemptState.CONFIRMED
        case _:
            return "barred: closed", 0, None


@pytest.mark.parametrize(("record", "manner", "answer"), [*product(Record, Manner, Answer)])
async def test_the_table_of_a_dispatch(
    shared: Ledger, record: Record, manner: Manner, answer: Answer
) -> None:
    asked = await admitted(shared)
    await put_on_record(shared, asked, record, manner)
    provider = Scripted("first", NOT if manner is Manner.NOT else HONOURS, [SCRIPT[answer]])
    ledger = Ledger(shared._engine)
    if answer is Answer.FORGOTTEN:
        ledger.evidence = Forgetful(shared._engine)
    call = send(asked)

    said = await outcome(dispatcher(ledger, provider).send(call, SetClock()))

    row = await shared.attempts.find(call.attempt_key)
    assert (said, len(provider.crossed), row and row.state) == expected(record, manner, answer)


async def test_what_crosses_the_wire_is_the_rendered_message_under_the_attempt_key(ledger: Ledger) -> None:
    asked = await admitted(ledger)
    provider = Scripted()

    await dispatcher(ledger, provider).send(send(asked), SetClock())

    [message] = provider.crossed
    assert (message.key, message.to) == (attempt_key(asked.key, EMAIL), asked.recipient.email)
    assert message.subject
    assert str(asked.fields["reset_url"]) in message.text
    assert str(asked.fields["reset_url"]) in (message.html or "")


class Absent(Evidence):
    """A ledger that is away for a moment after the wire."""

    away = KEEP_TRIES - 1

    @override
    async def observe(self, seen: Observation, *, at: datetime, next_at: datetime | None = None) -> Kept:
        if self.away:
            self.away -= 1
            raise Unreachable("ledger: cannot be reached")
        return await super().observe(seen, at=at, next_at=next_at)


async def test_an_answer_is_kept_for_a_ledger_that_is_away_for_a_moment(ledger: Ledger) -> None:
    asked = await admitted(ledger)
    ledger.evidence = Absent(ledger._engine)
    provider = Scripted()

    receipt = await dispatcher(ledger, provider).send(send(asked), SetClock())

    row = await row_of(ledger, send(asked).attempt_key)
    assert receipt.dispatch is calls.Dispatch.SUBMITTED
    assert (row.state, row.provider_id) == (AttemptState.SUBMITTED, receipt.provider_id)


async def test_an_answer_is_on_record_before_it_is_returned(ledger: Ledger) -> None:
    asked = await admitted(ledger)
    call, clock = send(asked), SetClock()
    provider = Scripted("first", Capabilities(reads_by_id=True), [says(Status.ACCEPTED, code="250")])

    receipt = await dispatcher(ledger, provider).send(call, clock)

    story = await story_of(ledger, asked)
    assert receipt.observation is not None
    assert [(each.event_id, each.source, each.code) for each in story.observations] == [
        (receipt.observation.event_id, Source.SEND, "250")
    ]
    assert (receipt.provider, receipt.provider_id, receipt.readable) == ("first", "p-1", True)
    assert (await row_of(ledger, call.attempt_key)).address_hash == KEYRING.address_hash(
        EMAIL, str(asked.recipient.email)
    )
    assert story.next_at == after(seconds=15)


@pytest.mark.parametrize(
    ("can", "readable"),
    [(NOT, False), (Capabilities(reads_by_id=True), True), (Capabilities(reads_by_key=True), True)],
)
async def test_a_known_dispatch_can_be_read_if_the_provider_that_took_it_can(
    ledger: Ledger, *, can: Capabilities, readable: bool
) -> None:
    asked = await admitted(ledger)
    await put_on_record(ledger, asked, Record.SETTLED, Manner.OTHER)
    now, former = Scripted("first", replace(can, reads_by_id=not readable)), Scripted("former", can)

    receipt = await dispatcher(ledger, now, former).send(send(asked), SetClock())

    assert (receipt.provider, receipt.readable) == ("former", readable)


async def test_a_message_that_is_not_essential_carries_where_it_ends(ledger: Ledger) -> None:
    sample = SHIPPED.get("weekly_digest").sample
    asked = await admitted(ledger, sample.model_copy(update={"event_id": "week-of-headers"}))
    provider = Scripted()

    await dispatcher(ledger, provider).send(send(asked), SetClock())

    [message] = provider.crossed
    assert message.headers["List-Unsubscribe"] == f"<{sample.fields['unsubscribe_url']}>"
    assert message.headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


async def test_an_id_that_is_the_address_is_not_kept(ledger: Ledger) -> None:
    asked = await admitted(ledger)
    address = asked.recipient.email
    provider = Scripted(answers=[says(Status.PENDING, provider_id=f"<{address}>")])

    receipt = await dispatcher(ledger, provider).send(send(asked), SetClock())

    assert (receipt.dispatch, receipt.provider_id) == (calls.Dispatch.SUBMITTED, None)
    assert str(address) not in f"{await row_of(ledger, attempt_key(asked.key, EMAIL))!r}"


async def test_a_provider_is_told_an_address_in_its_one_form_however_it_was_written(ledger: Ledger) -> None:
    recipient = request().recipient.model_copy(update={"phone": "+1 (202) 555-0142"})
    asked = await admitted(ledger, request(recipient=recipient.model_dump()))
    provider = Scripted()

    await dispatcher(ledger, provider).send(send(asked, SMS), SetClock())

    assert [each.to for each in provider.crossed] == ["+12025550142"]


async def test_a_send_that_is_on_the_wire_at_expiry_ends_there_and_is_in_doubt(ledger: Ledger) -> None:
    asked = await admitted(ledger)
    provider = Scripted(meanwhile=asyncio.Event().wait)
    clock = SetClock(EXPIRY - timedelta(milliseconds=50))

    receipt = await dispatcher(ledger, provider).send(send(asked), clock)

    assert receipt.dispatch is calls.Dispatch.AMBIGUOUS
    assert (await row_of(ledger, attempt_key(asked.key, EMAIL))).note == "expired on the wire"
