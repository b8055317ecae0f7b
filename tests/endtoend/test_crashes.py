"""A worker that is killed or paused at the worst moments; another one takes over."""

from signal import SIGKILL, SIGSTOP

import pytest

from sandbox.fates import Fate
from tests.endtoend.deployment import CALM, MANNERS, Ending, Town, send
from tests.endtoend.doomed import Point
from tests.endtoend.scenes import Scenes, notice, passing, together, within
from workflows.policy.words import AttemptState, Channel, Outcome, Source

Endings = Scenes[Ending]

EMAIL, SMS = ("email", "accepted"), ("sms", "accepted")
both_manners = pytest.mark.parametrize("manner", MANNERS)


async def killed(town: Town, point: Point, *, honours_keys: bool) -> Ending:
    """Let the worker die at a point of the email's send, then let a healthy one finish the notice."""
    async with town.deployment(honours_keys=honours_keys, scale=CALM) as manner:
        request = notice(f"killed-{point}-{honours_keys}", Fate.DELIVERED, Fate.DELIVERED)
        async with manner.process(point, SIGKILL) as doomed:
            handle = await send(await manner.client(), manner, request)
            await doomed.struck()
        async with manner.worker():
            return await manner.ending(handle)


async def held_on_the_wire(town: Town, *, honours_keys: bool) -> Ending:
    """Pause the worker beside the wire until another has finished the notice, then let it send."""
    async with town.deployment(honours_keys=honours_keys, scale=CALM) as manner:
        request = notice(f"on-the-wire-{honours_keys}", Fate.DELIVERED, Fate.DELIVERED)
        async with manner.process(Point.BEFORE_WIRE, SIGSTOP) as held:
            handle = await send(await manner.client(), manner, request)
            await held.struck()
            async with manner.worker():
                ending = await manner.ending(handle)
            held.let_go()
            await manner.submitted(request.key, len(ending.submissions) + 1)
            return await manner.traces(ending.result)


async def killed_after_a_read(town: Town) -> Ending:
    """Let the worker die with an answer in hand, and another finish the notice."""
    async with town.deployment() as manner:
        request = notice("after-look-up", Fate.DELIVERED, Fate.DELIVERED)
        async with manner.process(Point.AFTER_LOOK_UP, SIGKILL) as doomed:
            handle = await send(await manner.client(), manner, request)
            await doomed.struck()
            before = await manner.story(request.key)
        assert {each.source for each in before.observations} == {Source.SEND}, "it was on record already"
        async with manner.worker():
            return await manner.ending(handle)


async def held_until_expiry(town: Town) -> Ending:
    """Pause the only worker when it has been handed the send, and let it go on after expiry."""
    async with town.deployment() as manner, manner.process(Point.AT_SEND, SIGSTOP) as held:
        expires_at = within(10)
        request = notice("expired", Fate.DELIVERED, Fate.DELIVERED, expires_at=expires_at)
        handle = await send(await manner.client(), manner, request)
        await held.struck()
        await passing(expires_at)
        held.let_go()
        return await manner.ending(handle)


@pytest.fixture(scope="module")
async def endings(town: Town) -> Endings:
    """All at once: each waits mostly for a heartbeat to be missed."""
    scenarios = {"expired": held_until_expiry(town), "after_look_up": killed_after_a_read(town)}
    for name, honours in MANNERS.items():
        scenarios[f"held_{name}"] = held_on_the_wire(town, honours_keys=honours)
        for point in (Point.BEFORE_CLAIM, Point.BEFORE_WIRE, Point.AFTER_WIRE):
            scenarios[f"{point}_{name}"] = killed(town, point, honours_keys=honours)
    return await together(scenarios)


@both_manners
def test_a_worker_that_dies_before_its_claim_row_costs_nothing_and_the_email_goes_out_once(
    endings: Endings, manner: str
) -> None:
    left = endings[f"before_claim_{manner}"]

    assert left.submissions == [EMAIL]
    assert (left.result.outcome, left.result.channel) == (Outcome.DELIVERED, Channel.EMAIL)


def test_a_worker_that_dies_between_claim_and_wire_sends_once_where_keys_are_honoured(
    endings: Endings,
) -> None:
    left = endings["before_wire_honoured"]

    assert left.submissions == [EMAIL]
    assert left.result.outcome is Outcome.DELIVERED


def test_a_worker_that_dies_between_claim_and_wire_never_sends_again_where_keys_are_not_honoured(
    endings: Endings,
) -> None:
    left = endings["before_wire_not_honoured"]

    # Nobody can tell that it never left: the fallback deadline decides.
    assert left.submissions == [SMS]
    assert (left.result.outcome, left.result.channel) == (Outcome.DELIVERED, Channel.SMS)
    assert left.attempt(Channel.EMAIL).state is AttemptState.UNKNOWN


def test_a_worker_that_dies_after_the_wire_repeats_the_key_and_one_message_exists(endings: Endings) -> None:
    left = endings["after_wire_honoured"]

    assert left.submissions == [EMAIL, ("email", "repeated")]
    assert left.reached == ["email"]
    assert (left.result.outcome, left.result.channel) == (Outcome.DELIVERED, Channel.EMAIL)


def test_a_worker_that_dies_after_the_wire_submits_once_where_keys_are_not_honoured(
    endings: Endings,
) -> None:
    left = endings["after_wire_not_honoured"]

    assert left.submissions == [EMAIL, SMS]
    assert left.attempt(Channel.EMAIL).state is AttemptState.UNKNOWN


def test_a_worker_that_was_paused_beside_the_wire_repeats_the_key_and_one_email_exists(
    endings: Endings,
) -> None:
    left = endings["held_honoured"]

    assert left.submissions == [EMAIL, ("email", "repeated")]
    assert left.reached == ["email"]


def test_a_worker_that_was_paused_beside_the_wire_is_the_only_one_to_submit_where_keys_are_not_honoured(
    endings: Endings,
) -> None:
    left = endings["held_not_honoured"]

    # It cannot be called back: the email comes after the text, and still each came once.
    assert left.submissions == [SMS, EMAIL]
    assert left.result.channel is Channel.SMS


def test_a_worker_that_was_paused_with_a_send_in_hand_sends_nothing_after_expiry(endings: Endings) -> None:
    left = endings["expired"]

    assert left.submissions == []
    assert left.result.outcome is Outcome.EXPIRED


def test_a_worker_that_dies_between_a_read_and_its_commit_loses_nothing_but_time(
    endings: Endings,
) -> None:
    left = endings["after_look_up"]

    assert left.submissions == [EMAIL]
    assert (left.result.outcome, left.result.channel) == (Outcome.DELIVERED, Channel.EMAIL)
    assert [each.source for each in left.story.observations] == [Source.SEND, Source.POLL]
