"""`/openapi.json`: every route as OpenAPI 3.1, its bodies as the models that read and write them."""

import json
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from importlib import metadata
from typing import Any, Final

from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from activities.store.challenge_rows import ChallengeStory
from client.story import Story
from receiver.notices import Receipt
from receiver.operations import (
    ANYTHING,
    FORM,
    NOTHING,
    ONCE,
    OPERATIONS,
    PAGE,
    PARAMETERS,
    REFUSALS,
    Gives,
    Operation,
)
from receiver.parts import Parts
from receiver.problems import MEDIA
from receiver.verification_words import Accepted, Begun, Brought, Exchanged, Tried
from workflows.policy import contract, verification_contract

Json = dict[str, Any]

_AT: Final = "#/components/schemas/"
_JSON: Final = "application/json"
_ANSWERS: Final = (Accepted, Begun, ChallengeStory, Exchanged, Receipt, Story, Tried)
_UNTOLD: Final = ("address_hash", "notice_key", "version")
"""Columns of an attempt that no story tells."""

_ERRORS: Final = (
    "An error is problem+json (RFC 9457). Pages tell people what went wrong as text/html; what is refused"
    " before there is a page, by its method, type or size, or for want of a place, is problem+json there too."
)

_TEXT: Final[Json] = {"type": "string"}
_PROBLEM: Final[Json] = {
    "type": "object",
    "description": "RFC 9457; some have further members, which each answer names.",
    "properties": {
        "type": {"const": "about:blank"},
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": _TEXT,
        "problems": {"type": "array", "items": _TEXT},
    },
    "required": ["type", "title", "status", "detail"],
}
_HEALTH: Final[Json] = {"type": "object", "properties": {"status": {"const": "ok"}}, "required": ["status"]}


_PAYLOADS: Final[Json] = {
    "type": "object",
    "description": "Temporal's own Payloads as protobuf's JSON: every value is base64.",
    "properties": {
        "payloads": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "metadata": {"type": "object", "additionalProperties": _TEXT},
                    "data": _TEXT,
                },
            },
        }
    },
}


def routes(parts: Parts) -> list[Route]:
    """Return the route of the document, which is made and written once: anybody may ask for it."""
    written = json.dumps(document(parts.settings.public_url), ensure_ascii=False, separators=(",", ":"))

    async def show(_request: Request) -> Response:
        return Response(written, media_type=_JSON)

    return [Route("/openapi.json", show, methods=["GET"])]


def document(public_url: str | None = None) -> Json:
    """Return the whole document."""
    paths: dict[str, Json] = {}
    for (method, path), operation in OPERATIONS.items():
        paths.setdefault(path, {})[method.lower()] = _operation(path, operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Standby", "version": _version(), "description": _ERRORS},
        **({"servers": [{"url": public_url}]} if public_url else {}),
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _version() -> str:
    try:
        return metadata.version("standby")
    except metadata.PackageNotFoundError:
        return "0"


def schemas() -> Json:
    """Return every schema by name: documents as strict as their doors, answers as they are written."""
    _, answers = models_json_schema(
        [(each, "serialization") for each in _ANSWERS], ref_template=f"{_AT}{{model}}"
    )
    found: Json = {
        **answers["$defs"],
        "Problem": _PROBLEM,
        "Health": _HEALTH,
        "Payloads": _PAYLOADS,
        "Document": {"type": "object"},
    }
    for name in _UNTOLD:
        del found["AttemptRow"]["properties"][name]
    found["AttemptRow"]["required"] = [
        each for each in found["AttemptRow"]["required"] if each not in _UNTOLD
    ]
    _add(found, "Notice", contract.schema())
    _add(found, "Verification", verification_contract.schema())
    _add(found, "Brought", Brought.model_json_schema())
    return found


def _add(found: Json, name: str, schema: Mapping[str, Any]) -> None:
    """Put a schema with definitions of its own among the others."""
    whole = {key: value for key, value in schema.items() if key not in {"$defs", "$schema"}}
    for each, defined in {**schema.get("$defs", {}), name: whole}.items():
        found[each] = _placed(defined)


def _placed(value: Any) -> Any:  # noqa: ANN401 - a schema is any JSON
    """Return a schema whose references lead into the document."""
    match value:
        case {"$ref": str(reference), **rest}:
            return {"$ref": reference.replace("#/$defs/", _AT), **_placed(rest)}
        case dict():
            return {key: _placed(each) for key, each in value.items()}
        case list():
            return [_placed(each) for each in value]
        case _:
            return value


def _operation(path: str, operation: Operation) -> Json:
    answers = {f"{status}": _answer(status, each) for status, each in operation.gives.items()}
    answers |= {f"{status}": _refusal(REFUSALS[status]) for status in operation.refuses}
    told: Json = {
        "summary": operation.summary,
        "parameters": list(_parameters(path, operation)),
        "responses": {**answers, "default": _refusal("Anything else that went wrong.")},
        "security": [] if operation.is_open else [{"key": []}],
    }
    return told if operation.takes is None else {**told, "requestBody": _body(operation.takes)}


def _parameters(path: str, operation: Operation) -> Iterator[Json]:
    for name in re.findall(r"\{(\w+)\}", path):
        yield {"name": name, "in": "path", "required": True, "schema": _TEXT, "description": PARAMETERS[name]}
    if operation.has_header:
        says = "Names this request: the same again has the same answer, and no second effect."
        schema = {"type": "string", "pattern": "^[ -~]{1,200}$"}
        yield {"name": ONCE, "in": "header", "schema": schema, "description": says}


def _body(takes: str) -> Json:
    match takes:
        case _ if takes == FORM:
            return {"required": True, "content": {FORM: {"schema": {"type": "object"}}}}
        case _ if takes == ANYTHING:
            return {"content": {ANYTHING: {}}}
        case _:
            return {"required": True, "content": {_JSON: {"schema": {"$ref": f"{_AT}{takes}"}}}}


def _answer(status: int, gives: Gives) -> Json:
    match gives.what:
        case _ if gives.what == PAGE and status == HTTPStatus.SERVICE_UNAVAILABLE:
            # Of a page, or of an edge that had no place for the request.
            content: Json = {"text/html": {"schema": _TEXT}, **_refusal("")["content"]}
        case _ if gives.what == PAGE:
            content = {"text/html": {"schema": _TEXT}}
        case _ if gives.what == NOTHING:
            return {"description": gives.says}
        case name:
            content = {_JSON: {"schema": {"$ref": f"{_AT}{name}"}}}
    return {"description": gives.says, "content": content}


def _refusal(says: str) -> Json:
    return {"description": says, "content": {MEDIA: {"schema": {"$ref": f"{_AT}Problem"}}}}
