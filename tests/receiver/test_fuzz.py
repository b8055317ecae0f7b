"""Requests that nobody would think of, to every route over HTTP: deep enough that each also succeeds.

The engine, the worker and the ledger are real, and nothing is scripted away: no answer may be a 5xx.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import schemathesis
from google.protobuf.json_format import MessageToDict
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance
from temporalio.api.common.v1 import Payload

from activities.codec import Seal, is_sealed
from activities.providers.base import Callback, Callbacks
from activities.providers.registry import PROVIDERS
from activities.settings import Settings
from activities.store.ledger import Ledger
from activities.unsubscribing import token
from receiver.app import build
from receiver.consuming import Trials
from receiver.evenly import Evenly
from receiver.openapi import document
from receiver.operations import FORM, OPERATIONS
from receiver.parts import Parts
from receiver.serving import Address, serving
from tests.receiver import verifying
from tests.receiver.deployed import (
    BEARER,
    HASH,
    PUBLIC,
    SETTINGS,
    Adapters,
    Engine,
    dispatched,
    parts,
)
from tests.receiver.drawn import VALUES, as_json, nearly
from tests.receiver.signing import CALLERS
from tests.receiver.verifying import AT_ONCE, town

SCHEMA = schemathesis.openapi.from_dict(document())
CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]
ROUTES = [pytest.param(*each, id=" ".join(each)) for each in OPERATIONS]
JSON = "application/json"
DECODE = "/codec/decode"
CODEC_KEY = "key-of-the-codec"
UI = {"Origin": "https://temporal.example.com"}
KEYS = {DECODE: {"Authorization": f"Bearer {CODEC_KEY}"}}
"""Of routes that have one of their own."""
UNKNOWN = {"Authorization": "Bearer no"}
SAMPLE = json.loads((Path(verifying.NOTICES) / "password_reset" / "sample.json").read_text())


def few(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def speaking(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, trust_env=False)


class Request(NamedTuple):
    """What is sent, but for the address of the server."""

    path: str
    content: bytes | None = None
    headers: Mapping[str, str] = {}


@dataclass(frozen=True)
class Place:
    """A deployment that is whole, and what is on its record."""

    url: str
    ids: Mapping[str, tuple[str, ...]]
    """What stands in paths: of each parameter some values that mean something here."""
    token: str
    """A right one, of a verification that is open."""
    resendable: tuple[str, ...]
    """Verifications of which another message may be asked for, and of which nobody has asked yet."""
    sealed: object
    """A payload of the engine's history."""


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    async with town(tmp_path_factory.mktemp("fuzz")) as found:
        adapters = [each.subject.at(httpx.AsyncClient(), "https://x.example") for each in CALLERS.values()]
        places = {"STANDBY_TASK_QUEUE": verifying.QUEUE, "STANDBY_RETURN_URLS": verifying.RETURN}
        codec = {"STANDBY_CODEC_KEY": CODEC_KEY, "STANDBY_UI_ORIGIN": UI["Origin"]}
        own = Settings.read({**SETTINGS, **places, **codec})
        made = replace(found.parts, providers=Adapters(*adapters), settings=own)
        open_id, more = await found.begun(), [await found.begun(kind=AT_ONCE) for _ in range(2)]
        over_id = await found.begun()
        open_token = (await found.secrets_of(open_id)).link
        # Failures are as even as ever, and the steps are short.
        trials = Trials(made, Evenly(quantum=timedelta(milliseconds=1)))
        consumed = await trials.link((await found.secrets_of(over_id)).link or "", "o" * 16)
        async with serving(build(made, trials), Address()) as at:
            with speaking(at.url) as client:
                started = await asyncio.to_thread(client.post, "/notices", json=SAMPLE, headers=BEARER)
            ids = {
                "challenge_id": (over_id, open_id),
                "key": (started.json()["key"],),
                "provider": tuple(CALLERS),
                "result": (consumed.result or "",),
                "token": (open_token or "", token(made.keyring, HASH)),
            }
            yield Place(at.url, ids, open_token or "", tuple(more), await sealed(made))


async def sealed(made: Parts) -> object:
    (payload,) = await Seal(made.keyring).encode([Payload(metadata={"encoding": b"json/plain"}, data=b"{}")])
    assert is_sealed(payload)
    return MessageToDict(payload)


# By the published document


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_every_answer_is_one_that_the_document_knows(place: Place, method: str, path: str) -> None:
    operation = SCHEMA[path][method]
    headers = st.sampled_from([KEYS.get(path, BEARER)] * 3 + [{}, UI])

    @few(6)
    @given(case=operation.as_strategy(), headers=headers, known=st.integers(0, 99))
    def answered(case: schemathesis.Case[Any], headers: Mapping[str, str], known: int) -> None:
        for name in case.path_parameters if known % 3 else ():
            case.path_parameters[name] = place.ids[name][known % len(place.ids[name])]
        response = case.call(base_url=place.url, headers=dict(headers))
        case.validate_response(response, checks=CHECKS)

    await asyncio.to_thread(answered)


# Bytes that say that they are what a route takes


def declared(method: str, path: str) -> str:
    takes = OPERATIONS[method, path].takes
    return takes if takes == FORM else JSON if takes in SCHEMA.raw_schema["components"]["schemas"] else ""


@pytest.mark.parametrize(("method", "path"), [each for each in OPERATIONS if OPERATIONS[each].takes])
async def test_random_bytes_are_no_server_error(place: Place, method: str, path: str) -> None:
    name = path.partition("{")[2].partition("}")[0]
    values = place.ids[name] if name else ("",)
    sent = {**KEYS.get(path, BEARER), "Content-Type": declared(method, path)}
    seen = Counter[int]()

    @few(10)
    @given(raw=st.binary(max_size=300), value=st.sampled_from(values))
    def survived(raw: bytes, value: str) -> None:
        response = client.request(method, path.replace(f"{{{name}}}", value), content=raw, headers=sent)
        seen[response.status_code] += 1

    with speaking(place.url) as client:
        await asyncio.to_thread(survived)
    assert all(status < 500 for status in seen)
    # Something further in than the check of the media type has answered.
    assert set(seen) - {401, 415}


# Documents that are nearly right


def keyed(made: Callable[[Place], st.SearchStrategy[Request]]) -> Callable[[Place], Any]:
    """Draw requests of a backend or a tool; one in six has no key."""

    def drawn(place: Place) -> st.SearchStrategy[Request]:
        is_known = st.sampled_from([True] * 5 + [False])
        return st.builds(
            lambda asked, known: asked._replace(
                headers={**(KEYS.get(asked.path, BEARER) if known else UNKNOWN), **asked.headers}
            ),
            made(place),
            is_known,
        )

    return drawn


def posted(path: str, wanted: Callable[[int], object]) -> Callable[[Place], st.SearchStrategy[Request]]:
    return lambda _place: documents(path, wanted)


def documents(path: str, wanted: Callable[[int], object]) -> st.SearchStrategy[Request]:
    numbers = st.integers(0, 10**6)
    bodies = st.one_of(
        numbers.map(wanted).map(as_json),
        numbers.flatmap(lambda n: nearly(wanted(n))).map(as_json),
        VALUES.map(as_json),
        st.binary(max_size=20),
    )
    return bodies.map(lambda raw: Request(path, raw, {"Content-Type": JSON}))


def notice(number: int) -> object:
    return {**SAMPLE, "event_id": f"fuzz-{number}"}


def verification(number: int) -> object:
    return verifying.document(challenge_id=f"challenge-fuzz-{number:09}")


def got(path: str, name: str) -> Callable[[Place], st.SearchStrategy[Request]]:
    def drawn(place: Place) -> st.SearchStrategy[Request]:
        known = st.sampled_from(place.ids[name])
        odd = known.flatmap(lambda each: nearly(list(each), 2)).map(
            lambda each: "".join(map(str, each)) if isinstance(each, list) else f"{each}"
        )
        return (known | odd).map(lambda each: Request(path.format(_quoted(each))))

    return drawn


def _quoted(value: str) -> str:
    return "".join(f"%{byte:02X}" for byte in value.encode("utf-8", "surrogatepass")) or "%00"


ONCE = st.sampled_from(["", "x" * 201, "a b", "7"]) | st.text(
    st.characters(min_codepoint=0x21, max_codepoint=0xFF, exclude_categories=["Cc"]), max_size=8
)
"""What a header can carry, and more than this one may."""


def consuming(place: Place) -> st.SearchStrategy[Request]:
    ids = st.sampled_from(place.ids["challenge_id"])
    rights = st.sampled_from(
        [{"token": place.token}, {"code": "123456"}, {"code": "\uff11\uff12\uff13 \uff14\uff15\uff16"}]
    )
    bodies = rights.flatmap(lambda each: nearly(each, 2)).map(as_json) | st.binary(max_size=20)
    return st.builds(
        lambda each, raw: Request(f"/verifications/{each}/consume", raw, {"Content-Type": JSON}), ids, bodies
    )


def resending(place: Place) -> st.SearchStrategy[Request]:
    ids = st.sampled_from([*place.resendable, place.ids["challenge_id"][0], "challenge-none"])
    return st.builds(
        lambda each, name: Request(
            f"/verifications/{each}/resend", headers={} if name is None else {"Idempotency-Key": name}
        ),
        ids,
        st.none() | ONCE,
    )


def decoding(place: Place) -> st.SearchStrategy[Request]:
    return documents(DECODE, lambda number: {"payloads": [place.sealed] * (number % 3)})


NEARLY = {
    ("POST", "/notices"): posted("/notices", notice),
    ("GET", "/notices/{key}"): got("/notices/{}", "key"),
    ("POST", "/verifications"): posted("/verifications", verification),
    ("GET", "/verifications/{challenge_id}"): got("/verifications/{}", "challenge_id"),
    ("POST", "/verifications/{challenge_id}/consume"): consuming,
    ("POST", "/verifications/{challenge_id}/resend"): resending,
    ("GET", "/results/{result}"): got("/results/{}", "result"),
    ("POST", DECODE): decoding,
}
REFUSED = {400, 403, 404, 409, 422}


def test_every_route_that_wants_the_key_is_asked_with_documents_that_are_nearly_right() -> None:
    own = {("POST", path) for path in KEYS}
    assert set(NEARLY) == {each for each, told in OPERATIONS.items() if not told.is_open} | own


@pytest.mark.parametrize(("method", "path"), [pytest.param(*each, id=" ".join(each)) for each in NEARLY])
async def test_what_is_nearly_right_is_done_or_refused_and_nothing_else(
    place: Place, method: str, path: str
) -> None:
    seen = Counter[int]()

    @few(30)
    @given(asked=keyed(NEARLY[method, path])(place))
    def done(asked: Request) -> None:
        headers = [(name.encode(), value.encode("latin-1")) for name, value in asked.headers.items()]
        response = client.request(method, asked.path, content=asked.content, headers=headers)
        seen[response.status_code] += 1
        assert response.status_code < 500

    with speaking(place.url) as client:
        await asyncio.to_thread(done)
    assert any(status < 300 for status in seen)
    assert REFUSED & set(seen)


# Callbacks that are rightly signed


def test_every_provider_that_calls_back_signs_here() -> None:
    back = {
        name
        for name, module in PROVIDERS.items()
        if any(each.callbacks is not Callbacks.NONE for each in module.CAPABILITIES.values())
    }
    assert set(CALLERS) == back


ALL_READ = {"vonage"}
"""What has parameters that can be signed can be read."""


@dataclass
class Calls:
    """What came of the calls of one provider."""

    answers: Counter[int]
    engine: Engine


async def called(ledger: Ledger, name: str, callbacks: st.SearchStrategy[Callback], many: int) -> Calls:
    """Call about an attempt that is out; whoever the adapter asks has nothing for it."""
    subject, calls = CALLERS[name].subject, Calls(Counter(), Engine())
    asked = httpx.AsyncClient(transport=httpx.MockTransport(lambda _request: httpx.Response(404)))
    adapter = subject.at(asked, "https://x.example")
    await dispatched(ledger, name, subject.message.key)

    @few(many)
    @given(callback=callbacks)
    def call(callback: Callback) -> None:
        path = callback.url.removeprefix(PUBLIC) or f"/callbacks/{name}"
        headers = dict(callback.headers)
        response = client.request(callback.method, path, content=callback.body, headers=headers)
        calls.answers[response.status_code] += 1

    async with serving(build(parts(ledger, calls.engine, [adapter])), Address()) as at:
        with speaking(at.url) as client:
            await asyncio.to_thread(call)
    return calls


@pytest.mark.parametrize("name", CALLERS)
async def test_whatever_a_provider_signs_is_taken_or_cannot_be_read(ledger: Ledger, name: str) -> None:
    calls = await called(ledger, name, CALLERS[name].callbacks, 40)
    # Never 403, nor Mailgun's 406: what was signed has reached what reads it.
    assert set(calls.answers) == ({200} if name in ALL_READ else {200, 400})
    assert calls.engine.heard


DISBELIEVED = {"mailgun": {406}, "vonage": {403, 503}, "ses": {403, 503}, "aws_sms": {403, 503}}
"""503: Vonage is to sign what it forgot to sign, and the certificate of SNS cannot be had here."""


@pytest.mark.parametrize("name", CALLERS)
async def test_whatever_is_changed_of_it_is_not_believed(ledger: Ledger, name: str) -> None:
    calls = await called(ledger, name, CALLERS[name].altered, 15)
    refused = DISBELIEVED.get(name, {403})
    # The bodies of some are not signed: they can be unreadable, and believed.
    assert set(calls.answers) <= {200, 400, *refused}
    assert refused & set(calls.answers)
