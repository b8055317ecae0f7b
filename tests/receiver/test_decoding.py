"""Payloads are opened for whoever may read them; everybody else sees the classified story, and no more."""

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import httpx
import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from temporalio.api.common.v1 import Payload

from activities.codec import Seal
from activities.keyring import Keyring
from activities.settings import Settings
from activities.store.ledger import Ledger
from receiver.bodies import LARGEST
from receiver.decoding import MOST
from receiver.decoding_session import COOKIE, LASTING, PAUSE, Door
from receiver.decoding_session import MOST as GUESSES
from receiver.openapi import document
from receiver.parts import Parts
from tests.providers.subject import NOW
from tests.receiver.deployed import API_KEY, PUBLIC, SETTINGS, Engine, calling, is_problem, parts
from tests.receiver.drawn import VALUES, as_json, nearly
from tests.receiver.markup import Page

KEY = "codec-key-of-a-test"
UI = "https://temporal.example.com"
CODEC = {**SETTINGS, "STANDBY_CODEC_KEY": KEY, "STANDBY_UI_ORIGIN": UI}
BEARER = {"Authorization": f"Bearer {KEY}"}
FROM_UI = {"Origin": UI}
SECRET = "anna.secret@example.test"
DECODE = "/codec/decode?preserveStorageRefs=true"
"""As the UI asks."""

RING = Keyring("key-1", {"key-1": b"1" * 32, "key-0": b"0" * 32}, b"a" * 32)
ELSEWHERE = Keyring("key-9", {"key-9": b"9" * 32}, b"a" * 32)
SAME_NAME = Keyring("key-1", {"key-1": b"x" * 32}, b"a" * 32)
PLAIN = Payload(metadata={"encoding": b"json/plain"}, data=json.dumps({"email": SECRET}).encode())
STORY = Payload(metadata={"encoding": b"json/plain"}, data=b'"poll 2 of 3"')
NOTHING = Payload(metadata={"encoding": b"binary/null"})


@dataclass
class Clock:
    """Stands still until it is moved."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Place:
    made: Parts
    http: httpx.AsyncClient
    clock: Clock = field(default_factory=Clock)

    async def ask(
        self, *payloads: Payload, headers: Mapping[str, str] = BEARER, content: bytes | None = None
    ) -> httpx.Response:
        """Ask for payloads, or with a body that is given as it is."""
        asked = json.dumps({"payloads": [written(each) for each in payloads]}).encode()
        sent = {"Content-Type": "application/json", **headers}
        return await self.http.post(DECODE, content=asked if content is None else content, headers=sent)

    async def sign_in(self) -> httpx.Response:
        return await self.http.post("/codec", data={"key": KEY})


def written(payload: Payload) -> dict[str, Any]:
    """Return a payload as the UI writes it."""
    metadata = {name: base64.b64encode(value).decode() for name, value in payload.metadata.items()}
    return {"metadata": metadata, "data": base64.b64encode(payload.data).decode()}


def read(answer: httpx.Response) -> list[Any]:
    """Return the values that the UI would show."""
    assert answer.status_code == 200, answer.text
    return [json.loads(base64.b64decode(each["data"]) or b"null") for each in answer.json()["payloads"]]


async def sealed(payload: Payload = PLAIN, ring: Keyring = RING) -> Payload:
    (made,) = await Seal(ring).encode([payload])
    return made


def told(caplog: pytest.LogCaptureFixture, name: str) -> list[dict[str, Any]]:
    return [each.__dict__["facts"] for each in caplog.records if each.getMessage() == name]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def made(ledger: Ledger, clock: Clock) -> Parts:
    return replace(parts(ledger, Engine(), settings=CODEC), keyring=RING, clock=clock)


@pytest.fixture
async def place(made: Parts, clock: Clock) -> AsyncIterator[Place]:
    async with calling(made) as http:
        yield Place(made, http, clock)


# Opening


@pytest.mark.parametrize("ring", [RING, replace(RING, current="key-0")], ids=["current key", "old key"])
async def test_the_key_opens_what_the_workers_sealed(place: Place, ring: Keyring) -> None:
    answer = await place.ask(await sealed(ring=ring))
    assert answer.json() == {"payloads": [written(PLAIN)]}
    jsonschema.validate(answer.json(), document()["components"]["schemas"]["Payloads"])


async def test_many_come_back_in_their_order_and_what_is_readable_as_it_was(place: Place) -> None:
    answer = await place.ask(STORY, await sealed(), NOTHING, await sealed(STORY))
    assert answer.json() == {"payloads": [written(each) for each in (STORY, PLAIN, NOTHING, STORY)]}


async def _cut() -> Payload:
    made = await sealed()
    made.data = made.data[:7]
    return made


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (lambda: sealed(ring=ELSEWHERE), "has not got"),
        (lambda: sealed(ring=SAME_NAME), "damaged"),
        (_cut, "damaged"),
    ],
    ids=["unknown key", "another key of that name", "cut short"],
)
async def test_what_cannot_be_opened_is_said_in_its_place_and_the_rest_is_opened(
    place: Place, bad: Callable[[], Awaitable[Payload]], words: str
) -> None:
    shown = read(await place.ask(await sealed(), await bad(), STORY))
    assert (shown[0], shown[2]) == ({"email": SECRET}, "poll 2 of 3")
    assert words in shown[1]


async def test_where_nothing_is_sealed_all_comes_back_as_it_was(made: Parts) -> None:
    async with calling(replace(made, keyring=Keyring.plaintext())) as http:
        answer = await Place(made, http).ask(PLAIN, STORY)
    assert answer.json() == {"payloads": [written(PLAIN), written(STORY)]}


async def test_who_read_how_much_is_on_record_without_a_word_of_it(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    whole, lost = await sealed(), await sealed(ring=ELSEWHERE)
    await place.ask(whole, lost, STORY, headers={**BEARER, "X-Namespace": "orders"})
    await place.sign_in()
    await place.ask(whole, headers={**FROM_UI, "X-Namespace": SECRET})
    await place.ask(STORY)
    (begun,) = told(caplog, "codec session begun")
    assert told(caplog, "payloads decoded") == [
        {"namespace": "orders", "by": "key", "session": None, "payloads": 2, "opened": 1},
        {"namespace": None, "by": "session", "session": begun["session"], "payloads": 1, "opened": 1},
    ]
    assert SECRET not in caplog.text
    assert KEY not in caplog.text


# Who may read


async def test_a_person_signs_in_once_and_the_ui_may_ask(place: Place, clock: Clock) -> None:
    entered = await place.sign_in()
    assert (entered.status_code, entered.headers["location"]) == (303, "/codec")
    assert Page((await place.http.get("/codec")).text).one("h1").text == ["You are signed in"]
    assert read(await place.ask(await sealed(), headers=FROM_UI)) == [{"email": SECRET}]
    clock.now += LASTING - timedelta(seconds=1)
    assert read(await place.ask(await sealed(), headers=FROM_UI)) == [{"email": SECRET}]


async def test_what_comes_along_when_a_key_is_copied_does_no_harm(place: Place) -> None:
    assert (await place.http.post("/codec", data={"key": f" {KEY}\n"})).status_code == 303


async def test_a_stranger_with_the_ui_sees_the_story_and_where_to_sign_in(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await place.ask(STORY, await sealed(), await sealed(ring=ELSEWHERE), headers=FROM_UI)
    story, *others = read(answer)
    assert story == "poll 2 of 3"
    assert others == [f"sealed: sign in at {PUBLIC}/codec to read it"] * 2
    assert not told(caplog, "payloads decoded")


def _with_key(made: Parts, key: str) -> Door:
    """Return the door of a deployment that has another codec key."""
    return Door(replace(made, settings=Settings.read({**CODEC, "STANDBY_CODEC_KEY": key})))


def _forged(cookie: str, made: Parts) -> list[str]:
    """Return cookies that are none: changed in each part, made elsewhere, or nothing of the kind."""
    ends, name, proof = cookie.split(".")
    elsewhere = [
        _with_key(made, "another-codec-key"),
        Door(replace(made, keyring=replace(RING, address=b"b" * 32))),
    ]
    return [
        f"{int(ends) + 1}.{name}.{proof}",
        f"{ends}.{'0' * 8}.{proof}",
        f"{ends}.{name}.{'0' * 64}",
        f"{ends}.{name}",
        f"{ends}.{name}.{proof}.{proof}",
        "",
        "é",
        *(each.cookie(each.begin()) for each in elsewhere),
    ]


async def test_a_forged_cookie_is_a_stranger_s(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    await place.sign_in()
    own = place.http.cookies[COOKIE]
    for forged in _forged(own, place.made):
        place.http.cookies.clear()
        place.http.cookies.set(COOKIE, quote(forged))
        assert "sign in" in read(await place.ask(await sealed(), headers=FROM_UI))[0], forged
    # Said once, however often it happens.
    assert len(told(caplog, "codec session refused")) == 1


async def test_nobody_without_the_codec_key_makes_a_session_where_hashing_hides_nothing(made: Parts) -> None:
    bare = replace(made, keyring=Keyring.plaintext())
    door, guessed = Door(bare), _with_key(bare, "guessed")
    assert door.session({COOKIE: door.cookie(door.begin())})
    assert door.session({COOKIE: guessed.cookie(guessed.begin())}) is None


async def test_a_session_ends(place: Place, clock: Clock) -> None:
    await place.sign_in()
    clock.now += LASTING
    assert "sign in" in read(await place.ask(await sealed(), headers=FROM_UI))[0]
    assert Page((await place.http.get("/codec")).text).one("h1").text == ["Sign in to read what is sealed"]


async def test_a_person_signs_out(place: Place) -> None:
    await place.sign_in()
    assert (await place.http.post("/codec", data={"leave": "1"})).status_code == 303
    assert COOKIE not in place.http.cookies
    assert "sign in" in read(await place.ask(await sealed(), headers=FROM_UI))[0]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic Y29kZWM="},
        {"Authorization": f"Bearer {API_KEY}"},
        {"Authorization": f"Bearer {KEY}x"},
        {"Authorization": f"Bearer {API_KEY}", **FROM_UI},
    ],
    ids=["nothing", "no key", "another scheme", "the key of backends", "nearly", "a wrong key from the UI"],
)
async def test_whoever_is_no_page_of_the_ui_and_has_not_the_key_gets_nothing(
    place: Place, headers: dict[str, str]
) -> None:
    await place.sign_in()
    answer = await place.ask(STORY, await sealed(), headers=headers)
    assert is_problem(answer, 401)
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["detail"] == (await place.ask(headers={})).json()["detail"]


async def test_the_key_of_backends_signs_nobody_in(place: Place) -> None:
    answer = await place.http.post("/codec", data={"key": API_KEY})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert Page(answer.text).one("h1").text == ["This key did not work"]


async def test_too_many_wrong_keys_close_the_door_to_keys_for_a_minute_and_sessions_go_on(
    place: Place, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    await place.sign_in()
    for number in range(GUESSES):
        wrong = {"Authorization": f"Bearer guess-{number}"}
        assert is_problem(await place.ask(headers=wrong), 401)
    closed = [await place.ask(headers=BEARER), await place.sign_in()]
    assert [each.status_code for each in closed] == [429] * 2
    assert all(each.headers["retry-after"] == "60" for each in closed)
    assert read(await place.ask(await sealed(), headers=FROM_UI)) == [{"email": SECRET}]
    clock.now += PAUSE
    assert read(await place.ask(await sealed())) == [{"email": SECRET}]
    assert [each["times"] for each in told(caplog, "codec key refused")] == [1]
    assert "guess" not in caplog.text


async def test_the_same_wrong_key_again_is_one_guess(place: Place) -> None:
    wrong = {"Authorization": f"Bearer {API_KEY}"}
    for _ in range(2 * GUESSES):
        assert is_problem(await place.ask(headers=wrong), 401)
    assert (await place.sign_in()).status_code == 303


@pytest.mark.parametrize("settings", [SETTINGS, {**SETTINGS, "STANDBY_UI_ORIGIN": UI}])
async def test_without_a_codec_key_there_is_nothing_there(ledger: Ledger, settings: dict[str, str]) -> None:
    async with calling(parts(ledger, Engine(), settings=settings)) as http:
        answers = [
            await http.get("/codec"),
            await http.post("/codec", data={"key": KEY}),
            await http.post(DECODE, json={"payloads": []}, headers=BEARER),
            await http.post(DECODE, json={"payloads": []}, headers=FROM_UI),
            await http.options(DECODE, headers=FROM_UI),
        ]
    assert all(is_problem(each, 404) for each in answers)


async def test_without_a_ui_tools_alone_are_served(ledger: Ledger) -> None:
    alone = {**SETTINGS, "STANDBY_CODEC_KEY": KEY}
    made = replace(parts(ledger, Engine(), settings=alone), keyring=RING)
    async with calling(made) as http:
        place = Place(made, http)
        assert read(await place.ask(await sealed())) == [{"email": SECRET}]
        assert is_problem(await http.get("/codec"), 404)
        assert is_problem(await place.sign_in(), 404)
        assert is_problem(await place.ask(headers=FROM_UI), 403)


# Browsers


ALLOWING = ("access-control-allow-origin", "access-control-allow-credentials")
OTHERS = ("https://evil.example", "null", "http://temporal.example.com", f"{UI}.evil.example", f"{UI}:444")


async def test_a_preflight_tells_a_page_of_the_ui_what_it_may_send(place: Place) -> None:
    wanted = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-namespace"}
    answer = await place.http.options(DECODE, headers={**FROM_UI, **wanted})
    assert (answer.status_code, answer.content) == (204, b"")
    assert [answer.headers[each] for each in ALLOWING] == [UI, "true"]
    allowed = answer.headers["access-control-allow-headers"].split(", ")
    assert allowed == ["authorization", "content-type", "x-namespace"]
    assert answer.headers["access-control-allow-methods"] == "POST"
    assert int(answer.headers["access-control-max-age"]) > 0
    assert answer.headers["vary"] == "Origin"


@pytest.mark.parametrize("origin", OTHERS)
async def test_a_page_of_another_origin_is_told_nothing_whatever_it_brings(place: Place, origin: str) -> None:
    await place.sign_in()
    answers = [
        await place.http.options(DECODE, headers={"Origin": origin}),
        await place.ask(await sealed(), headers={"Origin": origin}),
        await place.ask(await sealed(), headers={"Origin": origin, **BEARER}),
    ]
    assert [each.status_code for each in answers] == [204, 403, 403]
    for answer in answers:
        assert not [each for each in answer.headers if each.startswith("access-control-")]
        assert answer.headers["vary"] == "Origin"
        assert SECRET not in answer.text


async def test_the_ui_reads_every_answer_refusals_as_well(place: Place) -> None:
    answers = [
        await place.ask(STORY, headers=FROM_UI),
        await place.ask(headers={**FROM_UI, "Authorization": "Bearer no"}),
        await place.ask(headers=FROM_UI, content=b"{"),
    ]
    for answer in answers:
        assert [answer.headers[each] for each in ALLOWING] == [UI, "true"]
        assert answer.headers["vary"] == "Origin"


@pytest.mark.parametrize("spelling", [UI.upper().replace("HTTPS", "https"), f"{UI}:443", f"{UI}/"])
async def test_an_origin_is_the_ui_s_however_the_setting_spells_it(ledger: Ledger, spelling: str) -> None:
    made = parts(ledger, Engine(), settings={**CODEC, "STANDBY_UI_ORIGIN": spelling})
    async with calling(made) as http:
        answer = await Place(made, http).ask(STORY, headers=FROM_UI)
    assert answer.headers["access-control-allow-origin"] == UI


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
async def test_what_a_form_of_another_page_could_send_is_not_taken(place: Place, kind: str) -> None:
    await place.sign_in()
    answer = await place.ask(headers={**FROM_UI, "Content-Type": kind}, content=b"{}")
    assert is_problem(answer, 415)


@pytest.mark.parametrize(
    ("public", "ui", "wanted"),
    [
        ("https://standby.example.com", UI, {"secure", "samesite=none"}),
        ("https://tools.example.com", "https://tools.example.com:8080", {"secure", "samesite=strict"}),
        ("http://127.0.0.1:8026", "http://127.0.0.1:8233", {"samesite=strict"}),
        ("http://standby.internal", "http://temporal.internal", {"samesite=strict"}),
    ],
)
async def test_the_cookie_is_kept_from_scripts_and_from_other_sites_where_the_ui_is_on_this_one(
    ledger: Ledger, public: str, ui: str, wanted: set[str]
) -> None:
    given = {**CODEC, "STANDBY_PUBLIC_URL": public, "STANDBY_UI_ORIGIN": ui}
    made = replace(parts(ledger, Engine(), settings=given), keyring=RING)
    async with calling(made) as http:
        cookie = (await Place(made, http).sign_in()).headers["set-cookie"]
    value, *attributes = cookie.lower().split("; ")
    assert re.fullmatch(rf"{COOKIE}=[0-9]+\.[0-9a-f]{{8}}\.[0-9a-f]{{64}}", value)
    assert set(attributes) == {"httponly", "path=/codec", "max-age=43200", *wanted}


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_form_of_another_page_signs_nobody_in_or_out(place: Place, site: str) -> None:
    await place.sign_in()
    for form in ({"key": KEY}, {"leave": "1"}):
        answer = await place.http.post("/codec", data=form, headers={"Sec-Fetch-Site": site})
        assert is_problem(answer, 403)
        assert "set-cookie" not in answer.headers


async def test_its_pages_are_whole_load_nothing_and_repeat_nothing(place: Place) -> None:
    shown = [await place.http.get("/codec"), await place.http.post("/codec", data={"key": "secret-link"})]
    await place.sign_in()
    shown.append(await place.http.get("/codec"))
    for number in range(GUESSES):
        last = await place.http.post("/codec", data={"key": f"secret-link-{number}"})
    shown.append(last)
    assert [each.status_code for each in shown] == [200, 403, 200, 429]
    for answer in shown:
        found = Page(answer.text)
        assert (found.unclosed, found.stray, found.doctype.lower()) == ([], [], "doctype html")
        assert found.one("title").text == found.one("h1").text
        assert not [each for name in ("script", "img", "link", "iframe") for each in found.all(name)]
        assert not any(each in answer.text for each in (KEY, "secret-link", SECRET))
        assert answer.headers["cache-control"] == "no-store"
        assert "form-action 'self'" in answer.headers["content-security-policy"]
    entry = Page(shown[0].text)
    assert entry.one("label").attributes["for"] == entry.one("input").attributes["id"]
    assert entry.one("input").attributes["type"] == "password"
    assert [each.attributes.get("href") for each in Page(shown[2].text).all("a")] == [UI]


# What nobody should send


async def test_bodies_are_bounded(place: Place) -> None:
    assert is_problem(await place.ask(content=b" " * (LARGEST + 1)), 413)
    assert len(read(await place.ask(*[STORY] * MOST))) == MOST
    for headers in (BEARER, FROM_UI):
        assert is_problem(await place.ask(*[STORY] * (MOST + 1), headers=headers), 413)


MISSHAPEN: Sequence[object] = (
    None,
    [],
    "payloads",
    {"payloads": {}},
    {"payloads": [7]},
    {"payloads": [{"data": "t0pt0"}]},
    {"payloads": [{"metadata": {"encoding": 1}}]},
    {"payloads": [{"metadata": []}]},
    {"payloads": [{"data": {"a": "t0p"}}]},
)


@pytest.mark.parametrize("headers", [BEARER, FROM_UI], ids=["tool", "stranger"])
@pytest.mark.parametrize("bad", MISSHAPEN, ids=json.dumps)
async def test_what_is_no_payloads_is_refused_without_a_word_of_it(
    place: Place, bad: object, headers: dict[str, str]
) -> None:
    assert is_problem(await place.ask(content=json.dumps(bad).encode(), headers=headers), 400)


async def test_what_later_versions_add_to_a_payload_is_passed_over(place: Place) -> None:
    later = {**written(await sealed()), "somethingNew": [1]}
    body = json.dumps({"payloads": [later], "more": True}).encode()
    assert read(await place.ask(content=body)) == [{"email": SECRET}]


async def test_payloads_that_are_nearly_right_are_answered_or_refused(place: Place) -> None:
    right = {"payloads": [written(await sealed()), written(STORY)]}
    bodies = nearly(right).map(as_json) | VALUES.map(as_json) | st.binary(max_size=40)
    seen: set[int] = set()
    loop = asyncio.get_running_loop()

    @settings(
        max_examples=150,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(raw=bodies)
    def survived(raw: bytes) -> None:
        asking = place.ask(content=raw)
        answer = asyncio.run_coroutine_threadsafe(asking, loop).result()
        assert "anna.secret" not in answer.text
        seen.add(answer.status_code)

    await asyncio.to_thread(survived)
    assert seen == {200, 400}
