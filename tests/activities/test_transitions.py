"""One line and one count for each change that the ledger took, and none for what it had already."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from activities import logs
from activities.chronicle import LedgerChronicle
from activities.settings import LogFormat, LogLevel
from activities.store.attempts import Fresh
from activities.store.ledger import Ledger
from activities.transitions import Transitions
from tests.activities.counted import Counted
from tests.activities.desk import on_try
from tests.activities.given import NOW, admitted, after
from workflows import calls
from workflows.policy.keys import attempt_key
from workflows.policy.models import NoticeRequest, Observation, Result
from workflows.policy.plan import Rule
from workflows.policy.words import Channel, Outcome, Source, Status


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """A process that logs to a string, and is put back as it was."""
    root, raising = logging.root, logging.raiseExceptions
    handlers, level = root.handlers, root.level
    written = io.StringIO()
    logs.configure(LogFormat.JSON, LogLevel.INFO, written)
    yield written
    root.handlers, logging.raiseExceptions = handlers, raising
    root.setLevel(level)


def said(stream: io.StringIO) -> list[dict[str, object]]:
    """Return the transitions, without what every line has."""
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    common = {"level", "logger", "event", "activity_type", "attempt_number", "workflow_id", "run_id"}
    common |= {"workflow_type", "workflow_run_id"}
    return [
        {name: fact for name, fact in line.items() if name not in common}
        for line in lines
        if line["event"] == "transition"
    ]


async def claimed(ledger: Ledger, asked: NoticeRequest) -> str:
    key = attempt_key(asked.key, Channel.EMAIL)
    claim = await ledger.attempts.claim(key, provider="sandbox", address_hash="e" * 64, at=NOW)
    assert isinstance(claim, Fresh)
    return key


def report(key: str, status: Status, *, is_final: bool) -> Observation:
    return Observation(
        attempt_key=key,
        event_id=f"event-{status}",
        source=Source.POLL,
        status=status,
        is_final=is_final,
        raw=status,
        at=NOW,
        provider_id="id-1",
    )


async def test_a_report_that_moves_an_attempt_is_one_line_however_often_it_is_recorded(
    ledger: Ledger, counted: Counted, stream: io.StringIO
) -> None:
    asked = await admitted(ledger)
    key = await claimed(ledger, asked)
    chronicle = LedgerChronicle(ledger, Transitions(counted.meters))
    seen = report(key, Status.DELIVERED, is_final=True)

    for _ in range(3):
        await on_try(1, NOW).run(chronicle.record, calls.Record(observation=seen))

    [line] = said(stream)
    assert str(line.pop("at")).startswith(f"{NOW:%Y}")
    assert line == {
        "notice": asked.key,
        "attempt": key,
        "from": "claimed",
        "to": "awaiting",
        "state": "confirmed",
        "status": "delivered",
        "reads": 1,
    }
    words = "channel=email,provider=sandbox,source=poll,status=delivered,verdict=applied"
    assert counted.read() == {f"reports{{{words}}}": 1}


async def test_a_close_is_counted_once_with_its_life(
    ledger: Ledger, counted: Counted, stream: io.StringIO
) -> None:
    asked = await admitted(ledger)
    await claimed(ledger, asked)
    chronicle = LedgerChronicle(ledger, Transitions(counted.meters))
    result = Result(
        key=asked.key,
        outcome=Outcome.UNKNOWN,
        rule=Rule.CUTOFF,
        closed_at=after(minutes=1),
    )

    for _ in range(2):
        await on_try(1, after(minutes=1)).run(chronicle.close, calls.Close(result=result, attempts=()))

    attempt, notice = said(stream)
    assert (attempt["state"], attempt["to"], notice["to"], notice["rule"]) == (
        "unknown",
        "closed",
        "closed",
        "cutoff",
    )
    assert counted.read() == {
        f"notices_closed{{channel=none,kind={asked.kind},outcome=unknown,rule=cutoff}}": 1,
        f"notice{{kind={asked.kind},outcome=unknown}}": 1,
    }


async def test_a_word_that_nobody_knows_is_counted_as_what_it_is(ledger: Ledger, counted: Counted) -> None:
    asked = await admitted(ledger)
    key = await claimed(ledger, asked)
    chronicle = LedgerChronicle(ledger, Transitions(counted.meters))

    seen = report(key, Status.UNRECOGNIZED, is_final=False)
    await on_try(1, NOW).run(chronicle.record, calls.Record(observation=seen))

    [counter] = counted.read()
    assert "status=unrecognized" in counter
