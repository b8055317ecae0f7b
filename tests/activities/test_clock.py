"""The engine's time inside an activity."""

from datetime import timedelta

from activities.clock import EngineClock
from tests.activities.given import NOW, engine


async def test_time_begins_where_the_engine_says_that_the_activity_started() -> None:
    async def clock() -> EngineClock:
        return EngineClock()

    started = await engine(NOW).run(clock)

    assert NOW <= started.now() < NOW + timedelta(minutes=1), "a host's clock is years away from here"


async def test_time_passes_as_the_activity_runs() -> None:
    async def clock() -> EngineClock:
        return EngineClock()

    running = await engine(NOW).run(clock)
    first = running.elapsed
    while running.elapsed == first:  # until the next tick of this machine
        pass

    assert timedelta() <= first < running.elapsed < timedelta(minutes=1)
    assert running.now() - NOW > first


async def test_each_run_counts_from_its_own_start() -> None:
    async def clock() -> EngineClock:
        return EngineClock()

    later = NOW + timedelta(hours=1)

    assert (await engine(later).run(clock)).now() >= later
