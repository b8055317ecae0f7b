"""Requests held to what the provider itself publishes about them (`specs/`)."""

import json
from functools import cache
from pathlib import Path

from openapi_core import OpenAPI
from openapi_core.contrib.starlette import StarletteOpenAPIRequest
from openapi_core.exceptions import OpenAPIError
from starlette.requests import Request

SPECS = Path(__file__).parent / "specs"


@cache
def official(name: str) -> OpenAPI:
    """Load a description once."""
    return OpenAPI.from_dict(json.loads((SPECS / f"{name}.json").read_text()))


async def departures(name: str, request: Request) -> list[str]:
    """Say where a request differs from a description; nothing where it does not."""
    body = await request.body()
    try:
        official(name).validate_request(StarletteOpenAPIRequest(request, body))
    except OpenAPIError as error:
        return [f"{request.method} {request.url.path}: {error}: {error.__cause__}"]
    return []
