"""The sandbox's own pages and rules."""

import re
from collections.abc import AsyncIterator
from html import unescape

import httpx
import pytest

from sandbox import fates
from sandbox.config import Config, from_environment, listening
from sandbox.fates import DIGITS, Fate, fate_of, script
from sandbox.server import serve

Draft = dict[str, object]


@pytest.fixture(scope="module")
async def shared() -> AsyncIterator[httpx.AsyncClient]:
    async with serve(Config(bound=5)) as running, httpx.AsyncClient(base_url=running.url) as client:
        yield client


@pytest.fixture
async def sandbox(shared: httpx.AsyncClient) -> httpx.AsyncClient:
    assert (await shared.delete("/inbox.json")).status_code == 204
    return shared


def draft(**given: object) -> Draft:
    return {"channel": "email", "to": "anna@example.test", "key": "k", "text": "t", "subject": "s"} | given


@pytest.mark.parametrize(
    ("channel", "to", "fate"),
    [
        *[("email", f"{fate}@example.test", fate) for fate in Fate],
        *[("email", fate.email("with+plus"), fate) for fate in Fate],
        *[("sms", fate.number(), fate) for fate in Fate],
        ("email", "Bounced+Anna@example.test", Fate.BOUNCED),
        ("email", "anna+bounced@example.test", Fate.DELIVERED),
        ("email", "bounce@example.test", Fate.DELIVERED),
        ("email", "no address", Fate.DELIVERED),
        ("sms", "+12025550100", Fate.DELIVERED),
        ("sms", "+12025550142", Fate.DELIVERED),
    ],
)
def test_the_address_names_the_fate(channel: str, to: str, fate: Fate) -> None:
    assert fate_of(channel, to) is fate


def test_the_documented_digits_are_the_real_ones() -> None:
    rows = re.findall(r"^([a-z-]+) +(\d\d) ", fates.__doc__ or "", re.MULTILINE)

    assert dict(rows) == {str(fate): digits for fate, digits in DIGITS.items()}
    assert len(set(DIGITS.values())) == len(Fate)


@pytest.mark.parametrize("fate", Fate)
def test_a_script_is_in_order(fate: Fate) -> None:
    assert [step.after for step in script(fate)] == sorted(step.after for step in script(fate))


async def test_the_inbox_lists_each_accepted_message_once(sandbox: httpx.AsyncClient) -> None:
    for to in ("anna@example.test", "down@example.test", "denied@example.test"):
        await sandbox.post("/v1/messages", json=draft(to=to, text="Grüße 👋", key=f"key of {to}"))
    rows = (await sandbox.get("/inbox.json")).json()

    assert [row.keys() for row in rows] == [
        {"id", "channel", "to", "key", "at", "subject", "body", "headers"}
    ]
    assert rows[0]["key"] == "key of anna@example.test"
    assert rows[0]["body"] == "Grüße 👋"


async def test_submissions_are_counted_by_key_whatever_became_of_them(sandbox: httpx.AsyncClient) -> None:
    for to, key in [("anna@example.test", "a"), ("down@example.test", "a"), ("busy@example.test", "b")]:
        await sandbox.post("/v1/messages", json=draft(to=to, key=key))
    listed = (await sandbox.get("/submissions.json")).json()

    assert listed["by_key"] == {"a": 2, "b": 1}
    assert [row["answer"] for row in listed["submissions"]] == ["accepted", "not_accepted", "busy"]


async def test_nothing_in_a_message_becomes_markup_of_the_inbox(sandbox: httpx.AsyncClient) -> None:
    nasty = """<script>alert("1")</script>&"'"""
    await sandbox.post("/v1/messages", json=draft(to=f"{nasty}@x", subject=nasty, text=nasty, key=nasty))
    await sandbox.post("/v1/messages", json=draft(html=f'"></iframe>{nasty}'))
    page = await sandbox.get("/")

    assert "<script" not in page.text
    assert page.text.count("</iframe>") == 1
    assert page.text.count("&lt;script&gt;") == 5
    assert page.headers["content-security-policy"].startswith("default-src 'none'")


async def test_the_inbox_page_shows_the_newest_first_with_key_and_fate(sandbox: httpx.AsyncClient) -> None:
    await sandbox.post("/v1/messages", json=draft(key="older", subject="Older"))
    await sandbox.post("/v1/messages", json=draft(key="newer", subject="Newer", to="odd@example.test"))
    page = unescape((await sandbox.get("/")).text)

    assert page.index("Newer") < page.index("Older")
    assert all(shown in page for shown in ("newer", "older", "fate: odd", "now: levitating"))


async def test_a_link_in_a_text_can_be_followed_and_stays_a_link(sandbox: httpx.AsyncClient) -> None:
    link = 'https://app.example.test/?a=1&b=2"onclick=x'
    await sandbox.post("/v1/messages", json=draft(channel="sms", to="+12025550100", text=f"See {link}"))
    page = (await sandbox.get("/")).text

    assert 'href="https://app.example.test/?a=1&amp;b=2&quot;onclick=x"' in page


@pytest.mark.parametrize(("method", "path"), [("DELETE", "/inbox.json"), ("POST", "/clear")])
async def test_clearing_forgets_everything(sandbox: httpx.AsyncClient, method: str, path: str) -> None:
    await sandbox.post("/v1/messages", json=draft())
    await sandbox.request(method, path)

    assert (await sandbox.get("/inbox.json")).json() == []
    assert (await sandbox.get("/submissions.json")).json()["submissions"] == []


async def test_memory_is_bounded_and_the_oldest_go_first(sandbox: httpx.AsyncClient) -> None:
    for number in range(8):
        await sandbox.post(
            "/v1/messages", json=draft(key=str(number)), headers={"Idempotency-Key": str(number)}
        )

    assert [row["key"] for row in (await sandbox.get("/inbox.json")).json()] == ["3", "4", "5", "6", "7"]
    assert len((await sandbox.get("/submissions.json")).json()["submissions"]) == 5


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"[" * 100_000,
        b"{}",
        b'{"channel": "fax", "to": "a@b", "key": "k", "text": "t"}',
        b'{"channel": "email", "to": "a@b", "key": "k", "text": 7}',
        b'{"channel": "email", "to": "", "key": "k", "text": "t"}',
        b'{"channel": "email", "to": "a@b", "key": "", "text": "t"}',
        b'{"channel": "email", "to": "a@b", "key": "k", "text": "t", "html": 7}',
    ],
    ids=range(10),
)
async def test_what_is_no_message_is_refused_as_such(sandbox: httpx.AsyncClient, body: bytes) -> None:
    answered = await sandbox.post("/v1/messages", content=body)

    assert (answered.status_code, answered.json()) == (400, {"error": "invalid_request"})


@pytest.mark.parametrize(
    ("channel", "to"), [("email", "anna"), ("email", "@x"), ("sms", "202"), ("sms", "+1x")]
)
async def test_an_address_that_cannot_be_routed_is_refused(
    sandbox: httpx.AsyncClient, channel: str, to: str
) -> None:
    answered = await sandbox.post("/v1/messages", json=draft(channel=channel, to=to))

    assert (answered.status_code, answered.json()) == (422, {"error": "invalid_recipient"})


async def test_suppression_is_listed_and_lifted(sandbox: httpx.AsyncClient) -> None:
    path = "/v1/suppressions/anna@example.test"
    seen = [(await sandbox.get(path)).json()["suppressed"]]
    await sandbox.post("/v1/suppressions", json={"address": "Anna@example.test"})
    seen.append((await sandbox.get(path)).json()["suppressed"])
    await sandbox.delete(path)
    seen.append((await sandbox.get(path)).json()["suppressed"])

    assert seen == [False, True, False]
    assert (await sandbox.post("/v1/suppressions", json={})).status_code == 400


@pytest.mark.parametrize(("honours_keys", "accepted"), [(True, 1), (False, 2)])
async def test_a_repeated_key_is_one_message_only_where_keys_are_honoured(
    *, honours_keys: bool, accepted: int
) -> None:
    config = Config(honours_keys=honours_keys)
    async with serve(config) as running, httpx.AsyncClient(base_url=running.url) as client:
        for _ in range(2):
            await client.post("/v1/messages", json=draft(), headers={"Idempotency-Key": "k"})

        assert len((await client.get("/inbox.json")).json()) == accepted


async def test_two_sandboxes_live_in_one_loop_and_a_taken_port_is_an_error() -> None:
    async with serve(Config()) as one, serve(Config()) as two:
        assert one.port != two.port
        with pytest.raises(OSError, match="in use"):
            async with serve(Config(), port=one.port):
                pass


def test_the_environment_configures_a_sandbox_and_nothing_else_of_it_matters() -> None:
    environment = {
        "STANDBY_SANDBOX_HONOURS_KEYS": "false",
        "STANDBY_SANDBOX_CALLBACK_URL": "http://receiver.example.test/sandbox",
        "STANDBY_SANDBOX_SCALE": "0.05",
        "STANDBY_SANDBOX_SECRET": "",
        "STANDBY_SANDBOX_PORT": "tcp://10.0.0.1:8025",
        "SCALE": "7",
    }

    assert from_environment(environment) == Config(
        honours_keys=False, callback_url="http://receiver.example.test/sandbox", scale=0.05
    )
    assert listening(environment) == ("127.0.0.1", 8025)
    assert listening({"STANDBY_SANDBOX_HOST": "0.0.0.0", "STANDBY_SANDBOX_PORT": "0"}) == ("0.0.0.0", 0)  # noqa: S104


@pytest.mark.parametrize(
    ("name", "value"), [("HONOURS_KEYS", "maybe"), ("SCALE", "-1"), ("SCALE", "nan"), ("PORT", "70000")]
)
def test_a_setting_that_makes_no_sense_is_named(name: str, value: str) -> None:
    environment = {f"STANDBY_SANDBOX_{name}": value}

    with pytest.raises(ValueError, match=f"STANDBY_SANDBOX_{name} must be"):
        (listening if name == "PORT" else from_environment)(environment)


def test_a_config_does_not_show_its_secret() -> None:
    assert "hidden" not in repr(Config(secret="hidden"))
