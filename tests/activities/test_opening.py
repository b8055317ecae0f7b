"""Which verification may begin: a refusal names its field and leaves no trace; the first opening holds."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio.exceptions import ApplicationError

from activities.admission import DEPLOYED_BY
from activities.catalogue import Catalogue
from activities.challenge import code_digest, link_digest, result_digest
from activities.challenging import DUPLICATE
from activities.opening import Door, RefusedError
from activities.settings import Settings
from activities.store.database import new_engine
from activities.store.ledger import Ledger
from tests.activities.desk import (
    ABROAD,
    BOTH,
    EMAIL_ONLY,
    ID,
    KIND,
    PHONE,
    PHONE_ONLY,
    RETURN,
    SETTINGS,
    WITHOUT,
    Desk,
    edited,
    wish,
    with_policy,
)
from tests.activities.given import KEYRING, NOW, SHIPPED, after
from tests.store import conftest as stores
from tests.store.conftest import Databases
from workflows.challenge_calls import Open, Opening
from workflows.policy.address import canonical
from workflows.policy.models import NoticeRequest, Recipient
from workflows.policy.terms import Limit
from workflows.policy.verification import Destination, VerificationRequest
from workflows.policy.words import ChallengeState, Channel, Method

files = stores.files
postgres = stores.postgres
databases_of_postgres = stores.databases_of_postgres
databases = stores.databases

MARK = "zephyrine"


@pytest.fixture
async def store(databases: Databases) -> AsyncIterator[AsyncEngine]:
    engine = new_engine(await databases.migrated())
    yield engine
    await engine.dispose()


@pytest.fixture
def ledger(store: AsyncEngine) -> Ledger:
    return Ledger(store)


OPAQUE = "looks like an address: ids appear in the UI and in logs, so use an opaque one"
REFUSALS = {
    "a kind without a challenge": (
        wish(kind="password_reset"),
        "kind: carries no challenge; choose one whose policy has [challenge]",
    ),
    "a malformed email": (
        wish(to=Destination(email=f"{MARK}@")),
        "to.email: must be one address like name@example.com, without a name",
    ),
    "an email that has no canonical form": (
        wish(to=Destination(email=f"{'Ⱦ' * 62}@{'a' * 60}.{'b' * 60}.test")),
        "to.email: must be one address like name@example.com, without a name",
    ),
    "a malformed phone": (
        wish(to=Destination(phone=f"0177 {MARK}")),
        "to.phone: must be + and the country code, then digits only, like +14155550100",
    ),
    "no address": (wish(to=Destination()), "to: needs an email or a phone"),
    "an account that is an address": (
        wish(account_id=f"{MARK}@example.com"),
        f"account_id: {OPAQUE}",
    ),
    "a purpose that is an address": (
        wish(purpose=f"{MARK}@example.com"),
        f"purpose: {OPAQUE}",
    ),
    "several mistakes, in one line": (
        wish(account_id=f"{MARK}@example.com", expires_at=after(days=1), to=Destination()),
        f"account_id: {OPAQUE}; to: needs an email or a phone",
    ),
    "the other order": (
        wish(route=("email", "sms")),
        "route: is not in the order of this kind; choose a kind of that order",
    ),
    "a country without texts": (
        wish(to=Destination(phone=ABROAD)),
        "to.phone: texts do not go to this country",
    ),
    "texts alone, to a country without": (
        wish(to=Destination(email="ana@example.test", phone=ABROAD), route=("sms",)),
        "to.phone: texts do not go to this country",
    ),
    "satellites": (wish(to=Destination(phone="+881612345678")), "to.phone: texts do not go to this country"),
    "an expiry in the past": (wish(expires_at=after(minutes=-1)), "expires_at: has passed"),
    "an expiry that is now": (wish(expires_at=NOW), "expires_at: has passed"),
    "a return elsewhere": (
        wish(return_url=f"https://{MARK}.example/"),
        "return_url: is not below any of the links in STANDBY_RETURN_URLS",
    ),
    "a return that is no link": (
        wish(return_url=f"javascript:{MARK}"),
        "return_url: must be a whole link: https://host/…",
    ),
}


@pytest.mark.parametrize(("asked", "refusal"), REFUSALS.values(), ids=REFUSALS)
async def test_a_refusal_names_the_field_and_leaves_no_trace(
    ledger: Ledger, asked: VerificationRequest, refusal: str
) -> None:
    assert await Desk(ledger).open(asked) == Opening(refusal=refusal)
    assert MARK not in refusal
    assert await ledger.challenges.find(ID) is None


@pytest.mark.parametrize(("at", "begins"), [(NOW - timedelta(microseconds=1), True), (NOW, False)])
def test_with_the_clock_frozen_at_expiry_nothing_begins(at: datetime, *, begins: bool) -> None:
    door = Door(SHIPPED, SETTINGS)
    call = Open(request=wish(expires_at=NOW), challenge_id=ID, chain="chain-1")

    if begins:
        assert door.judge(call, at).expires_at == NOW
    else:
        with pytest.raises(RefusedError, match="expires_at: has passed"):
            door.judge(call, at)


@pytest.mark.parametrize("method", [Method.LINK, Method.BOTH])
async def test_no_link_is_promised_where_people_reach_no_page(ledger: Ledger, method: Method) -> None:
    opening = await Desk(ledger, settings=Settings()).open(wish(method=method))

    assert opening.refusal == "method: STANDBY_PUBLIC_URL is not set, and links begin with it; ask for a code"


async def test_a_code_needs_no_page(ledger: Ledger) -> None:
    assert (await Desk(ledger, settings=Settings()).open(wish(method=Method.CODE))).refusal is None


async def test_a_return_below_the_list_is_taken(ledger: Ledger) -> None:
    assert (await Desk(ledger).open(wish(return_url=f"{RETURN}/back?a=1#b"))).refusal is None


async def test_a_channel_that_the_kind_has_not_is_named(ledger: Ledger) -> None:
    texts = with_policy(KIND.policy.model_copy(update={"route": (Channel.SMS,)}))
    asked = [wish(route=("sms", "email")), wish(to=EMAIL_ONLY)]

    told = [(await Desk(ledger, catalogue=texts).open(each)).refusal for each in asked]

    assert told == [
        "route: email is not in the route of this kind",
        "to: has no address for sms, the route of this kind",
    ]


async def test_a_field_that_the_templates_lack_is_named_before_anything_is_sent(ledger: Ledger) -> None:
    needs_more = replace(KIND, templates=SHIPPED.get("class_cancelled").templates)
    catalogue = Catalogue(MappingProxyType({KIND.name: needs_more}))

    refusal = (await Desk(ledger, catalogue=catalogue).open()).refusal

    assert refusal is not None
    assert refusal.startswith("fields.")
    assert await ledger.challenges.find(ID) is None


async def test_an_unknown_kind_is_left_to_newer_workers_for_a_while_and_then_refused(ledger: Ledger) -> None:
    desk = Desk(ledger, catalogue=WITHOUT)

    with pytest.raises(ApplicationError, match="kind: 'signup_verification' is not one of") as caught:
        await desk.open(attempt=DEPLOYED_BY - 1)

    assert (caught.value.type, caught.value.non_retryable) == ("UnknownKind", False)
    told = "kind: 'signup_verification' is not one of password_reset"
    assert await desk.open(attempt=DEPLOYED_BY) == Opening(refusal=told)


async def test_an_opened_challenge_is_on_record_with_its_first_message(ledger: Ledger) -> None:
    desk = Desk(ledger)

    opening = await desk.open(wish(fields={"name": "Ana"}))

    row, first = await desk.record()
    assert opening.notice == NoticeRequest(
        kind="signup_verification",
        event_id=ID,
        recipient=Recipient(id="acc 1", email=BOTH.email, phone=PHONE, sms_consent=True),
        fields={"name": "Ana"},
        expires_at=after(minutes=10),
    )
    assert opening.terms == KIND.policy.challenge
    assert (opening.expires_at, opening.created_at) == (row.expires_at, row.created_at)
    assert (row.state, row.chain, row.expires_at) == (ChallengeState.ACTIVE, "chain-1", after(minutes=10))
    assert (row.account_id, row.kind, row.purpose) == ("acc%201", "signup_verification", "signup")
    assert NOW <= row.created_at < after(minutes=1)
    assert (first.notice_key, first.number) == (opening.notice.key, 1)
    assert (first.email_hash, first.phone_hash) == (
        hashed(Channel.EMAIL, "ana@example.test"),
        hashed(Channel.SMS, PHONE),
    )


def hashed(channel: Channel, written: str) -> str:
    return KEYRING.address_hash(channel, canonical(channel, written))


@pytest.mark.parametrize("method", Method)
async def test_only_digests_are_kept_and_only_of_what_the_method_uses(ledger: Ledger, method: Method) -> None:
    desk = Desk(ledger)
    opening = await desk.open(wish(method=method))

    row, _ = await desk.record()
    made = await desk.secrets()
    assert row.link_digest == (None if method is Method.CODE else link_digest(KEYRING, made.link))
    assert row.code_digest == (None if method is Method.LINK else code_digest(KEYRING, ID, made.code))
    assert row.result_digest == result_digest(KEYRING, made.result)
    written = row.model_dump_json() + opening.model_dump_json()
    assert not any(each in written for each in (made.link, made.result))


@pytest.mark.parametrize(
    ("asked", "email", "phone"),
    [
        (wish(), BOTH.email, PHONE),
        (wish(to=EMAIL_ONLY), EMAIL_ONLY.email, None),
        (wish(to=PHONE_ONLY), None, PHONE),
        (wish(route=("sms",)), None, PHONE),
        (wish(route=("email",)), BOTH.email, None),
        (wish(route=("sms", "email")), BOTH.email, PHONE),
        (wish(to=BOTH.model_copy(update={"phone": ABROAD})), BOTH.email, None),
    ],
    ids=["both", "email", "phone", "texts only", "email only", "the kind's own order", "texts not abroad"],
)
async def test_a_message_goes_and_counts_where_it_was_asked_for_and_may_go(
    ledger: Ledger, asked: VerificationRequest, email: str | None, phone: str | None
) -> None:
    desk = Desk(ledger)
    opening = await desk.open(asked)

    _, first = await desk.record()
    assert opening.notice is not None
    assert (opening.notice.recipient.email, opening.notice.recipient.phone) == (email, phone)
    assert (first.email_hash is not None, first.phone_hash is not None) == (
        email is not None,
        phone is not None,
    )


@pytest.mark.parametrize(("asked", "lives"), [(5, 5), (15, 15), (600, 15)])
async def test_a_challenge_ends_at_the_earlier_of_two_words(ledger: Ledger, asked: int, lives: int) -> None:
    opening = await Desk(ledger).open(wish(expires_at=after(minutes=asked)))

    assert opening.expires_at is not None
    assert after(minutes=lives) <= opening.expires_at < after(minutes=lives, seconds=30)


async def test_a_kind_without_a_duration_leaves_the_end_to_the_request(ledger: Ledger) -> None:
    endless = with_policy(KIND.policy.model_copy(update={"expires_after": None}))

    assert (await Desk(ledger, catalogue=endless).open(wish(expires_at=after(days=3)))).expires_at == after(
        days=3
    )


@pytest.mark.parametrize(
    "since",
    [
        SHIPPED,
        edited(wrong_codes=1, code_digits=8, countries=()),
        edited(per_account=Limit(count=1, per=timedelta(days=1))),
    ],
    ids=["nothing", "its secrets and countries", "its limits"],
)
async def test_a_retry_and_a_reset_get_the_same_answer_whatever_is_edited_since(
    ledger: Ledger, since: Catalogue
) -> None:
    first = await Desk(ledger).open()
    before = await Desk(ledger).record()

    again = await Desk(ledger, catalogue=since).open(at=after(days=2))

    assert again.model_dump(exclude={"terms"}) == first.model_dump(exclude={"terms"})
    assert again.terms is not None
    assert (again.terms.code_digits, again.terms.wrong_codes) == (6, 5)
    assert await Desk(ledger).record() == before


async def test_an_id_is_used_once_for_ever(ledger: Ledger) -> None:
    desk = Desk(ledger)
    await desk.open()
    before = await desk.record()

    assert await desk.open(chain="chain-2", at=after(days=400)) == Opening(refusal=DUPLICATE)
    assert await desk.open(wish(account_id="acc-2"), chain="chain-2") == Opening(refusal=DUPLICATE)
    assert await desk.record() == before


async def test_retries_at_once_open_one_challenge(ledger: Ledger) -> None:
    desk = Desk(ledger)

    answers = await asyncio.gather(*(desk.open() for _ in range(8)))

    assert len({each.model_dump_json() for each in answers}) == 1
    assert answers[0].refusal is None


SIX = range(6)
UNBOUND = Limit(count=100, per=timedelta(hours=1))


async def test_an_account_has_a_limit_of_messages_to_whomever(ledger: Ledger) -> None:
    desk = Desk(ledger, catalogue=edited(per_destination=UNBOUND))

    told = [
        (await desk.open(wish(to=Destination(email=f"a{n}@example.test")), f"challenge-{n}")).refusal
        for n in SIX
    ]

    assert told == [None] * 5 + ["limited: account"]
    assert await ledger.challenges.find("challenge-5") is None


async def test_a_destination_has_a_limit_of_messages_for_whomever_and_however_it_is_written(
    ledger: Ledger,
) -> None:
    desk = Desk(ledger)
    spelt = [
        "ana@example.test",
        "ANA@example.test",
        "Ana@EXAMPLE.test",
        "aNa@example.test",
        "anA@example.test",
    ]

    told = [
        (await desk.open(wish(account_id=f"acc-{n}", to=Destination(email=each)), f"challenge-{n}")).refusal
        for n, each in enumerate([*spelt, "ana@example.test"])
    ]

    assert told == [None] * 5 + ["limited: destination"]


async def test_a_limit_holds_across_workers_that_open_at_once(ledger: Ledger, store: AsyncEngine) -> None:
    desks = [Desk(ledger), Desk(Ledger(store))]

    told = await asyncio.gather(
        *(desks[n % 2].open(wish(account_id=f"acc-{n}"), f"challenge-{n}") for n in range(12))
    )

    assert sorted(str(each.refusal) for each in told) == ["None"] * 5 + ["limited: destination"] * 7
