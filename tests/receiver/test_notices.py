"""Notices by HTTP: the contract of `standby send`, and nothing lost whatever is away."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode
from typing_extensions import override

from activities.store.ledger import Ledger
from receiver import notices
from receiver.problems import Problem, answered
from tests.providers.subject import NOW
from tests.receiver.deployed import (
    ASKED,
    BEARER,
    PERSONAL,
    Engine,
    Handle,
    admitted,
    calling,
    dispatched,
    gone,
    is_problem,
    parts,
)
from workflows.policy.keys import notice_key
from workflows.policy.models import Result
from workflows.policy.words import Outcome

DOCUMENT: dict[str, Any] = {
    "kind": "password_reset",
    "event_id": "reset-1",
    "recipient": {"id": "user-1", "email": "anna.secret@example.test", "phone": "+12025550142"},
    "fields": {
        "name": "Anna",
        "valid_minutes": 10,
        "reset_url": "https://shop.example.test/reset/secret-link",
    },
}
KEY = "password_reset:reset-1:user-1"


class Repeating(Engine):
    """Starts nothing twice, as the real one."""

    @override
    async def start_workflow(self, _workflow: object, _request: object, **options: object) -> Handle:
        if options["id"] in self.started:
            raise WorkflowAlreadyStartedError(str(options["id"]), "Notice")
        return await super().start_workflow(_workflow, _request, **options)


@pytest.fixture
def engine() -> Engine:
    return Repeating()


@pytest.fixture
async def client(ledger: Ledger, engine: Engine) -> AsyncIterator[httpx.AsyncClient]:
    async with calling(parts(ledger, engine)) as client:
        client.headers.update(BEARER)
        yield client


async def test_a_notice_is_started_once(client: httpx.AsyncClient, engine: Engine) -> None:
    first, second = [await client.post("/notices", json=DOCUMENT) for _ in range(2)]
    assert (first.status_code, first.json()) == (201, {"key": KEY, "started": True})
    assert (second.status_code, second.json()) == (200, {"key": KEY, "started": False})
    assert first.headers["location"] == second.headers["location"] == f"/notices/{quote(KEY, safe='')}"
    assert engine.started == [KEY]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"kind": "pasword_reset"}, "kind"),
        ({"kind": "signup_verification"}, "kind"),
        ({"event_id": ""}, "event_id"),
        ({"event_id": "anna.secret@example.test"}, "event_id"),
        ({"recipient": {"id": "user-1", "email": "anna.secret"}}, "recipient.email"),
        ({"recipient": {"id": "user-1"}}, "recipient"),
        ({"recipient": {"email": "anna.secret@example.test"}}, "recipient.id"),
        ({"fields": {}}, "fields"),
        ({"expires_at": 1}, "expires_at"),
        ({"surprise": 1}, "surprise"),
    ],
)
async def test_a_mistake_starts_nothing_and_is_named_by_its_field(
    client: httpx.AsyncClient, engine: Engine, changes: dict[str, object], field: str
) -> None:
    answer = await client.post("/notices", json={**DOCUMENT, **changes})
    assert is_problem(answer, 422)
    assert any(line.startswith(field) for line in answer.json()["problems"])
    assert engine.started == []


async def test_a_list_is_no_notice(client: httpx.AsyncClient) -> None:
    answer = await client.post("/notices", json=[DOCUMENT])
    assert is_problem(answer, 422)
    assert answer.json()["problems"] == ["document: must be one JSON object"]


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"{'a': 1}"])
async def test_what_is_no_json_is_a_bad_request(client: httpx.AsyncClient, content: bytes) -> None:
    answer = await client.post("/notices", content=content, headers={"Content-Type": "application/json"})
    assert is_problem(answer, 400)
    assert answer.json()["problems"]


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
async def test_what_does_not_say_that_it_is_json_is_not_read(
    client: httpx.AsyncClient, kind: str | None
) -> None:
    headers = {"Content-Type": kind} if kind else {}
    answer = await client.post("/notices", content=json.dumps(DOCUMENT).encode(), headers=headers)
    assert is_problem(answer, 415)


async def test_a_content_type_may_have_parameters(client: httpx.AsyncClient) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    answer = await client.post("/notices", content=json.dumps(DOCUMENT).encode(), headers=headers)
    assert answer.status_code == 201


async def test_a_document_beyond_the_limit_is_not_read(client: httpx.AsyncClient) -> None:
    large = {**DOCUMENT, "fields": {"name": "x" * (1024 * 1024)}}
    assert is_problem(await client.post("/notices", json=large), 413)


@pytest.mark.parametrize("status", [RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.NOT_FOUND])
async def test_an_engine_that_does_not_answer_loses_nothing(
    client: httpx.AsyncClient, engine: Engine, status: RPCStatusCode
) -> None:
    engine.failure = RPCError("with anna.secret@example.test", status, b"")
    answer = await client.post("/notices", json=DOCUMENT)
    assert is_problem(answer, 503)
    assert answer.headers["retry-after"]
    assert "the same request again is safe" in answer.json()["detail"]
    engine.failure = None
    assert (await client.post("/notices", json=DOCUMENT)).status_code == 201


async def test_what_the_engine_cannot_take_is_the_callers_to_change(
    client: httpx.AsyncClient, engine: Engine
) -> None:
    engine.failure = RPCError("Blob data size exceeds limit.", RPCStatusCode.INVALID_ARGUMENT, b"")
    assert is_problem(await client.post("/notices", json=DOCUMENT), 422)


async def test_an_engine_that_says_nothing_is_not_waited_for_for_ever(ledger: Ledger) -> None:
    class Silent(Engine):
        @override
        async def start_workflow(self, *_: object, **__: object) -> Handle:
            await asyncio.Event().wait()
            raise AssertionError

    desk = notices.Desk(parts(ledger, Silent()), patience=timedelta())
    routes = [Route("/notices", desk.start, methods=["POST"])]
    transport = httpx.ASGITransport(Starlette(routes=routes, exception_handlers={Problem: answered}))
    async with httpx.AsyncClient(transport=transport, base_url="http://x", headers=BEARER) as client:
        assert is_problem(await client.post("/notices", json=DOCUMENT), 503)


# Telling


async def closed(ledger: Ledger) -> None:
    await dispatched(ledger, "sandbox")
    result = Result(key=ASKED.key, outcome=Outcome.EXPIRED, rule="expired", closed_at=NOW)
    await ledger.notices.close(result, (), at=NOW)


async def test_the_story_of_a_notice_that_the_engine_has_forgotten_is_told(
    client: httpx.AsyncClient, ledger: Ledger
) -> None:
    await closed(ledger)
    answer = await client.get(f"/notices/{ASKED.key}")
    told = answer.json()
    assert (answer.status_code, told["key"], told["outcome"]) == (200, ASKED.key, "expired")
    assert [each["provider"] for each in told["attempts"]] == ["sandbox"]
    assert not any(each in answer.text for each in (*PERSONAL, "e" * 64))


async def test_of_an_open_notice_the_record_is_told_while_the_engine_is_away(
    client: httpx.AsyncClient, ledger: Ledger, engine: Engine
) -> None:
    await dispatched(ledger, "sandbox")
    engine.away()
    told = (await client.get(f"/notices/{ASKED.key}")).json()
    assert (told["phase"], told["outcome"]) == ("claimed", None)


async def test_a_notice_that_nobody_knows_is_not_there(client: httpx.AsyncClient) -> None:
    assert is_problem(await client.get("/notices/password_reset:nobody:user"), 404)


@pytest.mark.parametrize("key", ["x", "a:b", "a:b:c:d", "a::c", "k:e:anna.secret@example.test/x"])
async def test_what_is_no_key_is_not_looked_for(
    client: httpx.AsyncClient, engine: Engine, ledger: Ledger, key: str
) -> None:
    engine.away()
    with gone(ledger):
        assert is_problem(await client.get(f"/notices/{key}"), 404)


async def test_with_the_ledger_away_the_story_is_told_later(
    client: httpx.AsyncClient, ledger: Ledger
) -> None:
    with gone(ledger):
        answer = await client.get(f"/notices/{ASKED.key}")
    assert is_problem(answer, 503)
    assert answer.headers["retry-after"]


async def test_a_notice_that_no_record_has_is_the_engine_s_to_tell(
    client: httpx.AsyncClient, engine: Engine
) -> None:
    engine.away()
    assert is_problem(await client.get(f"/notices/{ASKED.key}"), 503)


ODD = ["a/b", "a b", "50%", "%2F", "a%2Fb", "ä:ö", "x" * 400, "~", "a+b@c", "?a=b#c", "😀"]


@pytest.mark.parametrize("event_id", ODD)
@pytest.mark.parametrize("is_quoted", [True, False], ids=["quoted", "pasted"])
async def test_a_key_is_found_as_it_is_quoted_and_as_people_paste_it(
    client: httpx.AsyncClient,
    ledger: Ledger,
    event_id: str,
    is_quoted: bool,  # noqa: FBT001 - a row
) -> None:
    asked = ASKED.model_copy(update={"event_id": event_id})
    await admitted(ledger, asked)
    key = notice_key(asked.kind, event_id, asked.recipient.id)
    path = quote(key, safe="") if is_quoted else key
    answer = await client.get(f"/notices/{path}")
    assert (answer.status_code, answer.json().get("key")) == (200, key)
