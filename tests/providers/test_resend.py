"""What only Resend does: a signature of Svix, and a bounce that says why in a callback alone."""

from dataclasses import replace
from datetime import UTC, datetime

import httpx
import pytest

from activities.providers import wire
from activities.providers.base import Callback, Level
from activities.providers.configured import Sender
from activities.providers.errors import Forged, Misconfigured
from activities.providers.resend import Resend
from activities.variables import Credential
from tests.providers.cases.resend import ID, SENDER, bounced, signed
from tests.providers.fakes.resend import TOKEN
from workflows.policy.words import Channel, Status

PUBLISHED = Callback(
    b'{"test": 2432232314}',
    {
        "svix-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "svix-timestamp": "1614265330",
        "svix-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    },
)
"""The vector in the manual of Svix, whose signatures these are; of its secret `SECRET`."""
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SIGNED_AT = datetime.fromtimestamp(1614265330, UTC)


@pytest.fixture
async def resend() -> Resend:
    return Resend(
        wire.new_client(httpx.MockTransport(lambda _: httpx.Response(500))),
        "https://api.example.test",
        Credential(TOKEN),
        SENDER,
        Credential(SECRET),
        clock=lambda: SIGNED_AT,
    )


async def test_the_published_signature_is_believed(resend: Resend) -> None:
    await resend.verify(PUBLISHED)


@pytest.mark.parametrize(
    "altered",
    [
        replace(PUBLISHED, body=b'{"test": 2432232315}'),
        replace(PUBLISHED, headers={**PUBLISHED.headers, "svix-id": "msg_another"}),
        replace(PUBLISHED, headers={**PUBLISHED.headers, "svix-timestamp": "1614265331"}),
        replace(PUBLISHED, headers={**PUBLISHED.headers, "svix-signature": "v2,g0hM9SsE"}),
    ],
    ids=["body", "id", "timestamp", "version"],
)
async def test_an_altered_copy_of_the_published_callback_is_not_believed(
    resend: Resend, altered: Callback
) -> None:
    with pytest.raises(Forged):
        await resend.verify(altered)


@pytest.mark.parametrize("secret", [None, Credential("whsec_!"), Credential("not-base64")])
async def test_a_secret_that_is_none_is_a_setting(resend: Resend, secret: Credential | None) -> None:
    with pytest.raises(Misconfigured):
        await replace(resend, webhook_secret=secret).verify(PUBLISHED)


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("250 2.1.5 ok", Status.REJECTED),
        ("550 5.1.1 unknown user", Status.INVALID_RECIPIENT),
        ("552 5.2.2 mailbox full", Status.TEMPORARY_FAILURE),
        ("Amazon SES has suppressed sending to this address 5.1.1", Status.REJECTED),
    ],
)
async def test_a_permanent_bounce_is_what_its_diagnosis_says_and_never_a_success(
    resend: Resend, message: str, status: Status
) -> None:
    (said,) = resend.parse(bounced("Permanent", "General", message))

    assert (said.status, said.is_final, said.provider_id) == (status, True, ID)


async def listed(domains: httpx.Response, sender: Sender = SENDER) -> Level:
    """Return what is found of a sender, by what the provider says of domains."""
    client = wire.new_client(httpx.MockTransport(lambda _: domains))
    account = Resend(client, "https://api.example.test", Credential(TOKEN), sender)
    [found] = await account.examine(Channel.EMAIL)
    return found.level


@pytest.mark.parametrize(
    ("name", "status", "more", "level"),
    [
        ("Example.com", "verified", False, Level.OK),
        ("example.com", "partially_verified", False, Level.UNCHECKED),
        ("example.com", "failed", True, Level.PROBLEM),
        ("another.example", "verified", False, Level.PROBLEM),
        ("another.example", "verified", True, Level.UNCHECKED),
    ],
)
async def test_a_sender_is_ok_only_where_its_domain_is_said_to_be(
    name: str, status: str, level: Level, *, more: bool
) -> None:
    page = {"has_more": more, "data": [{"name": name, "status": status}]}
    assert await listed(httpx.Response(200, json=page)) is level


async def test_a_bounce_that_was_listed_by_mistake_is_no_complaint() -> None:
    row = {"id": "s-1", "email": "a@example.test", "origin": "bounce", "created_at": "2026-11-01T09:00:00Z"}
    client = wire.new_client(httpx.MockTransport(lambda _: httpx.Response(200, json={"data": [row]})))
    account = Resend(client, "https://api.example.test", Credential(TOKEN), SENDER)

    assert [each async for each in account.listed(Channel.EMAIL)] == []


async def test_a_diagnosis_of_another_shape_is_no_diagnosis(resend: Resend) -> None:
    bounce: dict[str, object] = {
        "type": "Permanent",
        "subType": [],
        "message": 7,
        "diagnosticCode": [None, {}],
    }
    (said,) = resend.parse(signed("email.bounced", bounce=bounce))

    assert (said.status, said.is_final) == (Status.REJECTED, True)
