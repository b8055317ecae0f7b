"""An operator's controls, read at the moment of effect: off holds, on releases, expiry ends what is held."""

import pytest

from sandbox.fates import Fate
from tests.endtoend.deployment import Ending, Manner, Town, send
from tests.endtoend.scenes import Scenes, notice, together, until, within
from workflows.policy.controls import Control, Switch
from workflows.policy.words import Channel, Outcome, Source

Endings = Scenes[Ending]

EMAIL, SMS = ("email", "accepted"), ("sms", "accepted")


async def turn(manner: Manner, switch: Switch, *, on: bool) -> None:
    async with manner.ledger() as ledger:
        await ledger.controls.put(switch, Control(on=on), by="operator", why="a test", at=within(0))


async def held(manner: Manner, key: str) -> None:
    """Wait until the notice has asked, and was told to wait."""

    async def is_held() -> bool:
        async with manner.ledger() as ledger:
            story = await ledger.story(key)
        return story is not None and "held" in {each.answer for each in story.decisions}

    await until(is_held)


async def released(town: Town, switch: Switch) -> Ending:
    """Turn an effect off, and on again once a notice waits for it."""
    async with town.deployment() as manner, manner.worker() as client:
        await turn(manner, switch, on=False)
        request = notice(f"held-{switch}", Fate.BOUNCED, Fate.DELIVERED)
        handle = await send(client, manner, request)
        await held(manner, request.key)
        before = await manner.submissions(request.key)
        assert before == ([EMAIL] if switch is Switch.FALLBACK else []), "it was not held"
        await turn(manner, switch, on=True)
        return await manner.ending(handle)


async def expired(town: Town, switch: Switch) -> Ending:
    """Turn an effect off, and leave it off until a notice expires."""
    async with town.deployment() as manner, manner.worker() as client:
        await turn(manner, switch, on=False)
        request = notice(f"expires-{switch}", Fate.BOUNCED, Fate.DELIVERED, expires_at=within(15))
        return await manner.ending(await send(client, manner, request))


async def unread(town: Town) -> Ending:
    """Turn reads off for notices whose messages would be found delivered."""
    async with town.deployment() as manner, manner.worker() as client:
        await turn(manner, Switch.RECONCILE, on=False)
        request = notice("unread", Fate.DELIVERED, Fate.DELIVERED, expires_at=within(25))
        return await manner.ending(await send(client, manner, request))


@pytest.fixture(scope="module")
async def endings(town: Town) -> Endings:
    return await together(
        {
            "dispatch": released(town, Switch.DISPATCH),
            "fallback": released(town, Switch.FALLBACK),
            "dispatch stays off": expired(town, Switch.DISPATCH),
            "fallback stays off": expired(town, Switch.FALLBACK),
            "reconcile": unread(town),
        }
    )


@pytest.mark.parametrize("switch", ["dispatch", "fallback"])
def test_a_notice_that_was_held_is_sent_once_the_control_is_on_again(endings: Endings, switch: str) -> None:
    left = endings[switch]

    assert left.submissions == [EMAIL, SMS]
    assert left.result.outcome is Outcome.DELIVERED


@pytest.mark.parametrize("switch", ["dispatch", "fallback"])
def test_each_answer_that_held_a_notice_is_on_record(endings: Endings, switch: str) -> None:
    channel = {"dispatch": Channel.EMAIL, "fallback": Channel.SMS}[switch]
    asked = [each for each in endings[switch].story.decisions if each.channel is channel and each.answer]

    assert (asked[0].answer, asked[0].reason) == ("held", f"{switch}_off")
    assert (asked[-1].answer, asked[-1].reason) == ("yes", None)


@pytest.mark.parametrize(("switch", "sent"), [("dispatch", []), ("fallback", [EMAIL])])
def test_a_notice_that_is_held_until_it_expires_ends_without_the_send(
    endings: Endings, switch: str, sent: list[tuple[str, str]]
) -> None:
    left = endings[f"{switch} stays off"]

    assert left.submissions == sent
    assert left.result.outcome is Outcome.EXPIRED


def test_nothing_is_read_while_reconcile_is_off(endings: Endings) -> None:
    left = endings["reconcile"]

    assert {each.source for each in left.story.observations} == {Source.SEND}
    assert left.story.notice.reads == 0
    assert left.submissions == [EMAIL, SMS]
    assert left.result.outcome is Outcome.UNKNOWN
