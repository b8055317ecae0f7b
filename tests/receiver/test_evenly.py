"""Whoever tries a secret that is no good learns nothing from a clock."""

import asyncio
from datetime import timedelta
from typing import Any, cast

import pytest

from client.verifying import NOT_CONSUMED, NoAnswerError
from receiver.consuming import Trials
from receiver.turns import Turns
from tests.receiver.verifying import Stopwatch, alone
from workflows.policy.verification import Consumption

CONSUMED = Consumption(consumed=True, result="result")
TAKES = [0.0, 0.001, 0.25, 0.75, 0.999]


async def _takes(watch: Stopwatch, seconds: float, tried: Consumption = NOT_CONSUMED) -> Consumption:
    watch.now += seconds
    return tried


async def _fails(watch: Stopwatch, seconds: float) -> Consumption:
    watch.now += seconds
    raise NoAnswerError


@pytest.mark.parametrize("seconds", TAKES)
async def test_failures_end_at_the_same_moment_however_soon_they_are_known(seconds: float) -> None:
    watch = Stopwatch()
    await watch.evenly.answer(_takes(watch, seconds))
    assert watch.now == pytest.approx(1001.0)


@pytest.mark.parametrize("seconds", TAKES)
async def test_what_could_not_be_tried_ends_at_that_moment_too(seconds: float) -> None:
    watch = Stopwatch()
    with pytest.raises(NoAnswerError):
        await watch.evenly.answer(_fails(watch, seconds))
    assert watch.now == pytest.approx(1001.0)


@pytest.mark.parametrize(("seconds", "ends"), [(1.0, 1001.0), (1.001, 1002.0), (4.5, 1005.0)])
async def test_a_slow_failure_ends_at_a_later_full_quantum(seconds: float, ends: float) -> None:
    watch = Stopwatch()
    await watch.evenly.answer(_takes(watch, seconds))
    assert watch.now == pytest.approx(ends)


async def test_success_is_answered_at_once() -> None:
    watch = Stopwatch()
    assert await watch.evenly.answer(_takes(watch, 0.25, CONSUMED)) == CONSUMED
    assert watch.slept == []


async def test_a_try_that_is_given_up_does_not_wait() -> None:
    watch = Stopwatch()
    trying = asyncio.ensure_future(watch.evenly.answer(asyncio.Event().wait()))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    trying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trying
    assert watch.slept == []


async def test_where_nothing_answers_a_try_ends_in_no_answer() -> None:
    class Silent:
        async def by_link(self, _digest: str) -> object:
            return await asyncio.Event().wait()

    parts = alone()
    ledger = type("Ledger", (), {"challenges": Silent()})()
    object.__setattr__(parts, "ledger", cast("Any", ledger))
    watch = Stopwatch()
    trials = Trials(parts, watch.evenly, patience=timedelta(milliseconds=1))
    with pytest.raises(NoAnswerError):
        await trials.link("token", "once")
    assert watch.slept != []


async def test_a_challenge_is_tried_by_a_few_at_once_and_others_do_not_wait_for_them() -> None:
    turns, inside, most = Turns(at_once=3), [0], [0]
    door = asyncio.Event()

    async def stay() -> None:
        async with turns.of("one"):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            await door.wait()
            inside[0] -= 1

    crowd = [asyncio.ensure_future(stay()) for _ in range(100)]
    await asyncio.sleep(0)
    async with turns.of("other"):
        assert len(turns) == 2
    door.set()
    await asyncio.gather(*crowd)
    assert most == [3]
    assert len(turns) == 0


async def test_whoever_gives_up_waiting_leaves_the_line() -> None:
    turns = Turns(at_once=1)

    async def stand() -> None:
        async with turns.of("one"):
            pytest.fail("the place was taken")

    async with turns.of("one"):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(stand(), 0.001)
    assert len(turns) == 0
