"""However often a notice is started, raced for, run again or begun anew, each message goes out once."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.client import Client

from client.starting import Handle, begin
from console.engine import EngineAt, free_port
from sandbox.fates import Fate
from tests.endtoend import operators
from tests.endtoend.deployment import MANNERS, Ending, Manner, Town, send
from tests.endtoend.engines import FORGETFUL, own_engine
from tests.endtoend.scenes import Scenes, ended, notice, together, until, within
from workflows import calls
from workflows.notice import Notice
from workflows.policy.keys import attempt_key
from workflows.policy.models import NoticeRequest, Result
from workflows.policy.words import Channel, Outcome, Phase, Source

EMAIL, SMS = ("email", "accepted"), ("sms", "accepted")
both_manners = pytest.mark.parametrize("manner", MANNERS)


@dataclass(frozen=True)
class Again:
    """A notice before and after it was begun a second time."""

    before: Ending
    second: Result
    after: Ending


@dataclass(frozen=True)
class Left:
    """What happened to notices in one manner."""

    raced: list[Ending]
    doubled: Ending
    reset: Again
    reset_midway: Again


async def raced_for(manner: Manner, client: Client) -> list[Ending]:
    """Let two workers share notices whose emails all fail."""
    requests = [notice(f"race-{number}-{manner.queue}", Fate.BOUNCED, Fate.DELIVERED) for number in range(5)]
    handles = [await send(client, manner, each) for each in requests]
    return list(await asyncio.gather(*(manner.ending(each) for each in handles)))


async def doubled(manner: Manner, client: Client) -> Ending:
    """Run the send of a text once more, while its workflow's own is on the wire."""
    request = notice(f"doubled-{manner.queue}", None, Fate.SLOW)
    handle = await send(client, manner, request)
    await manner.submitted(request.key)
    await client.execute_activity(
        "send",
        _the_same_text(manner, request),
        id=str(uuid4()),
        task_queue=manner.queue,
        start_to_close_timeout=timedelta(seconds=40),
        result_type=calls.Receipt,
    )
    return await manner.ending(handle)


def _the_same_text(manner: Manner, request: NoticeRequest) -> calls.Send:
    return calls.Send(
        attempt_key=attempt_key(request.key, Channel.SMS),
        request=request,
        channel=Channel.SMS,
        is_fallback=True,
        essential=True,
        watch=manner.parts.catalogue.get(request.kind).policy.watch(Channel.SMS),
        expires_at=within(60),
    )


async def reset(manner: Manner, client: Client) -> Again:
    """Reset a notice that has used both of its channels."""
    handle = await send(client, manner, notice(f"reset-{manner.queue}", Fate.BOUNCED, Fate.DELIVERED))
    before = await manner.ending(handle)
    second = await ended(await operators.reset(client, handle))
    return Again(before, second, await manner.traces(second))


async def reset_midway(manner: Manner, client: Client) -> Again:
    """Reset a notice while it waits for word of its email."""
    request = notice(f"midway-{manner.queue}", Fate.DEFERRED, Fate.DELIVERED)
    handle = await send(client, manner, request)
    await until(lambda: _awaits(handle))
    second = await ended(await operators.reset(client, handle))
    after = await manner.traces(second)
    return Again(after, second, after)


async def _awaits(handle: Handle) -> bool:
    return (await handle.query(Notice.evidence)).phase is Phase.AWAITING


async def forgotten(town: Town) -> Again:
    """Start a notice that the engine has forgotten."""
    async with town.deployment() as manner, manner.worker() as client:
        request = notice("forgotten", Fate.BOUNCED, Fate.DELIVERED)
        handle = await send(client, manner, request)
        before = await manner.ending(handle)
        await operators.forget(client, handle)
        started = await begin(client, request, task_queue=manner.queue)
        assert started.is_new, "the engine has not forgotten it"
        second = await ended(started.handle)
        return Again(before, second, await manner.traces(second))


@pytest.fixture(scope="module")
async def scenes(town: Town) -> Scenes[Left]:
    """Both manners at once, each with two workers on its queue."""
    return await together({name: _live(town, honours_keys=honours) for name, honours in MANNERS.items()})


async def _live(town: Town, *, honours_keys: bool) -> Left:
    async with (
        town.deployment(honours_keys=honours_keys) as manner,
        manner.worker() as client,
        manner.worker(),
    ):
        return Left(
            *await asyncio.gather(
                raced_for(manner, client),
                doubled(manner, client),
                reset(manner, client),
                reset_midway(manner, client),
            )
        )


@both_manners
def test_two_workers_race_for_failed_emails_and_each_notice_gets_one_text(
    scenes: Scenes[Left], manner: str
) -> None:
    raced = scenes[manner].raced

    assert [each.submissions for each in raced] == [[EMAIL, SMS]] * len(raced)
    assert {each.result.outcome for each in raced} == {Outcome.DELIVERED}


def test_two_runs_of_one_send_repeat_the_key_and_one_text_exists(scenes: Scenes[Left]) -> None:
    twice = scenes["honoured"].doubled

    # The second may find the first one's outcome on record already, and then asks nobody.
    assert twice.submissions in ([SMS], [SMS, ("sms", "repeated")])
    assert twice.reached == ["sms"]


def test_two_runs_of_one_send_submit_once_where_keys_are_not_honoured(scenes: Scenes[Left]) -> None:
    assert scenes["not_honoured"].doubled.submissions == [SMS]


@both_manners
def test_a_notice_that_an_operator_resets_after_its_sends_sends_nothing_more(
    scenes: Scenes[Left], manner: str
) -> None:
    again = scenes[manner].reset

    assert again.after.submissions == again.before.submissions == [EMAIL, SMS]
    assert again.second.outcome is Outcome.DELIVERED


@both_manners
def test_a_reset_leaves_the_ledger_s_outcome_and_puts_the_second_run_s_decisions_on_record(
    scenes: Scenes[Left], manner: str
) -> None:
    again = scenes[manner].reset
    first, both = again.before.story, again.after.story

    assert both.notice == first.notice
    assert both.attempts == first.attempts
    assert both.decisions[: len(first.decisions)] == first.decisions
    assert len({each.run for each in both.decisions}) == 2


@both_manners
def test_a_notice_that_is_reset_while_it_waits_sends_nothing_more(scenes: Scenes[Left], manner: str) -> None:
    left = scenes[manner].reset_midway.after

    assert left.submissions == [EMAIL]
    assert (left.result.outcome, left.result.channel) == (Outcome.DELIVERED, Channel.EMAIL)
    assert Source.POLL in {each.source for each in left.story.observations}


async def test_a_notice_that_begins_again_after_retention_is_refused_as_a_duplicate(tmp_path: Path) -> None:
    at = EngineAt(free_port(), free_port())
    async with own_engine(tmp_path, at, *FORGETFUL):
        again = await forgotten(Town(at, tmp_path))

    assert again.second.outcome is Outcome.REFUSED
    assert (again.second.reason or "").startswith("duplicate: ")
    assert again.after.submissions == [EMAIL, SMS]
    assert again.after.story == again.before.story


async def test_a_notice_that_is_started_fifty_times_at_once_begins_once(town: Town) -> None:
    async with town.deployment() as manner, manner.worker() as client:
        request = notice("fifty", Fate.DELIVERED, Fate.DELIVERED)
        starts = await asyncio.gather(*(begin(client, request, task_queue=manner.queue) for _ in range(50)))
        left = await manner.ending(starts[0].handle)

    assert [each.is_new for each in starts].count(True) == 1
    assert {each.handle.id for each in starts} == {request.key}
    assert left.submissions == [EMAIL]
