"""Which notice may begin: a refusal names its field and repeats nothing; the first admission holds."""

from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType

import pytest
from temporalio.exceptions import ApplicationError

from activities.admission import DEPLOYED_BY, LedgerAdmission
from activities.catalogue import Catalogue
from activities.store.ledger import Ledger
from activities.supplying import Supply
from activities.templates import Part
from tests.activities.challenged import asked_again, message, opened
from tests.activities.given import (
    EMAIL,
    EXPIRY,
    KEYRING,
    NOW,
    PUBLIC,
    RESET,
    SHIPPED,
    SMS,
    after,
    engine,
    request,
    story_of,
)
from workflows import calls
from workflows.policy.models import NoticeRequest, Recipient
from workflows.policy.terms import Policy
from workflows.policy.words import ChallengeState, Method, Phase

MARK = "zephyrine"
CANCELLED = SHIPPED.get("class_cancelled").sample
CALLER = {"id": "user-1", "phone": "+12025550182"}


async def admit(
    ledger: Ledger,
    asked: NoticeRequest,
    *,
    chain: str = "chain-1",
    catalogue: Catalogue = SHIPPED,
    at: datetime = NOW,
    attempt: int = DEPLOYED_BY,
    public_url: str | None = None,
) -> calls.Admission:
    call = calls.Admit(request=asked, chain=chain)
    env = engine(at)
    env.info = replace(env.info, attempt=attempt)
    return await env.run(LedgerAdmission(catalogue, ledger, Supply(ledger, KEYRING, public_url)).admit, call)


def changed(policy: Policy) -> Catalogue:
    """Return the shipped kinds as they are once somebody has edited the policy of a reset."""
    kind = replace(RESET, policy=policy, digest="edited")
    return Catalogue(MappingProxyType({**SHIPPED.kinds, RESET.name: kind}))


def event(**changes: object) -> NoticeRequest:
    """Return a cancelled class: its kind has no duration, its event brings the times."""
    facts = CANCELLED.model_dump() | {"expires_at": after(hours=2), "fallback_at": after(hours=1)} | changes
    return NoticeRequest.model_validate(facts)


def fields(**changes: object) -> dict[str, object]:
    return {**RESET.sample.fields, "name": MARK, **changes}


REFUSALS = {
    "an unknown kind": (
        request(kind="pasword_reset"),
        (
            "kind: 'pasword_reset' is not one of class_cancelled, password_reset, seller_payout,"
            " signup_verification, weekly_digest"
        ),
    ),
    "a malformed email": (
        request(recipient=Recipient(id="user-1", email=f"{MARK}@")),
        "email: must be one address like name@example.com, without a name",
    ),
    "an email with a display name": (
        request(recipient=Recipient(id="user-1", email=f"{MARK} <{MARK}@example.test>")),
        "email: must be one address like name@example.com, without a name",
    ),
    "a malformed phone": (
        request(recipient=Recipient(id="user-1", email="a@example.test", phone=f"0177 {MARK}")),
        "phone: must be + and the country code, then digits only, like +14155550100",
    ),
    "no address at all": (
        request(recipient=Recipient(id="user-1")),
        "recipient: has no address for any channel of this kind's route",
    ),
    "no address on the route": (
        NoticeRequest.model_validate(
            SHIPPED.get("weekly_digest").sample.model_dump() | {"recipient": CALLER}
        ),
        "recipient: has no address for any channel of this kind's route",
    ),
    "a missing field": (request(fields={"name": MARK, "valid_minutes": 10}), "fields.reset_url: missing"),
    "missing fields": (
        request(fields={"name": MARK}),
        "fields.valid_minutes: missing; fields.reset_url: missing",
    ),
    "a link without TLS": (
        request(fields=fields(reset_url=f"http://{MARK}.example/reset")),
        "fields.reset_url: must be https (http is for loopback hosts)",
    ),
    "no expiry": (
        event(expires_at=None),
        "expires_at: this kind needs it, since its policy has no expires_after",
    ),
    "a fallback that comes too late": (
        event(fallback_at=after(hours=2, seconds=-59)),
        "fallback_at: must leave the fallback at least min_useful before expires_at",
    ),
}


@pytest.mark.parametrize(("asked", "refusal"), REFUSALS.values(), ids=REFUSALS)
async def test_a_refusal_names_the_field_and_leaves_no_trace(
    ledger: Ledger, asked: NoticeRequest, refusal: str
) -> None:
    admission = await admit(ledger, asked)

    assert admission == calls.Admission(refusal=refusal)
    assert MARK not in refusal
    assert await ledger.story(asked.key) is None


async def test_a_kind_that_this_worker_does_not_know_is_left_to_newer_workers_for_a_while(
    ledger: Ledger,
) -> None:
    with pytest.raises(ApplicationError, match="kind: 'pasword_reset' is not one of") as caught:
        await admit(ledger, request(kind="pasword_reset"), attempt=DEPLOYED_BY - 1)

    assert (caught.value.type, caught.value.non_retryable) == ("UnknownKind", False)


async def test_an_admitted_notice_is_on_record_with_its_terms(ledger: Ledger) -> None:
    asked = request(occurred_at=NOW)

    admission = await admit(ledger, asked)

    notice = (await story_of(ledger, asked)).notice
    assert admission == calls.Admission(policy=RESET.policy, policy_digest=RESET.digest, expires_at=EXPIRY)
    assert (notice.phase, notice.chain) == (Phase.QUEUED, "chain-1")
    assert NOW <= notice.created_at < after(minutes=1)
    assert (notice.expires_at, notice.policy_digest) == (EXPIRY, RESET.digest)


async def test_a_key_is_used_once_for_ever(ledger: Ledger) -> None:
    asked = request()
    await admit(ledger, asked)

    admission = await admit(ledger, asked, chain="chain-2", at=after(days=400))

    assert admission == calls.Admission(
        refusal="duplicate: a notice with this key is on record already; a notice key is used once, for ever"
    )
    assert (await story_of(ledger, asked)).notice.chain == "chain-1"


@pytest.mark.parametrize(
    "edited",
    [
        SHIPPED,
        SHIPPED.scaled(0.5),
        changed(RESET.policy.model_copy(update={"route": (EMAIL,)})),
        changed(RESET.policy.model_copy(update={"route": (SMS, EMAIL)})),
    ],
    ids=["nothing", "its durations", "one channel less", "the order of its channels"],
)
async def test_the_first_admission_holds_whatever_is_edited_since(ledger: Ledger, edited: Catalogue) -> None:
    asked = request(recipient=Recipient(id="user-1", email="a@example.test"))
    first = await admit(ledger, asked)

    again = await admit(ledger, asked, catalogue=edited, at=after(minutes=5))

    assert again == first
    assert again.ruled_out == {SMS: "no_address"}


async def test_only_channels_of_the_admitted_route_are_ruled_out(ledger: Ledger) -> None:
    asked = request(recipient=Recipient(id="user-1", email="a@example.test"))
    alone = changed(RESET.policy.model_copy(update={"route": (EMAIL,)}))
    await admit(ledger, asked, catalogue=alone)

    again = await admit(ledger, asked)

    assert again.policy is not None
    assert (again.policy.route, again.ruled_out) == ((EMAIL,), {})


async def test_a_notice_that_has_expired_already_is_admitted_so_that_its_end_is_on_record(
    ledger: Ledger,
) -> None:
    asked = request(occurred_at=after(hours=-1))

    admission = await admit(ledger, asked)

    assert (admission.refusal, admission.expires_at) == (None, after(minutes=-50))
    assert (await story_of(ledger, asked)).expires_at == after(minutes=-50)


@pytest.mark.parametrize(
    ("recipient", "ruled_out"),
    [
        (Recipient(id="user-1", email="a@example.test", phone="+12025550182"), {}),
        (Recipient(id="user-1", email="a@example.test"), {SMS: "no_address"}),
        (Recipient(id="user-1", phone="+12025550182"), {EMAIL: "no_address"}),
    ],
)
async def test_a_channel_without_an_address_is_ruled_out(
    ledger: Ledger, recipient: Recipient, ruled_out: dict[str, str]
) -> None:
    admission = await admit(ledger, request(recipient=recipient))

    assert (admission.refusal, admission.ruled_out) == (None, ruled_out)


@pytest.mark.parametrize(("phone", "admitted"), [(None, True), ("+12025550182", False)])
async def test_only_what_can_be_sent_has_to_render(
    ledger: Ledger, *, phone: str | None, admitted: bool
) -> None:
    needs_more = SHIPPED.get("class_cancelled").templates[Part.SMS]
    kind = replace(RESET, templates=MappingProxyType({**RESET.templates, Part.SMS: needs_more}))
    asked = request(recipient=Recipient(id="user-1", email="a@example.test", phone=phone))

    admission = await admit(ledger, asked, catalogue=Catalogue({kind.name: kind}))

    assert (admission.refusal is None) == admitted


async def test_a_fallback_with_just_enough_time_is_admitted(ledger: Ledger) -> None:
    latest = after(hours=2) - timedelta(minutes=1)

    assert (await admit(ledger, event(fallback_at=latest))).refusal is None


ONLY_BY_VERIFICATION = "kind: carries a challenge, and is only sent by a verification"


async def test_a_kind_that_carries_a_challenge_is_admitted_for_a_verification_only(ledger: Ledger) -> None:
    asked = message("nobody-opened-it")

    assert await admit(ledger, asked) == calls.Admission(refusal=ONLY_BY_VERIFICATION)
    assert await ledger.story(asked.key) is None


@pytest.mark.parametrize(
    "changes",
    [{"recipient": CALLER}, {"kind": "signup_again"}, {"recipient": {"email": "delivered+x@example.test"}}],
    ids=["account", "kind", "address"],
)
async def test_a_challenge_of_another_account_kind_or_address_is_none(
    ledger: Ledger, changes: dict[str, object]
) -> None:
    opened_for, _ = await opened(ledger)
    signup = SHIPPED.get("signup_verification")
    given = opened_for.model_dump()
    if isinstance(whom := changes.get("recipient"), dict):
        changes = {"recipient": given["recipient"] | whom}
    asked = NoticeRequest.model_validate(given | changes)
    again = Catalogue(dict.fromkeys((signup.name, "signup_again"), signup))

    assert await admit(ledger, asked, catalogue=again) == calls.Admission(refusal=ONLY_BY_VERIFICATION)


@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize("public_url", [None, PUBLIC])
async def test_the_messages_of_a_challenge_are_admitted_with_their_numbers(
    ledger: Ledger, method: Method, public_url: str | None
) -> None:
    first, _ = await opened(ledger, method)
    second = await asked_again(ledger, first.event_id)

    admitted = [await admit(ledger, each, public_url=public_url) for each in (first, second)]
    again = await admit(ledger, second, public_url=public_url)

    assert [(each.refusal, each.number) for each in admitted] == [(None, 1), (None, 2)]
    assert again == admitted[1]


async def test_a_message_of_a_challenge_that_is_over_has_its_notice_all_the_same(ledger: Ledger) -> None:
    asked, _ = await opened(ledger)
    await ledger.challenges.end(asked.event_id, ChallengeState.WITHDRAWN, at=NOW)

    assert (await admit(ledger, asked)).refusal is None


@pytest.mark.parametrize(
    ("public_url", "refusal"),
    [
        (
            None,
            (
                "fields.unsubscribe_url: missing, and this kind is not essential: its email must offer an"
                " end; set STANDBY_PUBLIC_URL to have it supplied"
            ),
        ),
        (PUBLIC, None),
    ],
)
async def test_where_email_ends_may_be_left_to_a_deployment_that_people_can_reach(
    ledger: Ledger, public_url: str | None, refusal: str | None
) -> None:
    sample = SHIPPED.get("weekly_digest").sample
    bare = {name: value for name, value in sample.fields.items() if name != "unsubscribe_url"}

    admission = await admit(ledger, sample.model_copy(update={"fields": bare}), public_url=public_url)

    assert admission.refusal == refusal
