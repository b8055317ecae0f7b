"""Courier, as far as Standby uses it: it keeps a 500 under its key, and says it again for ever."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typing_extensions import override

from tests.providers.fakes.api import Draft, FakeApi, Stored

TOKEN = "pk_prod_a-secret-of-tests"

ADDRESSES = {"email": "email", "sms": "phone_number"}


class FakeCourier(FakeApi):
    """Takes messages for one recipient on one channel, and finds them by id and by trace."""

    first_word = "ENQUEUED"

    def __init__(self) -> None:
        super().__init__()
        self.spoilt: set[str] = set()
        """Keys under which a 500 is kept."""

    @override
    def routes(self) -> list[Route]:
        return [
            Route("/send", self.send, methods=["POST"]),
            Route("/messages", self.list, methods=["GET"]),
            Route("/messages/{id}", self.show, methods=["GET"]),
        ]

    @override
    def credentials_hold(self, request: Request) -> bool:
        return request.headers.get("authorization") == f"Bearer {TOKEN}"

    @override
    def denied(self) -> Response:
        return _error(401, "authentication_error")

    @override
    def busy(self) -> Response:
        return _error(429, "rate_limit_error", {"retry-after": "2"})

    @override
    def broken(self) -> Response:
        return _error(500, "api_error")

    @override
    def mismatch(self) -> Response:
        return _error(409, "invalid_request_error")

    @override
    def new_id(self) -> str:
        return f"1-612fa552-{len(self.messages) + 1:024x}"

    async def send(self, request: Request) -> Response:
        key, content = request.headers["idempotency-key"], (await request.json())["message"]
        self.violations += departures(content)
        if key in self.spoilt:
            self.submissions += 1
            return self.broken()
        channel = content["routing"]["channels"][0]
        exact = content.get("channels", {}).get(channel, {}).get("override", {})
        draft = Draft(
            to=content["to"][ADDRESSES[channel]],
            key=content["metadata"]["trace_id"],
            text=exact.get("text", content["content"]["body"]),
            idempotency=key,
            content=content,
        )
        answer = await self.submit(
            request, draft, lambda stored: JSONResponse({"requestId": stored.id}, HTTPStatus.ACCEPTED)
        )
        if answer.status_code == HTTPStatus.INTERNAL_SERVER_ERROR:
            self.spoilt.add(key)
        return answer

    async def list(self, request: Request) -> Response:
        trace = request.query_params.get("traceId")
        found = [_shown(each) for each in self.known() if each.draft.key == trace]
        # Why a provider failed is told of a single message only.
        rows = [{name: row[name] for name in row if name != "providers"} for row in found]
        return JSONResponse({"paging": {"cursor": None, "more": False}, "results": rows})

    async def show(self, request: Request) -> Response:
        stored = self.by_id(request.path_params["id"])
        return _error(404, "invalid_request_error") if stored is None else JSONResponse(_shown(stored))


def departures(content: Mapping[str, Any]) -> list[str]:
    """Say where a message differs from what the provider's own client can send, or names two channels."""
    wrong = [
        f"no field {name}" for name in set(content) - {"to", "content", "routing", "metadata", "channels"}
    ]
    if content["routing"]["method"] != "single" or len(content["routing"]["channels"]) != 1:
        wrong.append("not exactly one channel")
    wrong += [f"no metadata {name}" for name in set(content["metadata"]) - {"trace_id"}]
    override = content.get("channels", {}).get("email", {}).get("override", {})
    wrong += [f"no override {name}" for name in set(override) - {"from", "subject", "text", "html"}]
    return wrong


def _shown(stored: Stored) -> dict[str, object]:
    return {
        "id": stored.id,
        "status": stored.word,
        "enqueued": 1796119200000,
        "event": "",
        "notification": "",
        "recipient": "r-1",
        "providers": [],
        **stored.detail,
    }


def _error(status: int, kind: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"message": "As documented.", "type": kind}, status, headers)
