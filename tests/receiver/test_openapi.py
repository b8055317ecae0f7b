"""The document says what the routes do: every route, every answer, and bodies as they are written."""

import re
from typing import Any

import jsonschema
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from starlette.routing import Route

from activities.store.ledger import Ledger
from receiver.app import routes
from receiver.consuming import Trials
from receiver.openapi import document
from receiver.operations import OPERATIONS, PARAMETERS, REFUSALS
from tests.receiver.deployed import (
    ASKED,
    BEARER,
    PUBLIC,
    Engine,
    calling,
    dispatched,
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
