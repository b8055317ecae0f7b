"""Notices on real providers' APIs, as servers that remember, and lost replies: one message, right outcome."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import pytest
from starlette.requests import Request
from typing_extensions import override

from activities.store.records import Story
from tests.endtoend.deployment import Town, send
from tests.endtoend.scenes import LINK, NAME, Scenes, ended, together
from tests.providers.accounts import ACCOUNTS
from tests.providers.fakes.api import FakeApi, Fault
from tests.providers.fakes.courier import FakeCourier
from tests.providers.fakes.infrai import FakeInfrai
from tests.providers.fakes.sendgrid import FakeSendGrid
from tests.providers.fakes.ses import FakeSes
from tests.providers.fakes.sns import FakeSns
from tests.providers.fakes.twilio import FakeTwilio
from workflows.policy.models import NoticeRequest, Recipient, Result
from workflows.policy.words import AttemptState, Channel, Outcome, Source

EMAIL, SMS = Channel.EMAIL, Channel.SMS
ADDRESS, NUMBER = "zephyrine@example.com", "+12065550142"


class QuickGrid(FakeSendGrid):
    first_word = "delivered"


class QuickTwilio(FakeTwilio):
    first_word = "delivered"


class QuickInfrai(FakeInfrai):
    first_word = "delivered"


class QuickCourier(FakeCourier):
    first_word = "DELIVERED"


class AnySes(FakeSes):
    """Takes every key: what a signature is worth, its own tests say."""

    @override
    def credentials_hold(self, request: Request) -> bool:
        return "/ses/aws4_request" in request.headers["authorization"]


@dataclass(frozen=True)
class Pair:
    """Who serves email and texts; one provider may do both."""

    email: str
    sms: str
    fakes: Mapping[str, FakeApi]

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[dict[str, str]]:
        """Run the servers, and yield the variables that choose them."""
        variables = {"STANDBY_EMAIL": self.email, "STANDBY_SMS": self.sms}
        async with AsyncExitStack() as stack:
            for name, fake in self.fakes.items():
                variables |= await stack.enter_async_context(ACCOUNTS[name].open(name, fake))
            yield variables

    def fake(self, channel: Channel) -> FakeApi:
        return self.fakes[self.email if channel is EMAIL else self.sms]


def amazon() -> Pair:
    return Pair("ses", "sns", {"ses": AnySes(), "sns": FakeSns()})


def grid() -> Pair:
    return Pair("sendgrid", "twilio", {"sendgrid": QuickGrid(), "twilio": QuickTwilio()})


def only_infrai() -> Pair:
    return Pair("infrai", "infrai", {"infrai": QuickInfrai()})


def only_courier() -> Pair:
    return Pair("courier", "courier", {"courier": QuickCourier()})


@dataclass(frozen=True)
class Left:
    """What a notice left behind."""

    result: Result
    story: Story
    reached: list[str]
    """The addresses of the accepted messages, in order."""
    submissions: int
    violations: list[str]

    def state(self, channel: Channel) -> AttemptState | None:
        return next((each.state for each in self.story.attempts if each.channel is channel), None)


def notice(name: str, *, email: str | None) -> NoticeRequest:
    recipient = Recipient(id=name, email=email, phone=NUMBER, sms_consent=True)
    fields = {"name": NAME, "valid_minutes": 10, "reset_url": LINK}
    return NoticeRequest(kind="password_reset", event_id="event", recipient=recipient, fields=fields)


async def lost(town: Town, name: str, pair: Pair, channel: Channel, fault: Fault = Fault.LOST) -> Left:
    """Lose the reply of one channel; a text is lost where there is no email."""
    pair.fake(channel).faults.append(fault)
    request = notice(name, email=ADDRESS if channel is EMAIL else None)
    async with AsyncExitStack() as stack:
        choices = await stack.enter_async_context(pair.serving())
        manner = await stack.enter_async_context(town.deployment(choices=choices))
        client = await stack.enter_async_context(manner.worker())
        result = await ended(await send(client, manner, request))
        story = await manner.story(result.key)
    fakes = list(pair.fakes.values())
    return Left(
        result,
        story,
        [stored.draft.to for each in fakes for stored in each.messages],
        sum(each.submissions for each in fakes),
        [each for fake in fakes for each in fake.violations],
    )


@pytest.fixture(scope="module")
async def left(town: Town) -> AsyncIterator[Scenes[Left]]:
    with pytest.MonkeyPatch.context() as patch:
        # botocore reads them from this process.
        for name, value in ACCOUNTS["sns"].variables.items():
            patch.setenv(name, value)
        scenes = {
            "ses": (amazon(), EMAIL),
            "sns": (amazon(), SMS),
            "sendgrid": (grid(), EMAIL),
            "twilio": (grid(), SMS),
            "infrai email": (only_infrai(), EMAIL),
            "infrai sms": (only_infrai(), SMS),
            "courier email": (only_courier(), EMAIL),
            "courier sms": (only_courier(), SMS),
        }
        played = {name: lost(town, f"lost by {name}", *scene) for name, scene in scenes.items()}
        broken = lost(town, "broken by courier", only_courier(), EMAIL, Fault.BROKEN)
        yield await together(played | {"courier email, 500": broken})


Everything = Scenes[Left]


def test_an_email_that_nobody_can_ask_about_is_followed_by_one_text(left: Everything) -> None:
    of = left["ses"]

    assert of.reached == [ADDRESS, NUMBER]
    assert (of.result.outcome, of.result.channel) == (Outcome.ACCEPTED, SMS)
    assert of.state(EMAIL) is AttemptState.UNKNOWN
    assert of.submissions == 2


@pytest.mark.parametrize("name", ["sns", "twilio"])
def test_a_text_whose_reply_is_lost_is_submitted_once_and_its_fate_is_unknown(
    left: Everything, name: str
) -> None:
    of = left[name]

    assert (of.reached, of.submissions) == ([NUMBER], 1)
    assert (of.result.outcome, of.state(SMS)) == (Outcome.UNKNOWN, AttemptState.UNKNOWN)


@pytest.mark.parametrize("name", ["sendgrid", "courier email, 500"])
def test_an_email_whose_reply_is_lost_is_found_by_its_key_and_not_sent_again(
    left: Everything, name: str
) -> None:
    of = left[name]

    assert (of.reached, of.submissions) == ([ADDRESS], 1)
    assert (of.result.outcome, of.result.channel) == (Outcome.DELIVERED, EMAIL)
    assert [each.source for each in of.story.observations] == [Source.POLL]


@pytest.mark.parametrize("name", ["infrai email", "infrai sms", "courier email", "courier sms"])
def test_what_is_repeated_under_an_honoured_key_is_one_message(left: Everything, name: str) -> None:
    of = left[name]

    assert (len(of.reached), of.submissions) == (1, 2)
    assert of.result.outcome is Outcome.DELIVERED


@pytest.mark.parametrize("name", ["ses", "sendgrid", "twilio", "infrai sms", "courier sms"])
def test_every_request_is_as_the_provider_describes_it(left: Everything, name: str) -> None:
    assert left[name].violations == []
