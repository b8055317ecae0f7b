"""A secret works once, for one of all who bring it; whoever fails learns nothing, whatever the reason."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from receiver import page
from receiver.consuming import Trials
from receiver.pages import FAILED
from tests.receiver.markup import Page
from tests.receiver.verifying import BEARER, Stopwatch, Town, app, browsing, town
from workflows.policy.words import ChallengeState

SENT_ON, AWAY = 303, 503


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Town]:
    async with town(tmp_path_factory.mktemp("consuming")) as found:
        yield found


@pytest.fixture
def watch() -> Stopwatch:
    return Stopwatch()


@pytest.fixture
async def browser(place: Town, watch: Stopwatch) -> AsyncIterator[httpx.AsyncClient]:
    async with browsing(app(place.parts, Trials(place.parts, watch.evenly))) as client:
        yield client


async def _press(client: httpx.AsyncClient, path: str, **fields: str) -> httpx.Response:
    """Open a page, and send its form as a browser does."""
    shown = Page((await client.get(path)).text)
    return await client.post(path, data={"once": shown.value("once"), **fields})


async def _link(place: Town, challenge_id: str) -> str:
    return f"/v/{(await place.secrets_of(challenge_id)).link}"


async def _code(place: Town, challenge_id: str) -> str:
    return (await place.secrets_of(challenge_id)).code


def _other(code: str, by: int = 1) -> str:
    return f"{(int(code) + by) % 10**6:06d}"


def _all_but_date(response: httpx.Response) -> tuple[int, dict[str, str], bytes]:
    headers = {name: value for name, value in response.headers.items() if name != "date"}
    return response.status_code, headers, response.content


async def test_a_link_works_once_and_leads_back_with_a_result(
    place: Town, browser: httpx.AsyncClient
) -> None:
    challenge_id = await place.begun()
    path = await _link(place, challenge_id)
    answer = await _press(browser, path)
    onward = urlsplit(answer.headers["location"])
    assert (answer.status_code, onward.netloc, onward.path) == (SENT_ON, "shop.example", "/welcome")
    assert parse_qs(onward.query) == {
        "lang": ["en"],
        "result": [(await place.secrets_of(challenge_id)).result],
    }
    assert (await place.ended(challenge_id)).state is ChallengeState.CONSUMED
    assert (await _press(browser, path)).status_code == FAILED


async def test_a_link_that_scanners_opened_still_works(place: Town, browser: httpx.AsyncClient) -> None:
    path = await _link(place, await place.begun())
    for method in ("HEAD", "GET", "GET"):
        await browser.request(method, path, headers={"Sec-Purpose": "prefetch"})
    assert (await _press(browser, path)).status_code == SENT_ON


async def test_without_a_way_back_success_is_a_page(place: Town, browser: httpx.AsyncClient) -> None:
    path = await _link(place, await place.begun(return_url=None))
    answer = await _press(browser, path)
    assert (answer.status_code, answer.text) == (200, page.confirmed())


async def test_a_code_works_once_however_it_is_typed(place: Town, browser: httpx.AsyncClient) -> None:
    challenge_id = await place.begun()
    code = await _code(place, challenge_id)
    arabic = "".join(chr(0x660 + int(each)) for each in code)
    typed = f" {arabic[:3]}\u00a0{arabic[3:]}\t"
    assert (await _press(browser, f"/c/{challenge_id}", code=typed)).status_code == SENT_ON
    assert (await _press(browser, f"/c/{challenge_id}", code=code)).status_code == FAILED


async def test_a_double_click_on_one_page_is_one_consumption_and_both_succeed(
    place: Town, browser: httpx.AsyncClient
) -> None:
    challenge_id = await place.begun()
    path = await _link(place, challenge_id)
    form = {"once": Page((await browser.get(path)).text).value("once")}
    clicks = await asyncio.gather(*(browser.post(path, data=form) for _ in range(2)))
    await place.ended(challenge_id)
    again = await browser.post(path, data=form)
    assert len({(each.status_code, each.headers.get("location")) for each in (*clicks, again)}) == 1
    assert again.status_code == SENT_ON


async def test_knowing_the_name_of_a_try_that_succeeded_is_not_success(
    place: Town, browser: httpx.AsyncClient
) -> None:
    challenge_id = await place.begun()
    code, form = await _code(place, challenge_id), {"once": "once-that-everybody-knows"}
    right = await browser.post(f"/c/{challenge_id}", data={**form, "code": code})
    other = await browser.post(f"/c/{challenge_id}", data={**form, "code": _other(code)})
    assert (right.status_code, other.status_code) == (SENT_ON, FAILED)


async def test_of_a_hundred_who_bring_one_link_at_once_one_succeeds(
    place: Town, browser: httpx.AsyncClient
) -> None:
    path = await _link(place, await place.begun())
    answers = await asyncio.gather(*(_press(browser, path) for _ in range(100)))
    assert Counter(each.status_code for each in answers) == {SENT_ON: 1, FAILED: 99}


async def test_after_five_wrong_codes_the_right_one_is_wrong_too(
    place: Town, browser: httpx.AsyncClient
) -> None:
    challenge_id = await place.begun()
    code = await _code(place, challenge_id)
    for by in range(1, 6):
        assert (await _press(browser, f"/c/{challenge_id}", code=_other(code, by))).status_code == FAILED
    assert (await place.ended(challenge_id)).state is ChallengeState.DEAD
    assert (await _press(browser, f"/c/{challenge_id}", code=code)).status_code == FAILED


async def test_what_is_no_code_leaves_the_guesses_for_what_is(
    place: Town, browser: httpx.AsyncClient
) -> None:
    challenge_id = await place.begun()
    for _ in range(6):
        await _press(browser, f"/c/{challenge_id}", code="12345")
    code = await _code(place, challenge_id)
    assert (await _press(browser, f"/c/{challenge_id}", code=code)).status_code == SENT_ON


async def test_the_same_wrong_code_of_one_page_counts_once(place: Town, browser: httpx.AsyncClient) -> None:
    challenge_id = await place.begun()
    code = await _code(place, challenge_id)
    for _ in range(6):
        await browser.post(f"/c/{challenge_id}", data={"once": "once-of-one-rendering", "code": _other(code)})
    assert (await _press(browser, f"/c/{challenge_id}", code=code)).status_code == SENT_ON


# Failing


async def _expired(place: Town) -> str:
    soon = datetime.now(UTC) + timedelta(seconds=2)
    challenge_id = await place.begun(expires_at=soon.isoformat())
    assert (await place.ended(challenge_id)).state is ChallengeState.EXPIRED
    return challenge_id


async def _used(place: Town, browser: httpx.AsyncClient) -> str:
    challenge_id = await place.begun()
    assert (await _press(browser, await _link(place, challenge_id))).status_code == SENT_ON
    await place.ended(challenge_id)
    return challenge_id


async def _withdrawn(place: Town) -> str:
    challenge_id = await place.begun()
    await place.withdrawn(challenge_id)
    return challenge_id


async def _failing(place: Town, browser: httpx.AsyncClient) -> dict[str, str]:
    """Return, by why its secrets are no good, challenges of all sorts."""
    return {
        "used": await _used(place, browser),
        "expired": await _expired(place),
        "withdrawn": await _withdrawn(place),
    }


async def test_every_link_that_fails_is_answered_alike_and_at_the_same_time(
    place: Town, browser: httpx.AsyncClient, watch: Stopwatch
) -> None:
    paths = {why: await _link(place, each) for why, each in (await _failing(place, browser)).items()}
    right = await _link(place, await place.begun())
    paths |= {
        "unknown": f"/v/{'A' * 43}",
        "one letter off": f"{right[:-1]}{'A' if right[-1] != 'A' else 'B'}",
        "of another case": right.swapcase().replace("/V/", "/v/"),
        "cut short": right[:-5],
        "with more": f"{right}x",
        "long": f"/v/{'x' * 3000}",
        "no text": "/v/%00%ff",
        "a code": "/v/123456",
    }
    watch.slept.clear()
    answers = {why: _all_but_date(await _press(browser, path)) for why, path in paths.items()}
    assert answers == dict.fromkeys(paths, answers["unknown"])
    assert answers["unknown"][0] == FAILED
    assert watch.slept == [pytest.approx(1.0)] * len(paths)


async def test_every_code_that_fails_is_answered_alike_and_at_the_same_time(
    place: Town, browser: httpx.AsyncClient, watch: Stopwatch
) -> None:
    challenges = await _failing(place, browser)
    brought = {why: (each, await _code(place, each)) for why, each in challenges.items()}
    active, links_only = await place.begun(), await place.begun(method="link")
    brought |= {
        "wrong": (active, _other(await _code(place, active))),
        "of another challenge": (active, _other(await _code(place, active), 2)),
        "not digits": (active, "abcdef"),
        "too long": (active, "1" * 3000),
        "empty": (active, ""),
        "for a link": (links_only, await _code(place, links_only)),
        "unknown": ("challenge-that-is-none", "123456"),
        "no id": ("x", "123456"),
    }
    watch.slept.clear()
    answers = {
        why: _all_but_date(await _press(browser, f"/c/{challenge_id}", code=code))
        for why, (challenge_id, code) in brought.items()
    }
    assert answers == dict.fromkeys(brought, answers["unknown"])
    assert answers["unknown"][0] == FAILED
    assert watch.slept == [pytest.approx(1.0)] * len(brought)


async def test_every_failure_is_the_same_to_a_backend_too(
    place: Town, browser: httpx.AsyncClient, watch: Stopwatch
) -> None:
    used, active, other = await _used(place, browser), await place.begun(), await place.begun()
    brought: dict[str, tuple[str, dict[str, str]]] = {
        "used": (used, {"token": (await place.secrets_of(used)).link}),
        "used code": (used, {"code": await _code(place, used)}),
        "wrong code": (active, {"code": _other(await _code(place, active))}),
        "link of another": (active, {"token": (await place.secrets_of(other)).link}),
        "no link": (active, {"token": "A" * 43}),
        "unknown": ("challenge-that-is-none", {"code": "123456"}),
        "no id": ("x", {"code": "123456"}),
    }
    watch.slept.clear()
    answers = {
        why: _all_but_date(await browser.post(f"/verifications/{each}/consume", json=body, headers=BEARER))
        for why, (each, body) in brought.items()
    }
    assert answers == dict.fromkeys(brought, answers["unknown"])
    assert answers["unknown"][::2] == (200, b'{"consumed":false}')
    assert watch.slept == [pytest.approx(1.0)] * len(brought)


async def test_without_an_engine_nothing_is_consumed_and_the_same_try_works_later(
    place: Town, browser: httpx.AsyncClient, watch: Stopwatch
) -> None:
    path = await _link(place, await place.begun())
    trials = Trials(await place.cut_off(), watch.evenly, patience=timedelta(milliseconds=200))
    async with browsing(app(trials.parts, trials)) as cut_off:
        answer = await _press(cut_off, path)
    assert answer.status_code == AWAY
    assert len(watch.slept) == 1
    again = {"once": Page(answer.text).value("once")}
    assert (await browser.post(path, data=again)).status_code == SENT_ON


async def test_guesses_never_take_all_places_of_a_process(place: Town, watch: Stopwatch) -> None:
    trials = Trials(place.parts, watch.evenly, room=asyncio.Semaphore(0))

    async with browsing(app(place.parts, trials)) as client:
        refused = await _press(client, "/c/no-such-challenge", code="123456")

    assert refused.status_code == AWAY
    assert "Please try again" in refused.text
