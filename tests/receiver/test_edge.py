"""What every answer has in common, whatever was sent: headers, one shape of problems, and no surprises."""

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message

from activities.store.ledger import Ledger
from receiver.app import build
from receiver.bodies import body
from receiver.edge import ALWAYS, HEADERS, KEPT, Edge
from receiver.operations import OPERATIONS
from receiver.places import Bounds
from receiver.problems import Problem, answered
from tests.receiver.deployed import (
    BEARER,
    PUBLIC,
    SETTINGS,
    Engine,
    calling,
    is_problem,
    parts,
)


def filled(path: str) -> str:
    """Return a path with something for each parameter."""
    return path.replace("{key}", "k:e:u").replace("{", "").replace("}", "")


PATHS = sorted({filled(path) for _, path in OPERATIONS})
GARBAGE = [
    b"",
    b"\x00",
    b"{",
    b"[" * 100_000,
    b"\xff\xfe",
    b"null",
    b'{"a": 1e999}',
    b"a=b&" * 500,
    b"%00%0a=%ff",
]
TYPES = ["", "application/json", "application/x-www-form-urlencoded", "text/plain; charset=nonsense", "é"]


@pytest.fixture
async def client(ledger: Ledger) -> AsyncIterator[httpx.AsyncClient]:
    async with calling(parts(ledger, Engine())) as client:
        yield client


@pytest.mark.parametrize("path", [*PATHS, "/", "/nothing", "/notices/", "/v/", "/callbacks"])
async def test_every_answer_keeps_to_itself(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    for name in HEADERS:
        assert name in answer.headers
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["strict-transport-security"]
    assert "set-cookie" not in answer.headers


async def test_only_an_address_with_https_demands_https(ledger: Ledger) -> None:
    local = {**SETTINGS, "STANDBY_PUBLIC_URL": "http://127.0.0.1:8026"}
    async with calling(parts(ledger, Engine(), settings=local)) as client:
        assert "strict-transport-security" not in (await client.get("/healthz")).headers


@pytest.mark.parametrize("path", ["/", "/nothing", "/v", "/callbacks", "/healthz/", "/v/token/", "//healthz"])
async def test_an_address_without_a_route_is_a_problem_and_is_sent_nowhere(
    client: httpx.AsyncClient, path: str
) -> None:
    assert is_problem(await client.get(path), 404)


def served(path: str) -> set[str]:
    """Return the methods that the document has for a path."""
    return {method for method, told in OPERATIONS if filled(told) == path}


@pytest.mark.parametrize("path", PATHS)
async def test_another_method_is_a_problem_that_names_those_there_are(
    client: httpx.AsyncClient, path: str
) -> None:
    for method in {"PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"} - served(path):
        answer = await client.request(method, path)
        assert is_problem(answer, 405)
        assert set(answer.headers["allow"].split(", ")) - {"HEAD"} == served(path)


@pytest.mark.parametrize("path", PATHS)
async def test_garbage_is_never_a_failure_of_ours(client: httpx.AsyncClient, path: str) -> None:
    sent = [
        client.post(path, content=content, headers=_headers("Bearer key-of-the-backends", kind))
        for content in GARBAGE
        for kind in TYPES
    ]
    answers = await asyncio.gather(*sent)
    assert {each.status_code for each in answers} <= {200, 204, 400, 401, 403, 404, 405, 413, 415, 422}


def _headers(authorization: str, kind: str) -> list[tuple[bytes, bytes]]:
    """Write headers as nobody should."""
    return [(b"Authorization", authorization.encode()), (b"Content-Type", kind.encode())]


@pytest.mark.parametrize(
    ("method", "path"), [each for each, told in OPERATIONS.items() if not told.is_open], ids=str
)
async def test_whoever_does_not_show_the_key_is_told_nothing(
    client: httpx.AsyncClient, method: str, path: str
) -> None:
    for key in (
        "",
        "Bearer",
        "Bearer ",
        "Basic a2V5",
        "bearer another-key",
        f"Bearer {'k' * 10_000}",
        "Bearer é",
    ):
        headers = _headers(key, "application/json")
        answer = await client.request(method, path, headers=headers, content=b"{}")
        assert is_problem(answer, 401)
        assert answer.headers["www-authenticate"] == "Bearer"


async def test_either_of_two_keys_lets_a_backend_in(ledger: Ledger) -> None:
    both = {**SETTINGS, "STANDBY_API_KEY_NEXT": "the-next-key"}
    async with calling(parts(ledger, Engine(), settings=both)) as client:
        for key in (SETTINGS["STANDBY_API_KEY"], "the-next-key"):
            answer = await client.get("/notices/k:e:u", headers={"Authorization": f"bearer  {key}"})
            assert is_problem(answer, 404)


async def test_without_a_key_nobody_is_let_in(ledger: Ledger) -> None:
    async with calling(parts(ledger, Engine(), settings={})) as client:
        assert is_problem(await client.get("/notices/k:e:u", headers=BEARER), 503)


# What the edge does for any app


class SurpriseError(Exception):
    """Holds what was sent, as exceptions of libraries do."""


async def _surprise(request: Request) -> Response:
    raise SurpriseError(str(request.url))


async def _echo(request: Request) -> Response:
    return Response(await body(request, 10), headers={"Cache-Control": "private"})


def _app(*routes: Route, bounds: Bounds | None = None, longest: timedelta | None = None) -> Starlette:
    return Starlette(
        routes=[Route("/surprise/{token}", _surprise), Route("/echo", _echo, methods=["POST"]), *routes],
        middleware=[Middleware(Edge, bounds=bounds, longest=longest)],
        exception_handlers={Problem: answered},
    )


def _speaking(app: Starlette) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=PUBLIC)


async def test_what_nobody_foresaw_is_one_line_in_the_log_and_tells_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with _speaking(_app()) as client:
        answer = await client.get("/surprise/secret-link")
    assert is_problem(answer, 500)
    (line,) = [each for each in caplog.records if each.name == "standby"]
    assert (line.levelno, line.exc_info) == (logging.ERROR, None)
    assert line.__dict__["facts"] == {"error": "SurpriseError"}
    assert "secret-link" not in caplog.text


async def test_an_answer_s_own_headers_hold() -> None:
    async with _speaking(_app()) as client:
        answer = await client.post("/echo", content=b"12345")
    assert (answer.content, answer.headers["cache-control"]) == (b"12345", "private")


async def test_a_body_that_grows_beyond_its_limit_is_cut_off() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"12345"

    async with _speaking(_app()) as client:
        assert is_problem(await client.post("/echo", content=endless()), 413)
        long = {"Content-Length": "9" * 19}
        assert is_problem(await client.post("/echo", content=b"", headers=long), 413)


async def test_a_body_that_comes_too_slowly_is_not_waited_for() -> None:
    async def silent() -> AsyncIterator[bytes]:
        yield b"1"
        await asyncio.Event().wait()

    async def impatient(request: Request) -> Response:
        return Response(await body(request, patience=timedelta()))

    async with _speaking(_app(Route("/impatient", impatient, methods=["POST"]))) as client:
        assert is_problem(await client.post("/impatient", content=silent()), 408)


class Waiting:
    """Counts who has come, and answers them all when it is told to."""

    def __init__(self) -> None:
        self.going = asyncio.Event()
        self._come = asyncio.Semaphore(0)

    async def __call__(self, _request: Request) -> Response:
        self._come.release()
        await self.going.wait()
        return Response()

    async def has(self, many: int) -> None:
        """Wait until so many more are here."""
        for _ in range(many):
            await self._come.acquire()


async def _well(_request: Request) -> Response:
    return Response()


def _busy(waiting: Waiting, bounds: Bounds, longest: timedelta | None = None) -> Starlette:
    """Return an app on which some addresses wait, and those of probes answer."""

    async def wait(request: Request) -> Response:
        return await waiting(request)

    waits = [Route(f"{path}{{name}}", wait) for path in ("/v/", "/callbacks/", "/notices/")]
    probes = [Route(each, _well) for each in ALWAYS]
    return _app(*waits, *probes, bounds=bounds, longest=longest)


async def test_beyond_what_can_be_in_hand_a_request_is_to_come_again_and_probes_are_still_answered() -> None:
    waiting = Waiting()
    async with _speaking(_busy(waiting, Bounds(most=1))) as client:
        first = asyncio.ensure_future(client.get("/callbacks/a"))
        await waiting.has(1)
        busy = await client.get("/callbacks/b")
        probed = [await client.get(path) for path in sorted(ALWAYS)]
        waiting.going.set()
        assert (await first).status_code == 200
        assert is_problem(busy, 503)
        assert busy.headers["retry-after"]
        assert [each.status_code for each in probed] == [200] * len(ALWAYS)
        assert (await client.get("/callbacks/b")).status_code == 200


async def test_strangers_fill_their_own_places_only() -> None:
    waiting = Waiting()
    async with _speaking(_busy(waiting, Bounds(most=4, strangers=2))) as client:
        pages = [asyncio.ensure_future(client.get(f"/v/{each}")) for each in range(2)]
        await waiting.has(2)
        refused = await client.get("/v/another")
        kept = [asyncio.ensure_future(client.get(path)) for path in ("/callbacks/a", "/notices/b")]
        await waiting.has(2)
        waiting.going.set()
        assert is_problem(refused, 503)
        assert [(await each).status_code for each in (*pages, *kept)] == [200] * 4
        assert (await client.get("/v/again")).status_code == 200


def test_the_places_that_strangers_cannot_fill_are_for_whoever_shows_a_key_or_a_signature() -> None:
    """An address that nobody has thought of here shares the places of strangers."""
    for (_, path), told in OPERATIONS.items():
        is_kept = path.startswith(KEPT)
        assert is_kept == (not told.is_open or path.startswith("/callbacks/")), path


class Drip:
    """A body of two pieces, the second of which comes when it is told to."""

    def __init__(self) -> None:
        self.begun, self.going = asyncio.Event(), asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"1"
        self.begun.set()
        await self.going.wait()
        yield b"2"


async def _dripping(
    client: httpx.AsyncClient, many: int
) -> list[tuple[Drip, "asyncio.Task[httpx.Response]"]]:
    """Begin so many bodies, one after another."""
    begun = []
    for _ in range(many):
        drip = Drip()
        begun.append((drip, asyncio.create_task(client.post("/echo", content=drip))))
        await drip.begun.wait()
    return begun


async def test_a_body_that_is_on_its_way_takes_nobody_s_place() -> None:
    async with _speaking(_app(bounds=Bounds(most=1, strangers=1))) as client:
        slow = await _dripping(client, 3)
        assert (await client.post("/echo", content=b"quick")).text == "quick"
        for drip, _ in slow:
            drip.going.set()
        assert [(await task).text for _, task in slow] == ["12"] * 3


async def test_of_too_many_bodies_on_their_way_the_longest_gives_way() -> None:
    async with _speaking(_app(bounds=Bounds(arriving=2))) as client:
        (_, longest), *others = await _dripping(client, 3)
        assert is_problem(await longest, 408)
        assert (await client.post("/echo", content=b"quick")).text == "quick"
        (_, next_longest), (last, latest) = others
        assert is_problem(await next_longest, 408)
        last.going.set()
        assert (await latest).text == "12"


async def test_a_body_that_is_whole_when_no_place_is_left_is_to_come_again() -> None:
    waiting = Waiting()
    async with _speaking(_busy(waiting, Bounds(most=1))) as client:
        ((drip, slow),) = await _dripping(client, 1)
        first = asyncio.ensure_future(client.get("/callbacks/a"))
        await waiting.has(1)
        drip.going.set()
        assert is_problem(await slow, 503)
        waiting.going.set()
        assert (await first).status_code == 200
        assert (await client.post("/echo", content=b"again")).text == "again"


async def test_an_answer_that_waits_for_its_reader_takes_nobody_s_place() -> None:
    going, begun = asyncio.Event(), asyncio.Event()

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(_message: Message) -> None:
        begun.set()
        await going.wait()

    edge = Edge(Response(), bounds=Bounds(most=1))
    scope = {"type": "http", "path": "/callbacks/a", "method": "GET"}
    unread = asyncio.create_task(edge(scope, receive, send))
    await begun.wait()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(edge), base_url=PUBLIC) as client:
        assert (await client.get("/callbacks/b")).status_code == 200
        going.set()
        await unread
        assert (await client.get("/callbacks/c")).status_code == 200


async def test_a_request_that_takes_too_long_is_answered_and_gives_its_place_back() -> None:
    async with _speaking(_busy(Waiting(), Bounds(most=1), timedelta())) as client:
        for _ in range(2):
            late = await client.get("/callbacks/a")
            assert is_problem(late, 503)
            assert "took too long" in late.json()["detail"]
            assert late.headers["retry-after"]


async def test_the_app_tells_only_what_it_is_asked(ledger: Ledger) -> None:
    assert build(parts(ledger, Engine())).debug is False
