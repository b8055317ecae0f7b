"""What reaches a template from the deployment: as much as the method uses, fresh, and never too late."""

from datetime import datetime, timedelta

import pytest

from activities.challenge import Secrets, link_digest
from activities.keyring import Keyring
from activities.providers.errors import Misconfigured
from activities.store.carrying import Bar
from activities.store.ledger import Ledger
from activities.supplying import StandIns, Supply
from activities.unsubscribing import address_hash
from tests.activities.challenged import SIGNUP, asked_again, message, opened
from tests.activities.given import EMAIL, EXPIRY, KEYRING, NOW, PUBLIC, RESET, SHIPPED, SMS, send
from workflows.policy.models import Fields, NoticeRequest
from workflows.policy.verification import Presented
from workflows.policy.words import ChallengeState, Channel, Method

DIGEST = SHIPPED.get("weekly_digest")
OWN = "https://fernhill.example/u/own"


async def supplied(
    ledger: Ledger,
    asked: NoticeRequest,
    *,
    channel: Channel = EMAIL,
    public_url: str | None = PUBLIC,
    keyring: Keyring = KEYRING,
    at: datetime = NOW,
) -> Fields | Bar:
    policy = SHIPPED.get(asked.kind).policy
    return await Supply(ledger, keyring, public_url).fields(send(asked, channel), policy, at)


def secrets(made: Secrets, method: Method) -> Fields:
    both: Fields = {"verify_url": f"{PUBLIC}/v/{made.link}", "code": made.code}
    used = {Method.LINK: ["verify_url"], Method.CODE: ["code"], Method.BOTH: ["verify_url", "code"]}
    return {name: both[name] for name in used[method]}


@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize("channel", Channel)
async def test_a_message_gets_what_its_method_uses_and_no_more(
    ledger: Ledger, method: Method, channel: Channel
) -> None:
    asked, made = await opened(ledger, method)

    assert await supplied(ledger, asked, channel=channel) == secrets(made, method)


async def test_every_message_of_a_challenge_carries_the_same_secrets(ledger: Ledger) -> None:
    first, _ = await opened(ledger)
    before = await supplied(ledger, first)
    second = await asked_again(ledger, first.event_id)

    assert second.event_id != first.event_id
    assert await supplied(ledger, second) == before


async def test_only_the_latest_message_of_a_challenge_is_supplied(ledger: Ledger) -> None:
    first, _ = await opened(ledger)
    second = await asked_again(ledger, first.event_id)

    assert await supplied(ledger, first) is Bar.SUPERSEDED
    assert not isinstance(await supplied(ledger, second), Bar)


@pytest.mark.parametrize("method", Method)
async def test_a_caller_cannot_put_a_secret_of_its_own_into_a_message(ledger: Ledger, method: Method) -> None:
    asked, made = await opened(ledger, method)
    own: Fields = {"verify_url": "https://elsewhere.example/", "code": "000000", "name": "Anna"}

    fields = await supplied(ledger, asked.model_copy(update={"fields": own}))

    assert fields == {"name": "Anna", **secrets(made, method)}


async def test_a_kind_without_a_challenge_keeps_its_own_fields_of_these_names(ledger: Ledger) -> None:
    own = {**RESET.sample.fields, "code": "A-1", "verify_url": "https://fernhill.example/"}

    assert await supplied(ledger, RESET.sample.model_copy(update={"fields": own})) == own


@pytest.mark.parametrize("state", [ChallengeState.EXPIRED, ChallengeState.DEAD, ChallengeState.WITHDRAWN])
async def test_nothing_is_supplied_for_a_challenge_that_is_over(
    ledger: Ledger, state: ChallengeState
) -> None:
    asked, _ = await opened(ledger)
    await ledger.challenges.end(asked.event_id, state, at=NOW)

    assert await supplied(ledger, asked) is Bar.OVER


async def test_nothing_is_supplied_for_a_challenge_that_was_consumed(ledger: Ledger) -> None:
    asked, made = await opened(ledger)
    brought = Presented(link=link_digest(KEYRING, made.link))
    await ledger.challenges.consume(asked.event_id, brought, "try-1", at=NOW)

    assert await supplied(ledger, asked) is Bar.OVER


@pytest.mark.parametrize(("gap", "is_over"), [(timedelta(microseconds=-1), False), (timedelta(), True)])
async def test_a_challenge_is_over_at_the_moment_of_its_expiry(
    ledger: Ledger, gap: timedelta, *, is_over: bool
) -> None:
    asked, _ = await opened(ledger)

    assert (await supplied(ledger, asked, at=EXPIRY + gap) is Bar.OVER) == is_over


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"id": "somebody-else"}, id="another account"),
        pytest.param({"email": "delivered+other@example.test"}, id="another email address"),
        pytest.param({"phone": "+12025550882"}, id="another number"),
    ],
)
@pytest.mark.parametrize("channel", Channel)
async def test_nothing_is_supplied_to_a_notice_that_is_no_message_of_its_challenge(
    ledger: Ledger, channel: Channel, other: dict[str, str]
) -> None:
    asked, _ = await opened(ledger)
    foreign = asked.model_copy(update={"recipient": asked.recipient.model_copy(update=other)})

    assert await supplied(ledger, foreign, channel=channel) is Bar.FOREIGN


async def test_nothing_is_supplied_for_a_challenge_that_nobody_opened(ledger: Ledger) -> None:
    assert await supplied(ledger, message("never-opened")) is Bar.FOREIGN


async def test_a_message_without_one_of_its_addresses_is_still_its_own(ledger: Ledger) -> None:
    asked, made = await opened(ledger)
    texted = asked.model_copy(update={"recipient": asked.recipient.model_copy(update={"email": None})})

    assert await supplied(ledger, texted, channel=SMS) == secrets(made, Method.BOTH)


@pytest.mark.parametrize("method", [Method.LINK, Method.BOTH])
async def test_a_link_needs_a_public_url(ledger: Ledger, method: Method) -> None:
    asked, _ = await opened(ledger, method)

    with pytest.raises(Misconfigured, match="STANDBY_PUBLIC_URL is not set"):
        await supplied(ledger, asked, public_url=None)


async def test_a_code_needs_none(ledger: Ledger) -> None:
    asked, made = await opened(ledger, Method.CODE)

    assert await supplied(ledger, asked, public_url=None) == {"code": made.code}


async def test_a_rotated_key_file_still_makes_the_same_secrets(ledger: Ledger) -> None:
    old = Keyring("old", {"old": b"o" * 32}, KEYRING.address)
    new = Keyring("new", {"old": b"o" * 32, "new": b"n" * 32}, KEYRING.address)
    asked, made = await opened(ledger, keyring=old)

    assert await supplied(ledger, asked, keyring=new) == secrets(made, Method.BOTH)


async def test_a_key_that_is_gone_is_for_somebody_to_put_back(ledger: Ledger) -> None:
    asked, _ = await opened(ledger, keyring=Keyring("old", {"old": b"o" * 32}, KEYRING.address))

    with pytest.raises(Misconfigured, match="the key file no longer has the key of this challenge"):
        await supplied(ledger, asked)


@pytest.mark.parametrize(
    ("given", "public_url", "channel", "is_supplied"),
    [
        ({}, PUBLIC, EMAIL, True),
        ({}, None, EMAIL, False),
        ({}, PUBLIC, SMS, False),
        ({"unsubscribe_url": OWN}, PUBLIC, EMAIL, False),
    ],
)
async def test_where_email_ends_is_supplied_where_the_request_does_not_say_it(
    ledger: Ledger, given: Fields, public_url: str | None, channel: Channel, *, is_supplied: bool
) -> None:
    asked = DIGEST.sample.model_copy(update={"fields": given})

    fields = await supplied(ledger, asked, channel=channel, public_url=public_url)

    assert not isinstance(fields, Bar)
    assert (fields != given) == is_supplied
    if is_supplied:
        start, _, token = str(fields["unsubscribe_url"]).rpartition("/")
        assert start == f"{PUBLIC}/unsubscribe"
        assert address_hash(KEYRING, token) == KEYRING.address_hash(EMAIL, str(asked.recipient.email))


async def test_a_link_that_ends_email_names_the_address_however_it_was_written(ledger: Ledger) -> None:
    spelled = DIGEST.sample.recipient.model_copy(update={"email": "delivered+anna@EXAMPLE.test"})
    plain = await supplied(ledger, DIGEST.sample.model_copy(update={"fields": {}}))

    assert (
        await supplied(ledger, DIGEST.sample.model_copy(update={"fields": {}, "recipient": spelled})) == plain
    )


async def test_email_that_is_essential_has_no_end(ledger: Ledger) -> None:
    assert await supplied(ledger, RESET.sample) == RESET.sample.fields


@pytest.mark.parametrize("method", Method)
async def test_stand_ins_are_as_long_as_what_they_stand_in_for(ledger: Ledger, method: Method) -> None:
    asked, _ = await opened(ledger, method)
    real = await supplied(ledger, asked)

    stand_ins = Supply(ledger, KEYRING, PUBLIC).stand_ins(method).beside({}, SIGNUP.policy, EMAIL)

    assert not isinstance(real, Bar)
    assert {name: len(str(each)) for name, each in stand_ins.items()} == {
        name: len(str(each)) for name, each in real.items()
    }
    assert set(stand_ins.values()).isdisjoint(real.values())


async def test_so_is_the_stand_in_for_the_end_of_email(ledger: Ledger) -> None:
    bare = DIGEST.sample.model_copy(update={"fields": {}})
    real = await supplied(ledger, bare)

    stand_in = StandIns(PUBLIC).beside({}, DIGEST.policy, EMAIL)

    assert not isinstance(real, Bar)
    assert len(str(stand_in["unsubscribe_url"])) == len(str(real["unsubscribe_url"]))


def test_a_link_has_a_stand_in_though_nobody_has_said_where_it_begins() -> None:
    stand_ins = StandIns(None, Method.BOTH).beside({}, SIGNUP.policy, EMAIL)

    SIGNUP.render(EMAIL, stand_ins)
    assert set(stand_ins) == {"verify_url", "code"}
