"""Unsubscribing: one POST ends email, once for ever; looking at the page ends nothing."""

from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest

from activities.keyring import Keyring
from activities.store.ledger import Ledger
from activities.unsubscribing import token
from tests.receiver.deployed import HASH, KEYRING, PERSONAL, Engine, calling, gone, parts
from tests.receiver.markup import Page
from workflows.policy.words import Channel, SuppressionReason

PATH = f"/unsubscribe/{token(KEYRING, HASH)}"
ONE_CLICK = {"List-Unsubscribe": "One-Click"}
ELSEWHERE = token(replace(Keyring.plaintext(), address=b"x" * 32), HASH)


@pytest.fixture
async def client(ledger: Ledger) -> AsyncIterator[httpx.AsyncClient]:
    async with calling(parts(ledger, Engine())) as client:
        yield client


async def chosen(ledger: Ledger) -> frozenset[SuppressionReason]:
    return await ledger.suppressions.active(HASH, Channel.EMAIL)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_looking_changes_nothing(client: httpx.AsyncClient, ledger: Ledger, method: str) -> None:
    assert (await client.request(method, PATH)).status_code == 200
    assert await chosen(ledger) == frozenset()


async def test_the_button_of_the_page_does_what_a_mailbox_does(
    client: httpx.AsyncClient, ledger: Ledger
) -> None:
    shown = Page((await client.get(PATH)).text)
    assert shown.one("form").attributes == {"method": "post"}
    sent = {"List-Unsubscribe": shown.value("List-Unsubscribe")}
    assert sent == ONE_CLICK
    assert (await client.post(PATH, data=sent)).status_code == 200
    assert await chosen(ledger) == {SuppressionReason.UNSUBSCRIBED}


@pytest.mark.parametrize(
    "sent",
    [{"data": ONE_CLICK}, {"files": {"List-Unsubscribe": (None, "One-Click")}}, {}, {"content": b"\xff\x00"}],
    ids=["form", "multipart", "nothing", "bytes"],
)
async def test_a_post_ends_email_whatever_its_body(
    client: httpx.AsyncClient, ledger: Ledger, sent: dict[str, object]
) -> None:
    answer = await client.post(PATH, **sent)  # type: ignore[arg-type]
    assert answer.status_code == 200
    assert await chosen(ledger) == {SuppressionReason.UNSUBSCRIBED}


async def test_twice_is_once_and_is_told_alike(client: httpx.AsyncClient, ledger: Ledger) -> None:
    first, second = [await client.post(PATH, data=ONE_CLICK) for _ in range(2)]
    assert (first.status_code, first.text) == (second.status_code, second.text)
    assert await chosen(ledger) == {SuppressionReason.UNSUBSCRIBED}


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("bad", ["x", "x" * 64, "%00", ELSEWHERE, PATH.rpartition("/")[2][:-1] + "!"])
async def test_what_is_none_of_our_links_ends_nothing(
    client: httpx.AsyncClient, ledger: Ledger, method: str, bad: str
) -> None:
    answer = await client.request(method, f"/unsubscribe/{bad}")
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert await chosen(ledger) == frozenset()


async def test_where_it_cannot_be_put_on_record_the_button_is_there_again(
    client: httpx.AsyncClient, ledger: Ledger
) -> None:
    with gone(ledger):
        answer = await client.post(PATH, data=ONE_CLICK)
    assert answer.status_code == 503
    assert answer.headers["retry-after"]
    assert Page(answer.text).one("button").text == ["Unsubscribe"]


async def test_a_person_who_was_let_in_again_can_choose_again(
    client: httpx.AsyncClient, ledger: Ledger
) -> None:
    made = parts(ledger, Engine())
    await client.post(PATH, data=ONE_CLICK)
    reason = SuppressionReason.UNSUBSCRIBED
    await ledger.suppressions.lift(HASH, Channel.EMAIL, reason, by="operator", at=made.clock())
    assert await chosen(ledger) == frozenset()


async def test_its_pages_are_whole_say_nothing_personal_and_load_nothing(
    client: httpx.AsyncClient, ledger: Ledger
) -> None:
    answers = [await client.get(PATH), await client.post(PATH), await client.get("/unsubscribe/x")]
    with gone(ledger):
        answers.append(await client.post(PATH))
    for answer in answers:
        shown = Page(answer.text)
        assert (shown.unclosed, shown.stray, shown.doctype.lower()) == ([], [], "doctype html")
        assert shown.one("html").attributes["lang"] == "en"
        assert shown.one("title").text == shown.one("h1").text
        assert not [each for name in ("script", "img", "link", "iframe") for each in shown.all(name)]
        assert not any(each in answer.text for each in (*PERSONAL, HASH, PATH.rpartition("/")[2]))
        assert "set-cookie" not in answer.headers
        assert "form-action 'self'" in answer.headers["content-security-policy"]
