"""The contract of every adapter against its provider as a server that remembers."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import httpx
import pytest

from activities.providers.base import Level
from activities.providers.errors import Ambiguous, Misconfigured, NotSent
from activities.providers.provider import ListsSuppressions, Provider, TakesSuppressions
from tests.providers.fakes.api import FakeApi, Fault, running
from tests.providers.subject import EMAIL, Subject
from tests.providers.subjects import can, that
from workflows.policy.words import Channel, Status, SuppressionReason

ONE_CLICK = {
    "List-Unsubscribe": "<https://app.example.test/u/5RwT9c>",
    "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
}


@dataclass(frozen=True, slots=True)
class House:
    """A provider that runs, and the adapter that talks to it."""

    subject: Subject
    fake: FakeApi
    provider: Provider


FAKED = that(lambda subject: subject.fake)
IDEMPOTENT = that(lambda subject: subject.fake and can(subject).idempotent_for)
READING = that(lambda subject: subject.fake and can(subject).reads_by_id)
READING_BY_KEY = that(lambda subject: subject.fake and can(subject).reads_by_key)
LISTING = that(lambda subject: subject.fake and can(subject).lists_suppressions)
TAKING = that(lambda subject: subject.fake and can(subject).takes_suppressions)
TAKING_FAULTS = that(
    lambda subject: subject.fake and can(subject).takes_suppressions and subject.lists_faults
)
WRITING = that(lambda subject: subject.fake and subject.message.channel is Channel.EMAIL)


@pytest.fixture
async def house(subject: Subject, client: httpx.AsyncClient) -> AsyncIterator[House]:
    assert subject.fake is not None
    fake = subject.fake()
    async with running(fake) as server:
        yield House(subject, fake, subject.at(client, server.url))
    assert fake.violations == []


@FAKED
async def test_a_send_is_accepted_once_and_whole(house: House) -> None:
    message = house.subject.message

    reported = await house.provider.send(message)

    (stored,) = house.fake.messages
    assert reported.provider_id
    assert stored.draft.text == message.text
    assert stored.draft.to.lstrip("+") == message.to.lstrip("+")


@WRITING
async def test_an_internationalised_domain_goes_out_as_the_provider_wants_it(house: House) -> None:
    await house.provider.send(replace(EMAIL, to="anna@bücher.example"))

    (stored,) = house.fake.messages
    ascii_, written = "anna@xn--bcher-kva.example", "anna@bücher.example"
    assert stored.draft.to == (ascii_ if house.subject.punycode else written)


@READING
async def test_what_was_sent_is_found_by_its_id(house: House) -> None:
    message = house.subject.message
    reported = await house.provider.send(message)

    found = await house.provider.look_up(message.channel, message.key, reported.provider_id)

    assert found is not None
    assert found.status is not Status.UNRECOGNIZED


@READING
async def test_what_cannot_be_looked_up_yet_is_not_there(house: House) -> None:
    message = house.subject.message
    reported = await house.provider.send(message)
    house.fake.lags = True

    assert await house.provider.look_up(message.channel, message.key, reported.provider_id) is None
    house.fake.lags = False
    assert await house.provider.look_up(message.channel, message.key, reported.provider_id) is not None


@FAKED
@pytest.mark.parametrize("fault", [Fault.LOST, Fault.BROKEN])
async def test_a_lost_reply_is_ambiguous_and_one_message(house: House, fault: Fault) -> None:
    house.fake.faults.append(fault)

    with pytest.raises(Ambiguous):
        await house.provider.send(house.subject.message)

    assert (house.fake.submissions, len(house.fake.messages)) == (1, 1)


@READING_BY_KEY
async def test_what_lost_its_reply_is_found_by_its_key(house: House) -> None:
    message = house.subject.message
    house.fake.faults.append(Fault.LOST)
    with pytest.raises(Ambiguous):
        await house.provider.send(message)

    found = await house.provider.look_up(message.channel, message.key, None)

    assert found is not None
    assert found.status is not Status.UNRECOGNIZED


@IDEMPOTENT
async def test_a_repetition_under_an_honoured_key_is_the_same_message(house: House) -> None:
    message = house.subject.message
    house.fake.faults.append(Fault.LOST)
    with pytest.raises(Ambiguous):
        await house.provider.send(message)

    reported = await house.provider.send(message)

    (stored,) = house.fake.messages
    assert reported.provider_id == stored.id


@IDEMPOTENT
async def test_another_content_under_an_honoured_key_is_no_second_message(house: House) -> None:
    message = house.subject.message
    await house.provider.send(message)

    with pytest.raises(Ambiguous):
        await house.provider.send(replace(message, text="another content"))

    assert len(house.fake.messages) == 1


@FAKED
async def test_a_provider_that_is_busy_has_not_sent(house: House) -> None:
    house.fake.faults.append(Fault.BUSY)

    with pytest.raises(NotSent):
        await house.provider.send(house.subject.message)

    assert house.fake.messages == []


@FAKED
async def test_wrong_credentials_are_nobodys_fault_but_the_settings(house: House) -> None:
    house.fake.denies = True

    with pytest.raises(Misconfigured):
        await house.provider.send(house.subject.message)
    with pytest.raises(Misconfigured):
        await house.provider.examine(house.subject.message.channel)


@READING_BY_KEY
@pytest.mark.parametrize("length", [9, 240])
async def test_a_key_of_any_length_is_found_again_and_no_other(house: House, length: int) -> None:
    message = house.subject.message
    key = f"kind:{'e' * length}:{'u' * length}:{message.channel}:1"
    await house.provider.send(replace(message, key=key))

    assert await house.provider.look_up(message.channel, key, None) is not None
    assert await house.provider.look_up(message.channel, message.key, None) is None


@WRITING
async def test_what_may_be_unsubscribed_from_says_how(house: House) -> None:
    url = "https://app.example.test/u/5RwT9c"
    await house.provider.send(replace(EMAIL, unsubscribe_url=url))

    (stored,) = house.fake.messages
    takes = house.provider.capabilities(Channel.EMAIL).takes_headers
    assert dict(stored.draft.headers) == (ONE_CLICK if takes else {})


@FAKED
async def test_an_examination_of_a_right_set_up_finds_no_problem(house: House) -> None:
    findings = await house.provider.examine(house.subject.message.channel)

    assert findings
    assert [each for each in findings if each.level is Level.PROBLEM] == []
    assert house.fake.submissions == 0


async def put_on_the_list(house: House, reason: SuppressionReason) -> None:
    """Put an address on the provider's list twice, and see that it is there once."""
    assert isinstance(house.provider, TakesSuppressions)
    message = house.subject.message
    await house.provider.suppress(message.channel, message.to, reason)
    await house.provider.suppress(message.channel, message.to, reason)

    assert list(house.fake.suppressed) == [message.to]


@TAKING
async def test_a_persons_choice_is_put_on_the_providers_list(house: House) -> None:
    await put_on_the_list(house, SuppressionReason.COMPLAINT)


@TAKING_FAULTS
async def test_a_faulty_address_is_put_on_the_providers_list(house: House) -> None:
    await put_on_the_list(house, SuppressionReason.INVALID_RECIPIENT)


@LISTING
async def test_the_providers_list_is_read_to_its_end(house: House) -> None:
    assert isinstance(house.provider, ListsSuppressions)
    channel = house.subject.message.channel
    addresses = [
        f"person{n}@example.test" if channel is Channel.EMAIL else f"+1202555014{n}" for n in range(5)
    ]
    house.fake.suppressed = dict.fromkeys(addresses, house.fake.choice_word)

    listed = [each async for each in house.provider.listed(channel)]

    assert sorted(each.address for each in listed) == addresses
    assert {each.reason for each in listed} <= set(SuppressionReason) - {SuppressionReason.INVALID_RECIPIENT}
