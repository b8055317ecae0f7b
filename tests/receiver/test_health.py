"""What probes are told."""

import asyncio
from datetime import timedelta

import pytest
from starlette.requests import Request

from activities.store.ledger import Ledger
from receiver.health import Ward
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
    class Silent(Engine):
        async def _describe(self, *_: object, **__: object) -> None:
            await asyncio.Event().wait()

    with pytest.raises(Problem, match="engine"):
        await Ward(parts(ledger, Silent()), timedelta(seconds=0.2)).ready(Request({"type": "http"}))
