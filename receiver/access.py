"""Who may use the JSON routes: backends that show the key of this deployment."""

import hmac
from http import HTTPStatus

from starlette.requests import Request

from activities.settings import Settings
from receiver.problems import Problem


def demand_key(request: Request, settings: Settings) -> None:
    """Raise Problem unless the request brings an API key, compared in constant time."""
    keys = [each.reveal() for each in (settings.api_key, settings.api_key_next) if each is not None]
    if not keys:
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, "STANDBY_API_KEY is not set: no backend can be let in")
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    brought = given.strip().encode() if scheme.lower() == "bearer" else b""
    matches = [hmac.compare_digest(each.encode(), brought) for each in keys]
    if not any(matches):
        raise Problem(
            HTTPStatus.UNAUTHORIZED,
            "an API key is needed: Authorization: Bearer …",
            headers={"WWW-Authenticate": "Bearer"},
        )
