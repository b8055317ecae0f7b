"""The server on real sockets: it finishes what is in hand, and answers whatever bytes come."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from activities.store import database
from activities.store.ledger import Ledger
from client import verifying
from console.exits import Exit, ending
from receiver import bodies, denials, evenly, notices
from receiver.app import build
from receiver.connections import Limits
from receiver.edge import Edge
from receiver.lasting import LONGEST
from receiver.places import Bounds
from receiver.problems import Problem, answered
from receiver.serving import FINISH, Address, CannotListenError, serving
from tests.receiver.deployed import Engine, is_problem, parts


class Slow:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.begun, self.going = asyncio.Event(), asyncio.Event()

    async def __call__(self, _request: Request) -> Response:
        self.begun.set()
        await self.going.wait()
        return PlainTextResponse("done")


def small(slow: Slow, bounds: Bounds | None = None) -> Starlette:
    async def endpoint(request: Request) -> Response:
        return await slow(request)

    async def quick(request: Request) -> Response:
        return Response(await bodies.body(request))

    routes = [Route("/", endpoint), Route("/quick", quick, methods=["GET", "POST"])]
    handlers = {Problem: answered}
    return Starlette(routes=routes, middleware=[Middleware(Edge, bounds=bounds)], exception_handlers=handlers)


async def test_a_request_in_hand_is_finished_and_no_other_begun() -> None:
    slow = Slow()
    async with contextlib.AsyncExitStack() as stack, httpx.AsyncClient(trust_env=False) as client:
        at = await stack.enter_async_context(serving(small(slow), Address()))
        waiting = asyncio.ensure_future(client.get(at.url))
        await slow.begun.wait()
        leaving = asyncio.ensure_future(stack.aclose())
        await closed(at)
        assert not leaving.done()
        slow.going.set()
        answer = await waiting
        await leaving
    assert (answer.status_code, answer.text) == (200, "done")


async def closed(at: Address) -> None:
    """Knock until nobody opens."""
    while True:
        try:
            _, writer = await asyncio.open_connection(at.host, at.port)
        except OSError:
            return
        writer.close()
        await asyncio.sleep(0.01)


async def test_a_request_that_does_not_end_is_not_waited_for_for_ever() -> None:
    slow = Slow()
    async with httpx.AsyncClient(trust_env=False) as client:
        async with serving(small(slow), Address(), finish=timedelta(seconds=1)) as at:
            waiting = asyncio.ensure_future(client.get(at.url))
            await slow.begun.wait()
        cut = await waiting
    assert is_problem(cut, 503)
    assert cut.headers["retry-after"]


@pytest.mark.parametrize(
    "allowed",
    [
        pytest.param(notices.PATIENCE + 2 * denials.PATIENCE, id="begin"),
        pytest.param(verifying.PATIENCE + evenly.QUANTUM, id="consume"),
        pytest.param(verifying.PATIENCE + database.PATIENCE, id="resend"),
    ],
)
def test_leaving_takes_longer_than_any_request_may(allowed: timedelta, ledger: Ledger) -> None:
    assert FINISH > LONGEST >= bodies.PATIENCE + allowed
    (edge,) = build(parts(ledger, Engine())).user_middleware
    assert edge.kwargs["longest"] == LONGEST


async def test_an_open_connection_without_a_request_keeps_nobody_waiting() -> None:
    async with serving(small(Slow()), Address()) as at:
        _, writer = await asyncio.open_connection(at.host, at.port)
    writer.close()


# What strangers can do with connections

SOON = Limits(head=timedelta(milliseconds=50), unread=timedelta(milliseconds=50))
GET = b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n"
HALF = b"POST /quick HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1234"


async def opened(at: Address, raw: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(at.host, at.port)
    writer.write(raw)
    await writer.drain()
    return reader, writer


@pytest.mark.parametrize(
    ("raw", "answer"),
    [
        (b"", b""),
        (b"GET /quick HTTP/1.1\r\nX-Unfini", b""),
        (GET % b"/quick", b"HTTP/1.1 200"),
        (GET % b"/quick" + b"GET /quick HT", b"HTTP/1.1 200"),
        # Answered before its body is there, and the body never comes.
        (HALF.replace(b"/quick", b"/nowhere"), b"HTTP/1.1 404"),
    ],
    ids=["nothing", "half a head", "no second request", "half a second head", "half a body"],
)
async def test_a_connection_on_which_nothing_begins_in_time_is_closed(raw: bytes, answer: bytes) -> None:
    async with serving(small(Slow()), Address(), limits=SOON) as at:
        reader, writer = await opened(at, raw)
        assert (await reader.read())[:12] == answer
    writer.close()


async def test_a_connection_with_a_request_at_work_is_closed_only_after_it() -> None:
    """The second of two that came at once as well: it began within the answer to the first."""
    slow = Slow()
    async with serving(small(slow), Address(), limits=SOON) as at:
        reader, writer = await opened(at, GET % b"/quick" + GET % b"/")
        await slow.begun.wait()
        silent, other = await opened(at)
        # It came later, and its time is over: so that of the first would be too.
        assert await silent.read() == b""
        slow.going.set()
        assert (await reader.readuntil(b"done")).count(b"HTTP/1.1 200") == 2
        writer.write(b"GET /qui")
        assert await reader.read() == b""
    writer.close()
    other.close()


async def test_answers_that_nobody_reads_are_not_kept_for_ever() -> None:
    ended = asyncio.Event()

    async def long(scope: Scope, _receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(1000):
            await send({"type": "http.response.body", "body": b"." * 65_536, "more_body": True})
        await send({"type": "http.response.body"})
        ended.set()

    async with serving(long, Address(), limits=SOON) as at:
        _, writer = await opened(at, GET % b"/")
        await ended.wait()
    writer.close()


async def test_beyond_the_most_connections_the_one_that_is_silent_longest_gives_way() -> None:
    slow = Slow()
    async with serving(small(slow), Address(), limits=Limits(most=3)) as at:
        at_work, first = await opened(at, GET % b"/")
        await slow.begun.wait()
        silent = [await opened(at) for _ in range(3)]
        assert await silent[0][0].read() == b""
        _, last = await opened(at, GET % b"/quick")
        assert await silent[1][0].read() == b""
        slow.going.set()
        assert (await at_work.readuntil(b"done")).startswith(b"HTTP/1.1 200")
    for writer in (first, last, *(each for _, each in silent)):
        writer.close()


async def test_half_sent_bodies_keep_no_other_from_being_heard() -> None:
    app = small(Slow(), Bounds(most=2, strangers=2, arriving=8))
    async with serving(app, Address()) as at, httpx.AsyncClient(trust_env=False) as client:
        slow = [await opened(at, HALF) for _ in range(12)]
        assert (await client.post(f"{at.url}/quick", content=b"heard")).text == "heard"
        reader, writer = slow[-1]
        writer.write(b"56789")
        assert (await reader.readuntil(b"123456789")).startswith(b"HTTP/1.1 200")
        assert (await slow[0][0].read())[:12] == b"HTTP/1.1 408"
        for _, each in slow:
            each.close()


async def test_an_address_that_is_taken_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CannotListenError) as caught:
            async with serving(small(Slow()), Address(port=port)):
                pass
    code, lines = ending(caught.value)
    assert code is Exit.FAILED
    assert lines == (
        f"cannot listen at 127.0.0.1 port {port} (Address already in use): choose another address",
    )


async def test_a_host_that_is_none_is_one_line() -> None:
    with pytest.raises(CannotListenError, match=r"cannot listen at nowhere\.invalid port 0"):
        async with serving(small(Slow()), Address("nowhere.invalid")):
            pass


def test_an_address_of_version_6_is_written_in_brackets() -> None:
    assert Address("::1", 8026).url == "http://[::1]:8026"


# The whole app on a socket


@pytest.fixture
async def at(ledger: Ledger) -> AsyncIterator[Address]:
    async with serving(build(parts(ledger, Engine())), Address()) as at:
        yield at


async def sent(at: Address, raw: bytes) -> bytes:
    """Write bytes, and read what comes until the server closes; nothing, where it hangs up at once."""
    reader, writer = await asyncio.open_connection(at.host, at.port)
    try:
        writer.write(raw)
        writer.write_eof()
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"h" * 200_000 + b"\r\n\r\n",
        b"GET /" + b"p" * 200_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET \xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /notices HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n",
        b"POST /notices HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x00" * 1000,
    ],
    ids=range(9),
)
async def test_bytes_that_are_no_request_are_refused(at: Address, raw: bytes) -> None:
    assert (await sent(at, raw))[:12] in {b"HTTP/1.1 400", b"HTTP/1.1 404", b""}
    async with httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(f"{at.url}/healthz")).status_code == 200


@pytest.mark.parametrize(
    "target",
    [
        b"/v/%00%ff%fe",
        b"/notices/%c3%28:%0a:u",
        b"/callbacks/%2e%2e%2fsandbox",
        b"http://elsewhere.example/healthz",
        b"/healthz?%00=%ff",
        b"/c/%ed%a0%80",
        b"/unsubscribe/" + b"%41" * 500,
    ],
)
async def test_any_target_has_an_answer_that_is_no_failure_of_ours(at: Address, target: bytes) -> None:
    answer = await sent(at, b"GET " + target + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert answer.split(b" ")[1] in {b"200", b"401", b"403", b"404"}


async def test_no_line_of_the_log_holds_a_path(at: Address, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with httpx.AsyncClient(trust_env=False) as client:
        await client.get(f"{at.url}/v/secret-link")
        await client.post(f"{at.url}/unsubscribe/secret-link")
    assert not [
        each for each in caplog.records if each.name != "httpx" and "secret-link" in each.getMessage()
    ]


async def test_the_server_does_not_say_what_it_is(at: Address) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        assert "server" not in (await client.get(f"{at.url}/healthz")).headers
