"""What a broken wire proves about a send and a look-up, the same for every adapter."""

import asyncio
from datetime import timedelta

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.providers import wire
from activities.providers.errors import (
    Ambiguous,
    Misconfigured,
    NotSent,
    ProviderError,
    ReadFailed,
    Rejected,
)
from activities.providers.provider import Provider
from tests.providers.conftest import SHORT
from tests.providers.scripted import Fault, Scripted, answer, scripted
from tests.providers.subject import PERSONAL, Subject
from tests.providers.subjects import can, that

HTML = b"<html><title>502 Bad Gateway</title></html>"

ANYWHERE: dict[str, tuple[bytes | Fault, type[Exception]]] = {
    "a proxy's 502": (answer(502, HTML), Ambiguous),
    "a proxy's 503": (answer(503, HTML), Ambiguous),
    "a proxy's 408": (answer(408, HTML), Ambiguous),
    "303": (answer(303, b"", Location="/elsewhere"), Ambiguous),
    "200 with HTML": (answer(200, HTML), Ambiguous),
    "204": (answer(204), Ambiguous),
    "truncated JSON": (answer(201, b'{"id": "sb_1", "sta'), Ambiguous),
    "JSON that is no object": (answer(201, b'["sb_1"]'), Ambiguous),
    "no id": (answer(201, {"status": "queued"}), Ambiguous),
    "deeply nested JSON": (answer(201, b"[" * 100_000), Ambiguous),
    "an endless body": (answer(201, b'{"id": "' + b"x" * 1_000_001 + b'"}'), Ambiguous),
    "a wrong encoding": (answer(201, b"no gzip", Content_Encoding="gzip"), Ambiguous),
    "another protocol": (b"SSH-2.0-OpenSSH_9.6\r\n", Ambiguous),
    "a dropped connection": (Fault.DROP, Ambiguous),
    "a reset connection": (Fault.RESET, Ambiguous),
    "a proxy's 404": (answer(404, HTML), NotSent),
    "a proxy's 413": (answer(413, HTML), NotSent),
    "a proxy's 425": (answer(425, HTML), NotSent),
    "a proxy's 429": (answer(429, HTML), NotSent),
    "308": (answer(308, b"", Location="/elsewhere"), Misconfigured),
    "a proxy's 401": (answer(401, HTML), Misconfigured),
    "a proxy's 403": (answer(403, HTML), Misconfigured),
    "407": (answer(407, HTML), Misconfigured),
}
"""What proves the same whoever the provider is."""

UNHEARD: dict[int, type[Exception]] = {
    400: Rejected,
    401: Misconfigured,
    403: Misconfigured,
    404: Misconfigured,
    405: Misconfigured,
    408: Ambiguous,
    409: Ambiguous,
    422: Rejected,
    425: NotSent,
    429: NotSent,
    500: Ambiguous,
    503: Ambiguous,
}
"""An error in the provider's own shape that nobody documented, by its HTTP status."""

READS: dict[str, tuple[bytes | Fault, type[Exception]]] = {
    "a proxy's 404": (answer(404, HTML), ReadFailed),
    "200 with HTML": (answer(200, HTML), ReadFailed),
    "a proxy's 500": (answer(500, HTML), ReadFailed),
    "a proxy's 429": (answer(429, HTML), ReadFailed),
    "a dropped connection": (Fault.DROP, ReadFailed),
    "a proxy's 401": (answer(401, HTML), Misconfigured),
}


def no_personal_data(error: BaseException) -> bool:
    return not any(part in f"{error!r} {error}" for part in PERSONAL)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "7"}, timedelta(seconds=7)),
        (
            {"Date": "Tue, 01 Dec 2026 10:00:00 GMT", "Retry-After": "Tue, 01 Dec 2026 10:02:00 GMT"},
            timedelta(minutes=2),
        ),
        (
            {"Date": "Tue, 01 Dec 2026 10:00:00 GMT", "Retry-After": "Tue, 01 Dec 2026 09:00:00 GMT"},
            timedelta(),
        ),
        ({"Retry-After": "9" * 400}, timedelta(hours=1)),
        ({"Retry-After": "Tue, 01 Dec 2026 10:02:00 GMT"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "soon"}, None),
        ({}, None),
    ],
    ids=["seconds", "date", "date gone by", "bounded", "date without a date", "negative", "word", "absent"],
)
async def test_a_429_is_not_sent_and_says_how_long_to_wait(
    subject: Subject, provider: Provider, script: Scripted, headers: dict[str, str], wait: timedelta | None
) -> None:
    script.answer = answer(429, HTML, **headers)

    with pytest.raises(NotSent) as caught:
        await provider.send(subject.message)

    assert caught.value.retry_after == wait


@pytest.mark.parametrize(("says", "error"), ANYWHERE.values(), ids=ANYWHERE.keys())
async def test_a_send_that_fails_says_what_is_proven_and_is_made_once(
    subject: Subject, provider: Provider, script: Scripted, says: bytes | Fault, error: type[Exception]
) -> None:
    script.answer = says

    with pytest.raises(error) as caught:
        await provider.send(subject.message)

    assert len(script.requests) == 1
    assert no_personal_data(caught.value)


@pytest.mark.parametrize(("http", "error"), UNHEARD.items())
async def test_an_undocumented_error_proves_what_its_http_status_does(
    subject: Subject, provider: Provider, script: Scripted, http: int, error: type[Exception]
) -> None:
    script.answer = subject.unheard(http)

    with pytest.raises(error):
        await provider.send(subject.message)


async def test_an_acceptance_that_is_cut_short_is_ambiguous(
    subject: Subject, provider: Provider, script: Scripted
) -> None:
    script.answer = subject.taken[:-4]

    with pytest.raises(Ambiguous):
        await provider.send(subject.message)


async def test_a_silent_provider_is_ambiguous_within_the_budget(
    subject: Subject, client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = Fault.SILENCE

    with pytest.raises(Ambiguous, match="time budget spent") as caught:
        await subject.at(client, script.url, SHORT).send(subject.message)

    assert no_personal_data(caught.value)


async def test_a_read_timeout_after_the_request_arrived_is_ambiguous(
    subject: Subject, script: Scripted
) -> None:
    script.answer = Fault.SILENCE
    async with wire.new_client() as impatient:
        impatient.timeout = httpx.Timeout(5, read=SHORT.total_seconds())
        with pytest.raises(Ambiguous, match="read timeout"):
            await subject.at(impatient, script.url).send(subject.message)

    assert len(script.requests) == 1


async def test_a_refused_connection_is_not_sent(subject: Subject, client: httpx.AsyncClient) -> None:
    async with scripted() as gone:
        url = gone.url

    with pytest.raises(NotSent, match="connection failed"):
        await subject.at(client, url).send(subject.message)


async def test_a_failed_tls_handshake_is_not_sent(subject: Subject, client: httpx.AsyncClient) -> None:
    async def speak_plainly(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(speak_plainly, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(NotSent, match="connection failed"):
            await subject.at(client, url).send(subject.message)


async def test_an_address_without_a_scheme_is_a_setting(subject: Subject, client: httpx.AsyncClient) -> None:
    with pytest.raises(Misconfigured, match="must start with https"):
        await subject.at(client, "api.example.test").send(subject.message)


@that(lambda subject: can(subject).reads_by_id)
@pytest.mark.parametrize(("says", "error"), READS.values(), ids=READS.keys())
async def test_a_look_up_that_fails_proves_nothing(
    subject: Subject, client: httpx.AsyncClient, script: Scripted, says: bytes | Fault, error: type[Exception]
) -> None:
    provider = subject.at(client, script.url)
    script.answer = says

    with pytest.raises(error) as caught:
        await provider.look_up(subject.message.channel, subject.message.key, subject.provider_id)

    assert no_personal_data(caught.value)


NAMES = st.sampled_from(
    ["Retry-After", "Date", "Content-Type", "Content-Encoding", "Location", "X-Any", "Set-Cookie"],
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "id",
                    "status",
                    "error",
                    "messages",
                    "code",
                    "data",
                    "errors",
                    "name",
                    "metadata",
                    "to",
                    "events",
                ]
            ),
            inner,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(
    status=st.integers(min_value=200, max_value=999),
    body=st.binary(max_size=60) | JSON.map(lambda value: httpx.Response(200, json=value).content),
    headers=st.dictionaries(
        NAMES, st.text(st.characters(codec="latin-1", categories=["L", "N"])), max_size=3
    ),
)
async def test_no_answer_whatever_leaves_the_tree_or_repeats_a_send(
    subject: Subject, status: int, body: bytes, headers: dict[str, str]
) -> None:
    asked: list[httpx.Request] = []

    def say(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        return httpx.Response(status, headers=encoded, stream=httpx.ByteStream(body))

    async with wire.new_client(httpx.MockTransport(say)) as client:
        provider = subject.at(client, "https://api.example.test")
        try:
            assert (await provider.send(subject.message)).provider_id
        except (ProviderError, Misconfigured) as error:
            assert no_personal_data(error)  # noqa: PT017  # an acceptance is as good an end
        assert len(asked) == 1
        try:
            await provider.look_up(subject.message.channel, subject.message.key, subject.provider_id)
        except (ReadFailed, Misconfigured) as error:
            assert no_personal_data(error)  # noqa: PT017  # so is a report
