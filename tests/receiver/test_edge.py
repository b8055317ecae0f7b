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

from activities.store.ledger import Ledger
from receiver.app import build
from receiver.bodies import body
from receiver.edge import HEADERS, Edge
from receiver.operations import OPERATIONS
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
    for method in ("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"):
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


def _app(*, most: int = 10, routes: tuple[Route, ...] = ()) -> Starlette:
    return Starlette(
        routes=[Route("/surprise/{token}", _surprise), Route("/echo", _echo, methods=["POST"]), *routes],
        middleware=[Middleware(Edge, most=most)],
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

    app = _app(routes=(Route("/impatient", impatient, methods=["POST"]),))
    async with _speaking(app) as client:
        assert is_problem(await client.post("/impatient", content=silent()), 408)


async def test_beyond_what_can_be_in_hand_a_request_is_to_come_again_and_health_is_still_told() -> None:
    begun, going = asyncio.Event(), asyncio.Event()

    async def wait(_request: Request) -> Response:
        begun.set()
        await going.wait()
        return Response()

    async def well(_request: Request) -> Response:
        return Response()

    app = _app(most=1, routes=(Route("/wait", wait), Route("/healthz", well)))
    async with _speaking(app) as client:
        waiting = asyncio.ensure_future(client.get("/wait"))
        await begun.wait()
        busy = await client.get("/wait")
        alive = await client.get("/healthz")
        going.set()
        assert (await waiting).status_code == 200
        assert is_problem(busy, 503)
        assert busy.headers["retry-after"]
        assert alive.status_code == 200
        assert (await client.get("/healthz")).status_code == 200


async def test_the_app_tells_only_what_it_is_asked(ledger: Ledger) -> None:
    assert build(parts(ledger, Engine())).debug is False
