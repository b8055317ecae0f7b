"""A secret works once, for one of all who bring it; whoever fails learns nothing, whatever the reason."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from activities.store.challenge_rows import ChallengeRow
from activities.store.challenges import Trial
from client.verifying import NOT_CONSUMED
from receiver import page
from receiver.app import build
from receiver.consuming import Trials
from receiver.pages import FAILED
from tests.receiver.markup import Page
from tests.receiver.verifying import (
    BEARER,
    KEY,
    Listening,
    Stopwatch,
    Town,
    Untouchable,
    app,
    browsing,
    town,
)
from workflows.policy.keys import verification_id
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


@pytest.fixture
async def engineless(place: Town, watch: Stopwatch) -> AsyncIterator[httpx.AsyncClient]:
    """A browser before the same deployment, which fails wherever it would ask its engine."""
    async with browsing(app(place.engineless, Trials(place.engineless, watch.evenly))) as client:
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


async def test_of_sixty_who_bring_one_link_at_once_one_succeeds(
    place: Town, browser: httpx.AsyncClient
) -> None:
    path = await _link(place, await place.begun())
    answers = await asyncio.gather(*(_press(browser, path) for _ in range(60)))
    assert Counter(each.status_code for each in answers) == {SENT_ON: 1, FAILED: 59}


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


async def _dead(place: Town, browser: httpx.AsyncClient) -> str:
    challenge_id = await place.begun()
    code = await _code(place, challenge_id)
    for by in range(1, 6):
        await _press(browser, f"/c/{challenge_id}", code=_other(code, by))
    assert (await place.ended(challenge_id)).state is ChallengeState.DEAD
    return challenge_id


async def _withdrawn(place: Town) -> str:
    challenge_id = await place.begun()
    await place.withdrawn(challenge_id)
    return challenge_id


async def _failing(place: Town, browser: httpx.AsyncClient) -> dict[str, str]:
    """Return, by why its secrets are no good, challenges of all sorts."""
    return {
        "used": await _used(place, browser),
        "dead": await _dead(place, browser),
        "expired": await _expired(place),
        "withdrawn": await _withdrawn(place),
    }


async def test_every_link_that_fails_is_answered_alike_and_at_the_same_time(
    place: Town, browser: httpx.AsyncClient, engineless: httpx.AsyncClient, watch: Stopwatch
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
    answers = {why: _all_but_date(await _press(engineless, path)) for why, path in paths.items()}
    assert answers == dict.fromkeys(paths, answers["unknown"])
    assert answers["unknown"][0] == FAILED
    assert watch.slept == [pytest.approx(1.0)] * len(paths)


async def test_every_code_that_fails_is_answered_alike_and_at_the_same_time(
    place: Town, browser: httpx.AsyncClient, engineless: httpx.AsyncClient, watch: Stopwatch
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
        "no text": ("challenge%00that-is-none", "123456"),
    }
    watch.slept.clear()
    answers = {
        why: _all_but_date(await _press(engineless, f"/c/{challenge_id}", code=code))
        for why, (challenge_id, code) in brought.items()
    }
    assert answers == dict.fromkeys(brought, answers["unknown"])
    assert answers["unknown"][0] == FAILED
    assert watch.slept == [pytest.approx(1.0)] * len(brought)


async def test_every_failure_is_the_same_to_a_backend_too(
    place: Town, browser: httpx.AsyncClient, engineless: httpx.AsyncClient, watch: Stopwatch
) -> None:
    dead = await _dead(place, browser)
    used, active, other = await _used(place, browser), await place.begun(), await place.begun()
    brought: dict[str, tuple[str, dict[str, str]]] = {
        "used": (used, {"token": (await place.secrets_of(used)).link}),
        "dead": (dead, {"token": (await place.secrets_of(dead)).link}),
        "dead code": (dead, {"code": await _code(place, dead)}),
        "used code": (used, {"code": await _code(place, used)}),
        "wrong code": (active, {"code": _other(await _code(place, active))}),
        "link of another": (active, {"token": (await place.secrets_of(other)).link}),
        "no link": (active, {"token": "A" * 43}),
        "unknown": ("challenge-that-is-none", {"code": "123456"}),
        "no id": ("x", {"code": "123456"}),
        "no text": ("challenge%00that-is-none", {"code": "123456"}),
        "no text, link": ("challenge%00that-is-none", {"token": "A" * 43}),
    }
    watch.slept.clear()
    answers = {
        why: _all_but_date(await engineless.post(f"/verifications/{each}/consume", json=body, headers=BEARER))
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


async def test_a_room_that_is_full_at_one_door_is_not_at_the_other(place: Town, watch: Stopwatch) -> None:
    trials = Trials(place.parts, watch.evenly, room=asyncio.Semaphore(0))

    async with browsing(build(place.parts, trials)) as client:
        of_a_backend = await client.post(
            "/verifications/no-such-challenge/consume",
            json={"code": "123456"},
            headers={"Authorization": f"Bearer {KEY}"},
        )
        of_a_page = await _press(client, "/c/no-such-challenge", code="123456")

    assert (of_a_backend.status_code, of_a_page.status_code) == (AWAY, FAILED)


# Guessing


def _unhurried(place: Town, most: int) -> Trials:
    """Return trials with room for many, where whoever would ask an engine or stand in a line fails."""
    room = asyncio.Semaphore(most + 1)
    line = cast("Any", Untouchable())
    return Trials(place.engineless, Stopwatch().evenly, turns=line, guesses=line, room=room)


@pytest.mark.parametrize("method", ["link", None])
async def test_guesses_at_a_challenge_without_a_code_and_at_none_meet_neither_engine_nor_line(
    place: Town, method: str | None
) -> None:
    challenge_id = "challenge-that-is-none" if method is None else await place.begun(method=method)
    async with browsing(app(place.parts, _unhurried(place, 250))) as client:
        tries = (client.post(f"/c/{challenge_id}", data={"code": f"{each:06d}"}) for each in range(250))
        answers = await asyncio.gather(*tries)
    assert Counter(each.status_code for each in answers) == {FAILED: 250}


@dataclass(frozen=True)
class Crowd:
    """What a hundred wrong codes at once, in two processes, came to."""

    engines: tuple[Listening, Listening]
    answers: Counter[int]


async def _crowd(place: Town, challenge_id: str) -> Crowd:
    code = await _code(place, challenge_id)
    engines = (Listening(), Listening())
    pages = [
        app(parts, Trials(parts, Stopwatch().evenly))
        for parts in (replace(place.parts, client=cast("Any", each)) for each in engines)
    ]
    async with browsing(pages[0]) as one, browsing(pages[1]) as other:
        tries = (
            (one, other)[by % 2].post(f"/c/{challenge_id}", data={"code": _other(code, by)})
            for by in range(1, 101)
        )
        answers = Counter(each.status_code for each in await asyncio.gather(*tries))
    return Crowd(engines, answers)


async def test_of_a_hundred_wrong_codes_at_once_as_many_count_as_may(place: Town) -> None:
    challenge_id = await place.begun()
    crowd = await _crowd(place, challenge_id)
    row = await place.parts.ledger.challenges.find(challenge_id)
    assert crowd.answers == {FAILED: 100}
    assert row is not None
    assert (row.state, row.wrong) == (ChallengeState.DEAD, row.wrong_codes)


async def test_the_last_guess_alone_is_told_to_the_workflow_and_under_one_name(place: Town) -> None:
    challenge_id = await place.begun()
    crowd = await _crowd(place, challenge_id)
    told = {asked for engine in crowd.engines for asked in engine.asked}
    assert {workflow_id for workflow_id, _ in told} == {verification_id(challenge_id)}
    assert len(told) == 1


class LastGuess:
    """Challenges of which one has a guess left; what is presented is judged when the door opens."""

    def __init__(self, row: ChallengeRow) -> None:
        self.door = asyncio.Event()
        self.judged = 0
        self._row = row

    async def find(self, _challenge_id: str) -> ChallengeRow:
        return self._row

    async def consume(self, *_: object, at: datetime) -> Trial:
        assert at < self._row.expires_at
        self.judged += 1
        await self.door.wait()
        return Trial(consumed=False, state=ChallengeState.DEAD)


async def test_whoever_stands_behind_the_last_guess_is_let_by_without_asking(place: Town) -> None:
    """Else a flood at an id that exists would be answered later than one at an id that does not."""
    row = await place.parts.ledger.challenges.find(challenge_id := await place.begun())
    assert row is not None
    engine, challenges = Listening(), LastGuess(row)
    ledger = cast("Any", SimpleNamespace(challenges=challenges))
    trials = Trials(replace(place.parts, ledger=ledger, client=cast("Any", engine)), Stopwatch().evenly)
    code = await _code(place, challenge_id)
    tries = [
        asyncio.ensure_future(trials.code(challenge_id, _other(code, by), f"once-{by}"))
        for by in range(1, 61)
    ]
    await asyncio.sleep(0)
    challenges.door.set()
    assert await asyncio.gather(*tries) == [NOT_CONSUMED] * 60
    await asyncio.gather(*trials.telling.values())
    assert (challenges.judged, len(engine.asked), len(trials.guesses)) == (1, 1, 0)


async def test_a_guess_after_the_end_counts_for_nothing_whatever_the_workflow_knows(
    place: Town, watch: Stopwatch
) -> None:
    challenge_id = await place.begun()
    late = replace(place.engineless, clock=lambda: datetime.now(UTC) + timedelta(hours=1))
    async with browsing(app(late, Trials(late, watch.evenly))) as client:
        code = _other(await _code(place, challenge_id))
        assert (await _press(client, f"/c/{challenge_id}", code=code)).status_code == FAILED
    row = await place.parts.ledger.challenges.find(challenge_id)
    assert row is not None
    assert (row.state, row.wrong) == (ChallengeState.ACTIVE, 0)


# Answers that cannot be read


async def test_a_success_that_cannot_be_read_here_is_no_answer_and_the_same_try_works_later(
    place: Town, browser: httpx.AsyncClient, watch: Stopwatch
) -> None:
    path = await _link(place, await place.begun())
    parts = place.without_keys
    async with browsing(app(parts, Trials(parts, watch.evenly))) as client:
        answer = await _press(client, path)
    assert (answer.status_code, "Please try again" in answer.text) == (AWAY, True)
    again = {"once": Page(answer.text).value("once")}
    assert (await browser.post(path, data=again)).status_code == SENT_ON
