"""A provider that loses its reply, refuses our credentials, is busy or is down."""

import pytest
from temporalio.api.workflow.v1 import PendingActivityInfo

from client.starting import Handle
from sandbox.fates import Fate
from tests.endtoend.deployment import MANNERS, Ending, Town, send
from tests.endtoend.scenes import LINK, NAME, Scenes, notice, together, until, within
from workflows.notice import Notice
from workflows.policy.words import AttemptState, Channel, Outcome, Source

Endings = Scenes[Ending]

EMAIL, SMS = ("email", "accepted"), ("sms", "accepted")


async def text_lost(town: Town, *, honours_keys: bool) -> Ending:
    """Fall back to a text whose reply is lost."""
    async with town.deployment(honours_keys=honours_keys) as manner, manner.worker() as client:
        request = notice(f"lost-{honours_keys}", Fate.BOUNCED, Fate.LOST, expires_at=within(11))
        return await manner.ending(await send(client, manner, request))


async def email_in_trouble(town: Town, fate: Fate) -> Ending:
    async with town.deployment() as manner, manner.worker() as client:
        return await manner.ending(await send(client, manner, notice(fate, fate, Fate.DELIVERED)))


@pytest.fixture(scope="module")
async def endings(town: Town) -> Endings:
    lost = {f"lost_{name}": text_lost(town, honours_keys=honours) for name, honours in MANNERS.items()}
    troubled = {str(fate): email_in_trouble(town, fate) for fate in (Fate.DENIED, Fate.BUSY, Fate.DOWN)}
    return await together(lost | troubled)


def test_a_text_whose_reply_is_lost_is_repeated_under_its_key_and_exists_once(endings: Endings) -> None:
    left = endings["lost_honoured"]

    assert left.submissions == [EMAIL, SMS, ("sms", "repeated")]
    assert left.reached == ["email", "sms"]
    assert (left.result.outcome, left.result.channel) == (Outcome.DELIVERED, Channel.SMS)
    assert left.story.observations[-1].source is Source.POLL


def test_a_text_whose_reply_is_lost_is_submitted_once_where_keys_are_not_honoured(endings: Endings) -> None:
    left = endings["lost_not_honoured"]

    assert left.submissions == [EMAIL, SMS]
    assert left.result.outcome is Outcome.UNKNOWN
    assert left.attempt(Channel.SMS).state is AttemptState.UNKNOWN


def test_a_busy_provider_is_asked_again_when_it_said_and_takes_the_email_once(endings: Endings) -> None:
    left = endings["busy"]

    assert left.submissions == [("email", "busy"), ("email", "busy"), EMAIL]
    assert (left.result.outcome, left.result.channel) == (Outcome.DELIVERED, Channel.EMAIL)


def test_a_provider_that_is_down_until_the_deadline_gives_way_to_the_text(endings: Endings) -> None:
    left = endings["down"]
    *emails, last = left.submissions

    assert last == SMS
    assert len(emails) > 1
    assert set(emails) == {("email", "not_accepted")}
    assert left.attempt(Channel.EMAIL).state is AttemptState.FAILED


def test_a_provider_that_refuses_our_credentials_gives_way_to_the_text(endings: Endings) -> None:
    left = endings["denied"]

    assert left.submissions == [("email", "denied"), SMS]
    assert left.result.channel is Channel.SMS


async def test_refused_credentials_are_seen_by_the_operator_without_personal_data(town: Town) -> None:
    async with town.deployment(scale=1) as manner, manner.worker() as client:
        request = notice("operator", Fate.DENIED, Fate.DELIVERED)
        handle = await send(client, manner, request)
        await until(lambda: _failing(handle))
        (pending,) = await _failing(handle)
        await handle.signal(Notice.withdraw)
        left = await manner.ending(handle)

    assert pending.last_failure.application_failure_info.type == "Misconfigured"
    assert pending.last_failure.message == "HTTP 401: check the credentials"
    shown = pending.SerializeToString()
    marks = (NAME, LINK, request.recipient.email or "", request.recipient.phone or "")
    assert not [mark for mark in marks if mark.encode() in shown]
    assert left.result.outcome is Outcome.WITHDRAWN
    assert left.submissions == [("email", "denied")]


async def _failing(handle: Handle) -> list[PendingActivityInfo]:
    """Return the activities that the UI shows as failing."""
    described = await handle.describe()
    pending = described.raw_description.pending_activities
    return [each for each in pending if each.HasField("last_failure")]
