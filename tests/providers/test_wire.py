"""The one request, and the client that it is made with."""

import gzip
import zlib

import httpx
import pytest

from activities.providers import wire
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, ProviderError, ReadFailed
from activities.providers.registry import PROVIDERS, Providers
from activities.settings import Settings
from workflows.policy.cleaning import cleaned
from workflows.policy.words import Channel

REQUEST = httpx.Request("POST", "https://api.example.test/send?to=anna.secret@example.test", content=b"x")

FAULTS: list[tuple[Exception, type[ProviderError], str]] = [
    (httpx.ConnectError("anna.secret"), NotSent, "connection failed"),
    (httpx.ConnectTimeout("anna.secret"), NotSent, "connect timeout"),
    (httpx.PoolTimeout("anna.secret"), NotSent, "no free connection"),
    (httpx.ProxyError("anna.secret"), NotSent, "proxy refused the connection"),
    (httpx.ReadTimeout("anna.secret"), Ambiguous, "read timeout"),
    (httpx.WriteTimeout("anna.secret"), Ambiguous, "write timeout"),
    (httpx.ReadError("anna.secret"), Ambiguous, "connection reset while reading"),
    (httpx.WriteError("anna.secret"), Ambiguous, "connection reset while writing"),
    (httpx.RemoteProtocolError("anna.secret"), Ambiguous, "connection dropped"),
    (httpx.LocalProtocolError("anna.secret"), Ambiguous, "LocalProtocolError on the wire"),
    (KeyError("anna.secret"), Ambiguous, "KeyError on the wire"),
]
"""A fault of the library itself is no proof that nothing left."""


def breaking(fault: Exception) -> httpx.AsyncClient:
    def handle(_request: httpx.Request) -> httpx.Response:
        raise fault

    return wire.new_client(httpx.MockTransport(handle))


@pytest.mark.parametrize(("fault", "error", "words"), FAULTS, ids=lambda value: type(value).__name__)
async def test_a_broken_send_is_named_by_what_it_proves(
    fault: Exception, error: type[ProviderError], words: str
) -> None:
    async with breaking(fault) as client:
        with pytest.raises(error) as caught:
            await wire.submit(client, REQUEST)

    assert (type(caught.value), str(caught.value)) == (error, words)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(("fault", "words"), [(fault, words) for fault, _, words in FAULTS])
async def test_a_broken_look_up_proves_nothing(fault: Exception, words: str) -> None:
    async with breaking(fault) as client:
        with pytest.raises(ReadFailed) as caught:
            await wire.fetch(client, REQUEST)

    assert str(caught.value) == words


async def test_the_client_keeps_no_cookies() -> None:
    def bake(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers=[(b"Set-Cookie", "crumb=ª; Path=/".encode("latin-1"))], json={})

    async with wire.new_client(httpx.MockTransport(bake)) as client:
        await wire.submit(client, REQUEST)

        assert "cookie" not in client.build_request("GET", "https://api.example.test/").headers


@pytest.mark.parametrize(
    ("word", "kept"),
    [
        ("delivered", "delivered"),
        ("Rendering Failure", "Rendering Failure"),
        ("21610", "21610"),
        ("user <anna@example.test> unknown", "user <address> unknown"),
        ("no route to +1 (202) 555-0142", "no route to <number>"),
        ("a\tb\r\nc\x00é", "a b c"),
        ("x" * 100, "x" * 64),
        ("", ""),
    ],
)
def test_a_providers_word_is_cut_to_what_may_be_shown(word: str, kept: str) -> None:
    assert cleaned(word) == kept


async def test_an_unknown_provider_is_one_line_that_lists_what_there_is(client: httpx.AsyncClient) -> None:
    providers = Providers(Settings(email="pigeon"), client)

    with pytest.raises(Misconfigured) as caught:
        providers.serving(Channel.EMAIL)

    assert str(caught.value) == f"provider 'pigeon' is not known: choose one of {', '.join(PROVIDERS)}"


async def test_a_kind_may_choose_its_provider_and_each_is_made_once(client: httpx.AsyncClient) -> None:
    providers = Providers(Settings(email="pigeon"), client)

    chosen = providers.serving(Channel.EMAIL, "sandbox")

    assert chosen.name == "sandbox"
    assert chosen is providers.serving(Channel.SMS)


PLAIN = b'{"id": "m-1"}'


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("gzip", gzip.compress(PLAIN)), ("identity", PLAIN), ("", PLAIN), ("GZIP ", gzip.compress(PLAIN))],
)
async def test_an_answer_is_unpacked_as_it_was_asked_for(encoding: str, body: bytes) -> None:
    def say(request: httpx.Request) -> httpx.Response:
        assert request.headers["Accept-Encoding"] == "gzip"
        headers = {"Content-Encoding": encoding} if encoding else {}
        return httpx.Response(200, headers=headers, stream=httpx.ByteStream(body))

    async with wire.new_client(httpx.MockTransport(say)) as client:
        request = client.build_request("POST", "https://api.example.test", content=b"x")
        answered = await wire.submit(client, request)

    assert answered.body == PLAIN


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b"0" * 50_000_000)),
        ("gzip, gzip", gzip.compress(gzip.compress(PLAIN))),
        ("gzip", gzip.compress(PLAIN)[:-4]),
        ("gzip", PLAIN),
        ("br", PLAIN),
        ("deflate", zlib.compress(PLAIN)),
    ],
    ids=["a bomb", "twice", "cut short", "not at all", "brotli", "deflate"],
)
async def test_an_answer_that_unpacks_to_too_much_or_in_another_way_is_unreadable(
    encoding: str, body: bytes
) -> None:
    def say(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"Content-Encoding": encoding}, stream=httpx.ByteStream(body))

    async with wire.new_client(httpx.MockTransport(say)) as client:
        with pytest.raises(Ambiguous):
            await wire.submit(client, REQUEST)
