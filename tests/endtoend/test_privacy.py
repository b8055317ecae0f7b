"""No address, number, name or link is left behind: in histories, in the ledger, in logs or in spans."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import JsonValue
from temporalio.client import Client, WorkflowFailureError

from activities.tracing import tracing
from console.engine import EngineAt, free_port
from sandbox.fates import Fate
from tests.endtoend import marks
from tests.endtoend.deployment import Manner, Town, send
from tests.endtoend.engines import own_engine
from tests.endtoend.scenes import ended, notice, within
from workflows.policy.models import NoticeRequest
from workflows.policy.words import Outcome

FIELDS: dict[str, JsonValue] = {"name": marks.NAME, "valid_minutes": 10, "reset_url": marks.LINK}

PLACES = (
    "histories",
    "current details",
    "files of the engine",
    "rows of the ledger",
    "files of the ledger",
    "log lines",
    "log records",
    "spans",
)


@dataclass(frozen=True)
class Left:
    """What notices left behind, by place, and what their people received."""

    places: dict[str, bytes]
    received: bytes


def marked(email: Fate, phone: Fate = Fate.DELIVERED, **changes: object) -> NoticeRequest:
    """Return a notice to the marked person; its ids are the caller's, and opaque."""
    given = {"fields": FIELDS, "expires_at": within(12), **changes}
    request = notice(f"person-{email}", email, phone, **given)
    recipient = request.recipient.model_copy(update={"email": email.email(marks.MAILBOX)})
    return request.model_copy(update={"recipient": recipient})


async def live(manner: Manner, client: Client) -> str:
    """See notices that bounce, are lost, are denied, are refused and cannot be read to their ends."""
    bounced, *others = marked(Fate.BOUNCED), marked(Fate.LOST, Fate.LOST), marked(Fate.DENIED)
    handles = [await send(client, manner, each) for each in (bounced, *others)]
    incomplete = {name: value for name, value in FIELDS.items() if name != "reset_url"}
    refused = await ended(await send(client, manner, marked(Fate.ODD, fields=incomplete)))
    assert refused.outcome is Outcome.REFUSED
    await _unreadable(manner, client)
    for handle in handles:
        await ended(handle)
    return bounced.key


async def _unreadable(manner: Manner, client: Client) -> None:
    """Start a notice whose recipient cannot be read, and signal one with a report that cannot be."""
    person = {"id": "1", "email": [Fate.ODD.email(marks.MAILBOX)], "phone": Fate.ODD.number()}
    asked = {"kind": "password_reset", "event_id": "1", "recipient": person, "fields": FIELDS}
    handle = await client.start_workflow("Notice", asked, id="unreadable", task_queue=manner.queue)
    await client.get_workflow_handle(marked(Fate.BOUNCED).key).signal("observe", asked)
    with pytest.raises(WorkflowFailureError):
        await handle.result()


@asynccontextmanager
async def observed(home: Path, *, sealed: bool) -> AsyncIterator[Left]:
    """Let marked notices live on an engine and in a deployment of their own, and search all places."""
    engine_home, town_home = home / "engine", home / "town"
    engine_home.mkdir(parents=True)
    town_home.mkdir()
    at, exporter = EngineAt(free_port(), free_port()), InMemorySpanExporter()
    with marks.listening() as (lines, heard):
        async with (
            own_engine(engine_home, at),
            Town(at, town_home).deployment(sealed=sealed) as manner,
            manner.worker(*tracing(SimpleSpanProcessor(exporter))) as client,
            httpx.AsyncClient(trust_env=False) as http,
        ):
            key = await live(manner, client)
            received = (await http.get(f"{manner.sandbox.url}/inbox.json")).content
            histories, details = await marks.histories(client), await marks.details(client, key)
    spans = "\n".join(each.to_json() for each in exporter.get_finished_spans())
    ledger = town_home / manner.queue / "ledger.db"
    found = [
        histories,
        details,
        marks.files(engine_home),
        marks.rows(ledger),
        marks.files(town_home),
        lines.getvalue().encode(),
        "\n".join(heard.records).encode(),
        spans.encode(),
    ]
    yield Left(dict(zip(PLACES, found, strict=True)), received)


@pytest.fixture(scope="module")
async def sealed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Left]:
    async with observed(tmp_path_factory.mktemp("sealed"), sealed=True) as left:
        yield left


@pytest.fixture(scope="module")
async def plain(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Left]:
    async with observed(tmp_path_factory.mktemp("plain"), sealed=False) as left:
        yield left


def test_the_messages_themselves_hold_all_that_is_searched_for(sealed: Left) -> None:
    assert marks.found_in(sealed.received) == list(marks.MARKS)


@pytest.mark.parametrize("place", PLACES)
def test_what_is_searched_is_about_the_notices(sealed: Left, place: str) -> None:
    witness = b"**closed**" if place == "current details" else b"password_reset:event:person-bounced"
    assert witness in sealed.places[place]


@pytest.mark.parametrize("place", ["histories", "files of the engine"])
def test_the_search_finds_everything_where_nothing_is_sealed(plain: Left, place: str) -> None:
    assert marks.found_in(plain.places[place]) == list(marks.MARKS)


@pytest.mark.parametrize("place", PLACES)
def test_nothing_personal_is_left_behind(sealed: Left, place: str) -> None:
    assert marks.found_in(sealed.places[place]) == []


@pytest.mark.parametrize("place", [each for each in PLACES if "engine" not in each and each != "histories"])
def test_nothing_personal_is_left_beside_the_engine_even_where_nothing_is_sealed(
    plain: Left, place: str
) -> None:
    assert marks.found_in(plain.places[place]) == []
