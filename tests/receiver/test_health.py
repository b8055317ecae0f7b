"""What probes are told."""

import asyncio
import itertools
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus

import pytest
from starlette.requests import Request
from typing_extensions import override

from activities.store.ledger import Ledger
from receiver.health import FRESH, Ward
from receiver.problems import Problem
from tests.receiver.deployed import Engine, calling, gone, is_problem, parts


async def test_a_process_that_is_there_says_so_whatever_is_away(ledger: Ledger) -> None:
    engine = Engine()
    engine.away()
    with gone(ledger):
        async with calling(parts(ledger, engine)) as client:
            answer = await client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize(
    ("engine_is_away", "ledger_is_away", "named"),
    [(True, False, "engine"), (False, True, "ledger"), (True, True, "engine, ledger")],
)
async def test_what_is_away_is_named(
    ledger: Ledger,
    engine_is_away: bool,  # noqa: FBT001 - a row
    ledger_is_away: bool,  # noqa: FBT001 - a row
    named: str,
) -> None:
    engine = Engine()
    made = parts(ledger, engine)
    if engine_is_away:
        engine.away()
    async with calling(made) as client:
        if ledger_is_away:
            with gone(ledger):
                answer = await client.get("/readyz")
        else:
            answer = await client.get("/readyz")
    assert is_problem(answer, 503)
    assert answer.json()["detail"] == f"cannot be reached: {named}"
    assert answer.headers["retry-after"]


async def test_where_both_answer_it_is_ready(ledger: Ledger) -> None:
    async with calling(parts(ledger, Engine())) as client:
        assert (await client.get("/readyz")).json() == {"status": "ok"}


async def test_a_part_that_says_nothing_is_not_waited_for(ledger: Ledger) -> None:
    with pytest.raises(Problem, match="engine"):
        await Ward(parts(ledger, Asked()), timedelta(seconds=0.2)).ready(REQUEST)


REQUEST = Request({"type": "http"})


@dataclass
class Asked(Engine):
    """Answers when it is told to, and counts how often it was asked."""

    times: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    going: asyncio.Event = field(default_factory=asyncio.Event)

    @override
    async def _describe(self, *_: object, **__: object) -> None:
        self.times += 1
        self.asked.set()
        await self.going.wait()
        self.fail()


async def test_all_who_ask_at_once_share_one_examination_and_none_can_end_it(ledger: Ledger) -> None:
    engine = Asked()
    ward = Ward(parts(ledger, engine), clock=itertools.count(step=FRESH.total_seconds()).__next__)
    hasty, *patient = [asyncio.create_task(ward.ready(REQUEST)) for _ in range(50)]
    await engine.asked.wait()
    hasty.cancel()
    engine.going.set()
    answers = await asyncio.gather(*patient)
    assert {each.status_code for each in answers} == {HTTPStatus.OK}
    assert engine.times == 1


async def test_an_answer_holds_for_a_moment_and_no_longer(ledger: Ledger) -> None:
    engine, now = Asked(), 1000.0
    engine.going.set()
    ward = Ward(parts(ledger, engine), clock=lambda: now)
    assert (await ward.ready(REQUEST)).status_code == HTTPStatus.OK
    engine.away()
    assert (await ward.ready(REQUEST)).status_code == HTTPStatus.OK
    now += FRESH.total_seconds()
    for _ in range(2):
        with pytest.raises(Problem, match="engine"):
            await ward.ready(REQUEST)
    assert engine.times == 2
