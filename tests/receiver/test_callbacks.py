"""What providers are answered: 2xx only for what is believed, and only once it is kept."""

import json
import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import cast

import httpx
import pytest

from activities.providers.base import Callback
from activities.providers.errors import ReadFailed
from activities.providers.mailgun import Mailgun
from activities.providers.provider import Provider
from activities.providers.registry import Providers
from activities.store.ledger import Ledger
from activities.variables import Credential
from sandbox.callbacks import signature
from tests.providers.cases import infrai, mailgun, sandbox, sendgrid, sns, vonage
from tests.providers.subject import NOW, SECRET
from tests.receiver.deployed import (
    ASKED,
    EMAIL,
    PERSONAL,
    PUBLIC,
    SETTINGS,
    SMS,
    Engine,
    calling,
    dispatched,
    gone,
    is_problem,
    parts,
)
from workflows.policy.words import Source, Status

SANDBOX = sandbox.SUBJECTS[0]
DELIVERED = sandbox.signed({"status": "delivered"})


def adapter(later: timedelta = timedelta(), secret: str | None = None) -> Provider:
    made = SANDBOX.at(httpx.AsyncClient(), "https://api.example.test", clock=lambda: NOW + later)
    return replace(made, secret=Credential(secret)) if secret else made  # type: ignore[type-var]


async def call(
    ledger: Ledger,
    callback: Callback = DELIVERED,
    *,
    engine: Engine | None = None,
    by: Provider | None = None,
    name: str = "",
    settings: Mapping[str, str] | None = None,
) -> httpx.Response:
    by = by or adapter()
    async with calling(parts(ledger, engine or Engine(), [by], settings)) as client:
        path = f"/callbacks/{name or by.name}"
        return await client.post(path, content=callback.body, headers=dict(callback.headers))


async def on_record(ledger: Ledger) -> list[tuple[Status, Source, str]]:
    story = await ledger.story(ASKED.key)
    assert story is not None
    return [(each.status, each.source, each.verdict) for each in story.observations]


async def test_a_callback_before_the_receipt_is_signalled(ledger: Ledger) -> None:
    engine = Engine()
    await dispatched(ledger, "sandbox")
    assert (await call(ledger, engine=engine)).status_code == 200
    assert [(each.attempt_key, each.event_id) for each in engine.heard] == [(EMAIL, "ev-1")]
    assert await on_record(ledger) == []


async def test_a_callback_for_a_notice_that_has_closed_is_on_record(ledger: Ledger) -> None:
    await dispatched(ledger, "sandbox")
    assert (await call(ledger, engine=Engine(running=set()))).status_code == 200
    assert await on_record(ledger) == [(Status.DELIVERED, Source.CALLBACK, "applied")]


async def test_a_callback_for_an_attempt_that_nobody_knows_is_kept_aside(ledger: Ledger) -> None:
    engine = Engine()
    assert (await call(ledger, engine=engine)).status_code == 200
    assert (await call(ledger, engine=engine)).status_code == 200
    assert engine.heard == []
    assert await ledger.strays.count() == {"sandbox": 1}


async def test_a_callback_about_the_attempt_of_another_provider_is_not_believed_to_be_its(
    ledger: Ledger,
) -> None:
    engine = Engine()
    await dispatched(ledger, "sendgrid")
    assert (await call(ledger, engine=engine)).status_code == 200
    assert engine.heard == []
    assert await on_record(ledger) == []


async def test_a_callback_that_is_on_record_is_not_signalled_again(ledger: Ledger) -> None:
    await dispatched(ledger, "sandbox")
    await call(ledger, engine=Engine(running=set()))
    engine = Engine()
    assert (await call(ledger, engine=engine)).status_code == 200
    assert engine.heard == []
    assert len(await on_record(ledger)) == 1


async def test_with_the_engine_away_the_ledger_has_it(ledger: Ledger) -> None:
    engine = Engine()
    engine.away()
    await dispatched(ledger, "sandbox")
    assert (await call(ledger, engine=engine)).status_code == 200
    assert await on_record(ledger) == [(Status.DELIVERED, Source.CALLBACK, "applied")]


async def test_with_engine_and_ledger_away_the_provider_has_to_come_again(ledger: Ledger) -> None:
    engine = Engine()
    engine.away()
    await dispatched(ledger, "sandbox")
    with gone(ledger):
        answer = await call(ledger, engine=engine)
    assert is_problem(answer, 503)
    assert answer.headers["retry-after"]
    assert engine.heard == []


@pytest.mark.parametrize(
    ("by", "callback"),
    [
        pytest.param(adapter(), Callback(DELIVERED.body, {}), id="unsigned"),
        pytest.param(adapter(), replace(DELIVERED, body=DELIVERED.body + b" "), id="altered"),
        pytest.param(adapter(secret="another"), DELIVERED, id="signed by another"),
        pytest.param(adapter(timedelta(minutes=6)), DELIVERED, id="stale"),
        pytest.param(adapter(-timedelta(minutes=6)), DELIVERED, id="of the future"),
    ],
)
async def test_what_is_not_believed_is_refused_and_moves_nothing(
    ledger: Ledger, by: Provider, callback: Callback
) -> None:
    engine = Engine()
    await dispatched(ledger, "sandbox")
    answer = await call(ledger, callback, engine=engine, by=by)
    assert is_problem(answer, 403)
    assert engine.heard == []
    assert await on_record(ledger) == []
    assert await ledger.strays.count() == {}


async def test_a_replayed_callback_has_no_second_effect(ledger: Ledger) -> None:
    await dispatched(ledger, "sandbox")
    for _ in range(3):
        assert (await call(ledger, engine=Engine(running=set()))).status_code == 200
    assert len(await on_record(ledger)) == 1


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"event_id": 7}', b"\xff\x00"], ids=range(5))
async def test_what_is_signed_and_cannot_be_read_is_a_bad_request(ledger: Ledger, body: bytes) -> None:
    answer = await call(ledger, sandbox_signed(body))
    assert is_problem(answer, 400)


def sandbox_signed(body: bytes) -> Callback:
    timestamp = str(int(NOW.timestamp()))
    signed = {"sandbox-timestamp": timestamp, "sandbox-signature": signature(SECRET, timestamp, body)}
    return Callback(body, signed)


@pytest.mark.parametrize("name", ["nobody", "infrai", "sns", "%2e%2e", "SANDBOX"])
async def test_who_makes_no_callbacks_has_no_address_here(ledger: Ledger, name: str) -> None:
    made = [SANDBOX.at(httpx.AsyncClient(), "https://api.example.test")]
    async with calling(parts(ledger, Engine(), [*made, *silent()])) as client:
        assert is_problem(await client.post(f"/callbacks/{name}", content=b"{}"), 404)


def silent() -> Iterator[Provider]:
    """Yield adapters that are never called back."""
    for subject in (infrai.SUBJECTS[0], sns.SUBJECTS[0]):
        yield subject.at(httpx.AsyncClient(), "https://api.example.test")


async def test_a_sandbox_that_serves_nothing_is_not_heard_since_its_secret_is_public(ledger: Ledger) -> None:
    others = {**SETTINGS, "STANDBY_EMAIL": "sendgrid", "STANDBY_SMS": "twilio"}
    assert is_problem(await call(ledger, settings=others), 404)


SENDS = {
    "STANDBY_EMAIL_FROM": "notices@example.com",
    "STANDBY_SMS_FROM": "+12025550100",
    "STANDBY_AWS_REGION": "eu-central-1",
}
"""What several providers share: with it some adapters can be made that nobody uses."""


@asynccontextmanager
async def as_set(ledger: Ledger, variables: Mapping[str, str]) -> AsyncIterator[httpx.AsyncClient]:
    """Deploy the adapters as these variables describe them."""
    made = parts(ledger, Engine(), settings={**SETTINGS, **variables})
    async with httpx.AsyncClient() as outward:
        providers = Providers(made.settings, outward)
        async with calling(replace(made, providers=providers)) as client:
            yield client


def logged(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    ours = [each for each in caplog.records if each.name == "standby"]
    return [(each.levelno, f"{each.__dict__['facts'].get('why')}") for each in ours]


def unset(name: str) -> list[tuple[int, str]]:
    return [(logging.WARNING, f"{name}: is not set")]


@pytest.mark.parametrize(
    "name", ["aws_sms", "courier", "mailgun", "plivo", "postmark", "resend", "sendgrid", "ses", "twilio"]
)
async def test_a_provider_that_this_deployment_does_not_use_is_no_address_and_no_alarm(
    ledger: Ledger, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    async with as_set(ledger, SENDS) as client:
        answers = [await client.post(f"/callbacks/{each}", content=b"{}") for each in (name, "nobody")]
    assert is_problem(answers[0], 404)
    assert answers[0].content == answers[1].content
    assert logged(caplog) == []


@pytest.mark.parametrize(
    ("name", "chosen", "lacking"),
    [
        pytest.param("twilio", {"STANDBY_SMS": "twilio"}, "STANDBY_TWILIO_ACCOUNT_SID", id="chosen"),
        pytest.param(
            "postmark",
            {"STANDBY_EMAIL": "postmark", "STANDBY_POSTMARK_SERVER_TOKEN": "t"},
            "STANDBY_POSTMARK_WEBHOOK_SECRET",
            id="without the secret",
        ),
        pytest.param(
            "sendgrid",
            {"STANDBY_SENDGRID_API_KEY": "t"},
            "STANDBY_SENDGRID_WEBHOOK_KEY",
            id="of earlier messages",
        ),
    ],
)
async def test_a_provider_that_lacks_a_setting_comes_again_once_that_is_there(
    ledger: Ledger, caplog: pytest.LogCaptureFixture, name: str, chosen: dict[str, str], lacking: str
) -> None:
    async with as_set(ledger, {**SENDS, **chosen}) as client:
        answers = [await client.post(f"/callbacks/{name}", content=b"{}") for _ in range(3)]
    for each in answers:
        assert is_problem(each, 503)
        assert "STANDBY_" not in each.text
    assert logged(caplog) == unset(lacking)


async def test_what_vonage_forgot_to_sign_is_brought_again_signed(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    engine, said = Engine(), vonage.receipt("delivered")
    made = vonage.SUBJECTS[0].at(httpx.AsyncClient(), "https://api.example.test")
    await dispatched(ledger, "vonage", SMS)
    unsigned = await call(ledger, vonage.as_form(said), engine=engine, by=made)
    assert is_problem(unsigned, 503)
    assert (unsigned.headers["retry-after"], engine.heard) == ("60", [])
    assert [level for level, _ in logged(caplog)] == [logging.WARNING]
    forged = vonage.as_form(vonage.signed(said, "another-signature-secret-of-tests"))
    assert is_problem(await call(ledger, forged, engine=engine, by=made), 403)
    signed = vonage.as_form(vonage.signed(said))
    assert (await call(ledger, signed, engine=engine, by=made)).status_code == 200
    assert [each.status for each in engine.heard] == [Status.DELIVERED]


async def test_a_key_that_cannot_be_had_to_check_with_is_no_verdict(ledger: Ledger) -> None:
    class Unsure(type(adapter())):  # type: ignore[misc]
        async def verify(self, _callback: Callback) -> None:
            raise ReadFailed("HTTP 503 for the certificate of SNS")

    answer = await call(ledger, by=cast("Provider", Unsure(httpx.AsyncClient(), "", Credential("s"))))
    assert is_problem(answer, 503)
    assert answer.headers["retry-after"]


async def test_a_body_beyond_the_limit_is_not_read(ledger: Ledger) -> None:
    engine = Engine()
    answer = await call(ledger, Callback(b"x" * (1024 * 1024 + 1), {}), engine=engine)
    assert is_problem(answer, 413)


async def test_a_callback_of_nothing_that_concerns_us_is_done(ledger: Ledger) -> None:
    made = mailgun.SUBJECTS[0].at(httpx.AsyncClient(), "https://api.example.test")
    (copy,) = [each for each in mailgun.HEARD if each.name == "a copy"]
    assert (await call(ledger, copy.callback, by=made)).status_code == 200
    assert await ledger.strays.count() == {}


# Mailgun signs a token and not the body


def mailed(event: str) -> Callback:
    return mailgun.signed(mailgun.event(event))


async def test_a_token_that_comes_back_with_another_body_is_refused(ledger: Ledger) -> None:
    engine = Engine()
    made = cast("Mailgun", mailgun.SUBJECTS[0].at(httpx.AsyncClient(), "https://api.example.test"))
    await dispatched(ledger, "mailgun")
    assert (await call(ledger, mailed("accepted"), engine=engine, by=made)).status_code == 200
    assert is_problem(await call(ledger, mailed("complained"), engine=engine, by=made), 406)
    assert [each.status for each in engine.heard] == [Status.PENDING]


def mailgun_at(later: timedelta) -> Provider:
    return mailgun.SUBJECTS[0].at(httpx.AsyncClient(), "https://api.example.test", clock=lambda: NOW + later)


async def test_what_an_outage_kept_away_is_taken_from_the_last_repetition(ledger: Ledger) -> None:
    """Mailgun repeats for 8 hours, and each time with the token and the time of the first."""
    engine, tries = Engine(), (timedelta(), timedelta(minutes=10), timedelta(hours=4))
    await dispatched(ledger, "mailgun")
    with gone(ledger):
        for later in tries:
            engine.away()
            answer = await call(ledger, mailed("delivered"), engine=engine, by=mailgun_at(later))
            assert is_problem(answer, 503)
    last = mailgun_at(timedelta(hours=8, minutes=5))
    assert (await call(ledger, mailed("delivered"), engine=engine, by=last)).status_code == 200
    assert await on_record(ledger) == [(Status.DELIVERED, Source.CALLBACK, "applied")]


@pytest.mark.parametrize(
    ("later", "callback"),
    [
        pytest.param(timedelta(hours=13), mailed("delivered"), id="stale"),
        pytest.param(-timedelta(minutes=6), mailed("delivered"), id="of the future"),
        pytest.param(timedelta(), mailgun.signed(mailgun.event("delivered"), key="another-key"), id="forged"),
        pytest.param(timedelta(), Callback(b'{"event-data": {"event": "delivered"}}', {}), id="unsigned"),
    ],
)
async def test_mailgun_is_told_in_its_own_word_to_bring_that_no_more(
    ledger: Ledger, later: timedelta, callback: Callback
) -> None:
    engine = Engine()
    await dispatched(ledger, "mailgun")
    assert is_problem(await call(ledger, callback, engine=engine, by=mailgun_at(later)), 406)
    assert engine.heard == []


async def test_a_token_that_comes_back_with_its_own_body_is_a_retry(ledger: Ledger) -> None:
    made = mailgun.SUBJECTS[0].at(httpx.AsyncClient(), "https://api.example.test")
    await dispatched(ledger, "mailgun")
    for _ in range(2):
        engine = Engine(running=set())
        assert (await call(ledger, mailed("delivered"), engine=engine, by=made)).status_code == 200
    assert len(await on_record(ledger)) == 1


# SendGrid sends batches


WORDS = ("received", "processed", "deferred", "delivered")
BATCH = sendgrid.signed(*(sendgrid.event(each) for each in WORDS * 2))


async def test_a_batch_is_taken_whole(ledger: Ledger) -> None:
    engine = Engine()
    made = sendgrid.SUBJECTS[0].at(httpx.AsyncClient(), "https://api.example.test")
    await dispatched(ledger, "sendgrid")
    assert (await call(ledger, BATCH, engine=engine, by=made)).status_code == 200
    assert {each.attempt_key for each in engine.heard} == {EMAIL}
    assert len({each.event_id for each in engine.heard}) == len(engine.heard) == len(WORDS)


async def test_errors_and_the_log_tell_nothing_of_what_was_sent(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    body = json.dumps({"event_id": "e", "message": {"to": "anna.secret@example.test"}}).encode()
    for callback in (Callback(body, {}), sandbox_signed(b"[" + body)):
        answer = await call(ledger, callback)
        assert not any(each in answer.text + caplog.text for each in PERSONAL)


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, 404),
        ({"STANDBY_SANDBOX_SECRET": "our-own"}, 200),
        ({"STANDBY_PUBLIC_URL": "http://127.0.0.1:8026"}, 200),
    ],
)
async def test_on_the_open_net_the_sandbox_is_heard_only_with_a_secret_of_its_own(
    ledger: Ledger, changes: Mapping[str, str], status: int
) -> None:
    await dispatched(ledger, "sandbox")
    settings = {"STANDBY_PUBLIC_URL": PUBLIC, **changes}
    assert (await call(ledger, settings=settings)).status_code == status
