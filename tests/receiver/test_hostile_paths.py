"""What nobody was ever given stands in an address: answered as any unknown one is, by every database."""

from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest

from activities.store.database import new_engine
from activities.store.ledger import Ledger
from receiver.app import build
from receiver.consuming import Trials
from receiver.evenly import Evenly
from receiver.operations import OPERATIONS
from receiver.serving import Address, serving
from tests.receiver.deployed import BEARER, Engine, parts
from tests.store import conftest as stores
from tests.store.conftest import Databases

files = stores.files
postgres = stores.postgres
databases_of_postgres = stores.databases_of_postgres
databases = stores.databases

HOSTILE = {
    "NUL": "%00",
    "NUL inside": "a%00b",
    "half a character": "%ED%A0%80",
    "two halves, each encoded": "%ED%A0%80%ED%B0%80",
    "no UTF-8": "%FF%FE",
    "a line": "%0A%0D",
    "backwards": "%E2%80%AE",
    "beyond ASCII": "%F0%9F%98%80",
    "a wildcard": "%25",
    "a quote": "'%22--",
    "a number": "%D9%A1%D9%A2",
    "control characters": "%01" * 64,
    "as long as a token": "A" * 64,
    "longer": "A" * 65,
    "far longer": "x" * 50_000,
}
SENT = {
    "/v/{token}": {"data": {"once": "o" * 16}},
    "/c/{challenge_id}": {"data": {"code": "123456"}},
    "/verifications/{challenge_id}/consume": {"json": {"code": "123456"}},
}
STATUS = {
    ("GET", "/v/{token}"): 200,
    ("GET", "/c/{challenge_id}"): 200,
    ("POST", "/v/{token}"): 403,
    ("POST", "/c/{challenge_id}"): 403,
    ("POST", "/verifications/{challenge_id}/consume"): 200,
}
"""Pages show nothing of what they are about, and a wrong try is answered as such; all others are 404."""
ROUTES = [pytest.param(*each, id=" ".join(each)) for each in OPERATIONS if "{" in each[1]]


@pytest.fixture
async def client(databases: Databases) -> AsyncIterator[httpx.AsyncClient]:
    engine = new_engine(await databases.migrated())
    made = parts(Ledger(engine), Engine())
    app = build(made, Trials(made, Evenly(quantum=timedelta(milliseconds=1))))
    async with (
        serving(app, Address()) as at,
        httpx.AsyncClient(base_url=at.url, headers=BEARER, trust_env=False) as client,
    ):
        yield client
    await engine.dispose()


def filled(path: str, value: str) -> str:
    return f"{path.partition('{')[0]}{value}{path.partition('}')[2]}"


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_every_route_answers_as_if_it_were_merely_unknown(
    client: httpx.AsyncClient, method: str, path: str
) -> None:
    sent = SENT.get(path, {}) if method == "POST" else {}
    answers = {
        name: await client.request(method, filled(path, value), **sent)  # type: ignore[arg-type]
        for name, value in HOSTILE.items()
    }
    expected = STATUS.get((method, path), 404)
    assert {name: each.status_code for name, each in answers.items()} == dict.fromkeys(HOSTILE, expected)


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_the_page_of_an_unsubscribe_link_that_is_not_ours_is_always_the_same(
    client: httpx.AsyncClient, method: str
) -> None:
    shown = {(await client.request(method, f"/unsubscribe/{value}")).text for value in HOSTILE.values()}
    assert len(shown) == 1
