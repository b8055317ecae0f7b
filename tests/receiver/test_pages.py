"""What people open: pages that look nothing up, work without script, and send browsers to known places."""

import base64
import hashlib
import re
from collections.abc import AsyncIterator
from typing import Any, cast

import httpx
import pytest

from activities.settings import Settings
from client.verifying import NOT_CONSUMED, NoAnswerError
from receiver import page
from receiver.consuming import Trials
from receiver.pages import FAILED
from tests.receiver.markup import Page, colours, contrast
from tests.receiver.verifying import (
    FORM,
    RETURN,
    SETTINGS,
    Stopwatch,
    alone,
    app,
    browsing,
)
from workflows.policy.verification import Consumption

TOKEN = "T" * 43
ONCE = "once-of-a-rendering"
LINK, CODE = f"/v/{TOKEN}", "/c/challenge-1"
SHOWN = {
    "link": page.confirming(ONCE),
    "code": page.entering(ONCE),
    "confirmed": page.confirmed(),
    "failed link": page.failed_link(),
    "failed code": page.failed_code(),
    "unanswered link": page.unanswered(ONCE, asks_code=False),
    "unanswered code": page.unanswered(ONCE, asks_code=True),
}
every_page = pytest.mark.parametrize("text", SHOWN.values(), ids=SHOWN.keys())


class Saying:
    """Trials whose every answer is known before."""

    def __init__(self, said: Consumption | Exception, settings: Settings = SETTINGS) -> None:
        self.parts = alone(settings)
        self.asked: list[tuple[str, ...]] = []
        self._said = said

    async def link(self, token: str, once: str) -> Consumption:
        return self._say(token, once)

    async def code(self, challenge_id: str, code: str, once: str) -> Consumption:
        return self._say(challenge_id, code, once)

    def _say(self, *asked: str) -> Consumption:
        self.asked.append(asked)
        if isinstance(self._said, Exception):
            raise self._said
        return self._said


@pytest.fixture
async def untouched() -> AsyncIterator[httpx.AsyncClient]:
    """A browser before pages whose every other part fails when it is used."""
    async with browsing(app(alone())) as client:
        yield client


async def _said(said: Consumption | Exception, settings: Settings = SETTINGS) -> httpx.Response:
    trials = cast("Any", Saying(said, settings))
    async with browsing(app(alone(settings), trials)) as client:
        return await client.post(LINK, data={"once": ONCE})


# Looking


@pytest.mark.parametrize("path", [LINK, "/v/x", f"/v/{'x' * 3000}", "/v/%00%ff", CODE, "/c/no"])
@pytest.mark.parametrize(
    "headers",
    [{}, {"Sec-Purpose": "prefetch"}, {"Purpose": "prefetch"}, {"User-Agent": "SafeLinks scanner"}],
    ids=["plain", "prefetch", "old prefetch", "scanner"],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_opening_touches_neither_engine_nor_ledger(
    untouched: httpx.AsyncClient, method: str, path: str, headers: dict[str, str]
) -> None:
    assert (await untouched.request(method, path, headers=headers)).status_code == 200


@pytest.mark.parametrize(("path", "other"), [(LINK, "/v/another"), (CODE, "/c/another-challenge")])
async def test_the_page_is_the_same_for_whatever_is_asked(
    untouched: httpx.AsyncClient, path: str, other: str
) -> None:
    pages = [(await untouched.get(each)).text for each in (path, other)]
    one, two = (text.replace(Page(text).value("once"), "") for text in pages)
    assert one == two


async def test_each_rendering_has_a_name_of_its_own(untouched: httpx.AsyncClient) -> None:
    names = {Page((await untouched.get(LINK)).text).value("once") for _ in range(20)}
    assert len(names) == 20


@pytest.mark.parametrize("path", [LINK, CODE])
async def test_a_head_has_the_headers_of_the_page(untouched: httpx.AsyncClient, path: str) -> None:
    got, head = await untouched.get(path), await untouched.head(path)
    assert (head.status_code, head.headers) == (got.status_code, got.headers)


# The page itself


@every_page
def test_a_page_is_one_document_with_language_title_and_one_heading(text: str) -> None:
    read = Page(text)
    assert (read.doctype.lower(), read.unclosed, read.stray) == ("doctype html", [], [])
    assert read.one("html").attributes == {"lang": "en"}
    assert read.one("h1").text == read.one("title").text != []
    assert len(read.all("main")) == 1
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in [
        each.attributes for each in read.all("meta")
    ]


@every_page
def test_every_field_that_is_seen_has_a_label(text: str) -> None:
    read = Page(text)
    seen = {each.attributes["id"] for each in read.all("input") if each.attributes.get("type") != "hidden"}
    assert seen == {each.attributes["for"] for each in read.all("label")}


@every_page
def test_a_page_has_no_script_and_loads_nothing(text: str) -> None:
    read = Page(text)
    names = {each.name for each in read.elements}
    assert not names & {"script", "img", "link", "iframe", "object", "embed", "base", "svg"}
    assert not [key for each in read.elements for key in each.attributes if key.startswith(("on", "style"))]
    assert "url(" not in text
    assert "@import" not in text
    assert "://" not in text


def test_a_code_is_typed_with_digits_and_filled_in_from_the_message() -> None:
    (field,) = (each for each in Page(page.entering(ONCE)).all("input") if each.attributes["name"] == "code")
    assert field.attributes["inputmode"] == "numeric"
    assert field.attributes["autocomplete"] == "one-time-code"
    assert field.attributes["aria-describedby"] == "hint"


def test_a_failed_code_leads_back_to_its_page() -> None:
    assert Page(page.failed_code()).one("a").attributes == {"href": ""}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("text", "ground"),
    [
        ("strong", "card"),
        ("plain", "card"),
        ("quiet", "card"),
        ("accent", "card"),
        ("on-accent", "accent"),
        ("plain", "back"),
    ],
)
def test_every_text_can_be_read(text: str, ground: str, *, dark: bool) -> None:
    named = colours(page.STYLE, dark=dark)
    assert contrast(named[text], named[ground]) >= 4.5


def test_focus_is_visible_and_nothing_has_a_width_that_a_small_screen_lacks() -> None:
    assert ":focus-visible { outline: 3px solid" in page.STYLE
    assert not re.search(r"(?<!max-)width: *\d+(px|rem)", page.STYLE)


# Headers


async def _policy(client: httpx.AsyncClient) -> dict[str, list[str]]:
    header = (await client.get(LINK)).headers["content-security-policy"]
    split = (each.split() for each in header.split(";"))
    return {name: sources for name, *sources in split}


async def test_the_policy_allows_the_style_of_the_page_and_nothing_else(untouched: httpx.AsyncClient) -> None:
    text = Page((await untouched.get(LINK)).text).one("style").text
    digest = base64.b64encode(hashlib.sha256("".join(text).encode()).digest()).decode()
    assert await _policy(untouched) == {
        "default-src": ["'none'"],
        "style-src": [f"'sha256-{digest}'"],
        "form-action": ["'self'", "https://other.example", "https://shop.example"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
    }


HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-robots-tag": "noindex",
}
ANSWERS = {
    "failed": NOT_CONSUMED,
    "confirmed": Consumption(consumed=True, result="r"),
    "sent on": Consumption(consumed=True, result="r", return_url=RETURN),
    "unanswered": NoAnswerError(),
}


@pytest.mark.parametrize("said", ANSWERS.values(), ids=ANSWERS.keys())
@pytest.mark.parametrize(("name", "value"), HEADERS.items())
async def test_every_answer_keeps_itself_to_itself(
    said: Consumption | Exception, name: str, value: str
) -> None:
    answer = await _said(said)
    assert answer.headers[name] == value
    assert "set-cookie" not in answer.headers
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")


# The way back

OPEN = Settings.read({"STANDBY_RETURN_URLS": f"{RETURN} http://127.0.0.1:8000"})


@pytest.mark.parametrize(
    ("url", "onward"),
    [
        (RETURN, f"{RETURN}?result=re%2Fsult"),
        (f"{RETURN}?lang=en", f"{RETURN}?lang=en&result=re%2Fsult"),
        (f"{RETURN}/deeper#part", f"{RETURN}/deeper?result=re%2Fsult#part"),
        ("http://127.0.0.1:8000/back", "http://127.0.0.1:8000/back?result=re%2Fsult"),
    ],
)
async def test_a_browser_is_sent_on_to_an_allowed_link(url: str, onward: str) -> None:
    answer = await _said(Consumption(consumed=True, result="re/sult", return_url=url), OPEN)
    assert (answer.status_code, answer.headers["location"]) == (303, onward)


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/welcome",
        "https://shop.example.evil.example/welcome",
        "https://shop.example@evil.example/welcome",
        "https://shop.example:8443/welcome",
        "http://shop.example/welcome",
        "https://shop.example/welcome-back",
        "https://shop.example/welcome/../elsewhere",
        "https://shop.example/welcome\\@evil.example",
        "//evil.example/welcome",
        "/\\evil.example",
        "javascript:alert(1)",
        "https://shop.example/welcome\r\nX-Evil: 1",
        "",
    ],
)
async def test_a_browser_stays_where_the_link_is_not_allowed_any_more(url: str) -> None:
    answer = await _said(Consumption(consumed=True, result="result", return_url=url), OPEN)
    assert answer.status_code == 200
    assert "location" not in answer.headers
    assert answer.text == page.confirmed()


# What is sent


@pytest.mark.parametrize("path", [LINK, CODE])
@pytest.mark.parametrize(
    ("headers", "content", "status"),
    [
        ({"Content-Type": "application/json"}, b"{}", 415),
        ({"Content-Type": "multipart/form-data; boundary=x"}, b"--x--", 415),
        ({}, b"once=1", 415),
        (FORM, b"once=" + b"x" * 5000, 413),
        (FORM, b"&".join(b"a=1" for _ in range(9)), 400),
    ],
    ids=["json", "multipart", "untyped", "large", "many fields"],
)
async def test_what_is_no_small_form_is_not_tried(
    untouched: httpx.AsyncClient, path: str, headers: dict[str, str], content: bytes, status: int
) -> None:
    answer = await untouched.post(path, headers=headers, content=content)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("sent", [b"", b"once=", b"once=%00%ff", b"once=<script>", b"once=" + b"x" * 65])
async def test_a_form_without_a_name_of_its_own_is_given_one(sent: bytes) -> None:
    saying = Saying(NOT_CONSUMED)
    async with browsing(app(alone(), cast("Any", saying))) as client:
        await client.post(LINK, content=sent, headers=FORM)
    ((_, once),) = saying.asked
    assert re.fullmatch(r"[\w-]{16,64}", once)


@pytest.mark.parametrize("path", [LINK, CODE])
async def test_where_nothing_answered_the_same_try_is_offered_again(path: str) -> None:
    trials = cast("Any", Saying(NoAnswerError()))
    async with browsing(app(alone(), trials)) as client:
        answer = await client.post(path, data={"once": ONCE, "code": "123456"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert Page(answer.text).value("once") == ONCE
    assert "123456" not in answer.text


async def test_the_time_of_a_failure_counts_from_when_its_form_is_whole() -> None:
    """Else whoever sends the end of a form late would choose which failures fit before the next answer."""
    watch, parts = Stopwatch(), alone()
    trials = Trials(parts, watch.evenly)

    async def late() -> AsyncIterator[bytes]:
        yield b"code=no"
        watch.now += 0.7
        yield b"-code"

    async with browsing(app(parts, trials)) as client:
        await client.post(CODE, content=late(), headers=FORM)
    assert watch.slept == [pytest.approx(1.0)]


@pytest.mark.parametrize(
    "code", ["", "12345", "123456789", "12 34 5", "abcdef", "12345x", "½½½½½½", "-12345"]
)
async def test_what_cannot_be_a_code_is_wrong_and_no_guess(untouched: httpx.AsyncClient, code: str) -> None:
    answer = await untouched.post(CODE, data={"once": ONCE, "code": code})
    assert (answer.status_code, answer.text) == (FAILED, page.failed_code())
