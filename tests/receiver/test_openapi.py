"""The document says what the routes do: every route, every answer, and bodies as they are written."""

import re
from typing import Any

import httpx
import jsonschema
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from starlette.middleware import Middleware
from starlette.routing import Route

from activities import unsubscribing
from activities.store.ledger import Ledger
from receiver.app import build, routes
from receiver.consuming import Trials
from receiver.edge import Edge
from receiver.openapi import document
from receiver.operations import FORM, OPERATIONS, PARAMETERS, REFUSALS
from receiver.places import Bounds
from receiver.problems import MEDIA
from tests.receiver.deployed import (
    ASKED,
    BEARER,
    PUBLIC,
    Engine,
    calling,
    dispatched,
    gone,
    parts,
)
from workflows.policy import contract, verification_contract

DOCUMENT = document(PUBLIC)


def _told(routes: list[Route]) -> set[tuple[str, str]]:
    """Return what the routes serve; HEAD comes with every GET."""
    return {
        (method, re.sub(r":\w+}", "}", route.path))
        for route in routes
        for method in (route.methods or set()) - {"HEAD"}
    }


def _schema(name: str) -> dict[str, Any]:
    """Return a schema that stands alone, with all that it refers to."""
    return {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}


def test_it_is_openapi() -> None:
    assert not [each.message for each in OpenAPIV31SpecValidator(DOCUMENT).iter_errors()]


def test_it_tells_of_every_route_and_of_no_other(ledger: Ledger) -> None:
    made = parts(ledger, Engine())
    assert _told(routes(made, Trials(made))) == set(OPERATIONS)


async def test_it_is_served_to_everybody(ledger: Ledger) -> None:
    async with calling(parts(ledger, Engine())) as client:
        served = (await client.get("/openapi.json")).json()
    assert served == DOCUMENT
    assert served["servers"] == [{"url": PUBLIC}]


@pytest.mark.parametrize(
    ("name", "published"),
    [("Notice", contract.schema()), ("Verification", verification_contract.schema())],
)
def test_a_document_s_schema_is_the_published_contract(name: str, published: dict[str, Any]) -> None:
    told = DOCUMENT["components"]["schemas"]
    assert told[name]["properties"].keys() == published["properties"].keys()
    assert told[name]["additionalProperties"] is False
    for each in published["$defs"]:
        assert told[each].get("enum") == published["$defs"][each].get("enum")


def test_what_is_said_of_parameters_and_refusals_is_needed() -> None:
    named = {each for _, path in OPERATIONS for each in re.findall(r"{(\w+)}", path)}
    assert named == set(PARAMETERS)
    assert {each for told in OPERATIONS.values() for each in told.refuses} == set(REFUSALS)


async def test_answers_are_as_they_are_described(ledger: Ledger) -> None:
    await dispatched(ledger, "sandbox")
    engine = Engine()
    engine.away()
    async with calling(parts(ledger, engine)) as client:
        client.headers.update(BEARER)
        story = await client.get(f"/notices/{ASKED.key}")
        problem = await client.get("/nothing")
    jsonschema.validate(story.json(), _schema("Story"))
    jsonschema.validate(problem.json(), _schema("Problem"))
    attempt = story.json()["attempts"][0]
    assert attempt.keys() == DOCUMENT["components"]["schemas"]["AttemptRow"]["properties"].keys()


_FORM = {"Content-Type": FORM}
_PAGES = ("/v/{token}", "/c/{challenge_id}", "/unsubscribe/{token}")


def _is_described(path: str, answer: httpx.Response) -> bool:
    """Whether the document has the status of an answer, or stands in for it, with the type of its body."""
    responses = DOCUMENT["paths"][path][answer.request.method.lower()]["responses"]
    told = responses.get(f"{answer.status_code}", responses["default"])
    return answer.headers["content-type"].partition(";")[0] in told["content"]


@pytest.mark.parametrize("path", _PAGES)
async def test_what_goes_wrong_on_a_page_has_a_type_that_is_described(ledger: Ledger, path: str) -> None:
    made = parts(ledger, Engine())
    token = unsubscribing.token(made.keyring, "a" * 64)
    at = path.format(token=token, challenge_id="0" * 32)
    async with calling(made) as client:
        wrong = [
            await client.post(at, content=b"code=123456", headers=_FORM),
            await client.post(at, content=b"." * 20_000, headers=_FORM),
            await client.post(at, content=b"{}", headers={"Content-Type": "application/json"}),
            await client.get(path.format(token="none", challenge_id="none")),
        ]
        with gone(ledger):
            wrong.append(await client.post(at, content=b"code=123456", headers=_FORM))
    assert wrong[-1].status_code == 503
    assert wrong[-1].headers["content-type"].startswith("text/html")
    assert all(_is_described(path, each) for each in wrong)


@pytest.mark.parametrize("path", _PAGES)
async def test_a_page_that_there_is_no_place_for_is_a_problem_as_described(ledger: Ledger, path: str) -> None:
    app = build(parts(ledger, Engine()))
    app.user_middleware = [Middleware(Edge, bounds=Bounds(strangers=0))]
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=PUBLIC) as client:
        busy = [await client.get(path), await client.post(path, content=b"code=123456", headers=_FORM)]
    assert [each.headers["content-type"] for each in busy] == [MEDIA] * 2
    assert all(_is_described(path, each) for each in busy)
    assert "text/html" in DOCUMENT["info"]["description"]
