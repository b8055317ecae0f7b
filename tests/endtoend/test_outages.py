"""The engine dies, or no worker is there: a notice goes on where it stood, and never too late."""

from pathlib import Path
from signal import SIGKILL

import pytest

from console.engine import EngineAt, development_engine, free_port
from sandbox.fates import Fate
from tests.endtoend.deployment import CALM, Ending, Town, send
from tests.endtoend.doomed import Point
from tests.endtoend.engines import own_engine
from tests.endtoend.scenes import Scenes, notice, passing, together, within
from workflows.policy.words import AttemptState, Channel, Outcome, Source

Endings = Scenes[Ending]


async def engine_killed(home: Path) -> Ending:
    """Kill the engine between the email and its first poll, and start it again on what it has written."""
    at = EngineAt(free_port(), free_port())
    async with Town(at, home).deployment(scale=CALM) as manner, own_engine(home, at) as process:
        client = await manner.client()
        request = notice("restart", Fate.DEFERRED, Fate.DELIVERED)
        async with manner.worker():
            handle = await send(client, manner, request)
            await manner.submitted(request.key)
            process.kill()
            await process.wait()
            async with development_engine(home, at):
                return await manner.ending(handle)


async def worker_held(town: Town) -> Ending:
    """Pause the only worker before the email's deadline, and let it go on after expiry."""
    async with town.deployment() as manner, manner.process() as held:
        expires_at = within(12)
        request = notice("held", Fate.SILENT, Fate.DELIVERED, expires_at=expires_at)
        handle = await send(await manner.client(), manner, request)
        await manner.submitted(request.key)
        held.hold()
        await passing(expires_at)
        held.let_go()
        return await manner.ending(handle)


async def worker_absent(town: Town) -> Ending:
    """Stop the only worker before the email's deadline, and start another after expiry."""
    async with town.deployment() as manner:
        expires_at = within(12)
        request = notice("absent", Fate.SILENT, Fate.DELIVERED, expires_at=expires_at)
        async with manner.worker() as client:
            handle = await send(client, manner, request)
            await manner.submitted(request.key)
        await passing(expires_at)
        async with manner.worker():
            return await manner.ending(handle)


async def worker_stopped(town: Town) -> Ending:
    """Stop the worker as a deployment does, while its email is on the wire, and start another."""
    async with town.deployment(honours_keys=False) as manner:
        request = notice("stopped", Fate.SLOW, Fate.DELIVERED)
        async with manner.worker() as client:
            handle = await send(client, manner, request)
            await manner.submitted(request.key)
        async with manner.worker():
            return await manner.ending(handle)


async def check_answered_late(town: Town) -> Ending:
    """Kill the worker in the check before the email, and start another when the event's deadline is over."""
    async with town.deployment() as manner:
        fallback_at = within(6)
        request = notice(
            "late", Fate.DELIVERED, Fate.DELIVERED, fallback_at=fallback_at, expires_at=within(60)
        )
        async with manner.process(Point.AT_CHECK, SIGKILL) as doomed:
            handle = await send(await manner.client(), manner, request)
            await doomed.struck()
        await passing(fallback_at)
        async with manner.worker():
            return await manner.ending(handle)


@pytest.fixture(scope="module")
async def endings(town: Town, tmp_path_factory: pytest.TempPathFactory) -> Endings:
    return await together(
        {
            "engine": engine_killed(tmp_path_factory.mktemp("restart")),
            "held": worker_held(town),
            "absent": worker_absent(town),
            "stopped": worker_stopped(town),
            "late": check_answered_late(town),
        }
    )


def test_a_notice_goes_on_where_it_stood_when_the_engine_is_killed_in_mid_poll_and_started_again(
    endings: Endings,
) -> None:
    left = endings["engine"]

    assert left.submissions == [("email", "accepted")]
    assert (left.result.outcome, left.result.channel) == (Outcome.DELIVERED, Channel.EMAIL)
    assert Source.POLL in {each.source for each in left.story.observations}


@pytest.mark.parametrize("worker", ["held", "absent"])
def test_nothing_is_sent_late_by_a_worker_that_was_away_across_both_deadlines(
    endings: Endings, worker: str
) -> None:
    left = endings[worker]

    assert left.submissions == [("email", "accepted")]
    assert left.result.outcome is Outcome.EXPIRED
    assert left.attempt(Channel.EMAIL).state is AttemptState.UNKNOWN


def test_a_worker_that_is_told_to_stop_finishes_the_send_that_is_on_the_wire(endings: Endings) -> None:
    left = endings["stopped"]

    assert left.submissions == [("email", "accepted")]
    assert (left.result.outcome, left.result.channel) == (Outcome.DELIVERED, Channel.EMAIL)
    assert left.attempt(Channel.EMAIL).dispatches == 1


def test_a_check_that_is_answered_after_the_event_s_deadline_still_lets_the_email_out(
    endings: Endings,
) -> None:
    left = endings["late"]

    assert left.submissions[0] == ("email", "accepted")
    assert left.result.outcome is Outcome.DELIVERED
