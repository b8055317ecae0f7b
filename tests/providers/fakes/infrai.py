"""Infrai, as far as Standby uses it: an envelope around everything, and a description of itself."""

import json
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typing_extensions import override

from tests.providers.fakes.api import Draft, FakeApi, Stored
from workflows.policy.words import Channel

TOKEN = "ifr_pk_proj_a-secret-of-tests"

STRING = {"type": "string"}
BOTH = ("to", "from", "template_id", "vendor", "idempotency_key")
SENDING: Final[dict[str, frozenset[str]]] = {
    "email.send": frozenset({*BOTH, "subject", "text", "html", "cc", "bcc", "template_vars", "attachments"}),
    "sms.send": frozenset({*BOTH, "body"}),
}
"""The published fields."""
DEMANDED = {"email.send": ["to", "subject"], "sms.send": ["to", "body"]}


def description(capability: str, method: str, path: str, *fields: str) -> dict[str, Any]:
    names = SENDING.get(capability, frozenset(fields))
    return {
        "id": capability,
        "method": method,
        "path": path,
        "available": True,
        "params": {
            "type": "object",
            "properties": dict.fromkeys(sorted(names), STRING),
            "required": DEMANDED.get(capability, list(fields[:1])),
        },
        "errors": [{"code": "INSUFFICIENT_CREDIT", "retryable": False}],
    }


def descriptions() -> dict[str, dict[str, Any]]:
    told = (
        description("email.send", "POST", "/v1/email/send"),
        description("email.get", "GET", "/v1/email/get/{id}", "id"),
        description("email.event.list", "GET", "/v1/email/event/list", "message_id"),
        description("email.suppression.add", "POST", "/v1/email/suppression/add", "email", "reason"),
        description("sms.send", "POST", "/v1/sms/send"),
        description("sms.status", "GET", "/v1/sms/status/{id}", "id"),
    )
    return {each["id"]: each for each in told}


class FakeInfrai(FakeApi):
    """Takes email and texts, and names its fields as it publishes them."""

    first_word = "queued"

    def __init__(self) -> None:
        super().__init__()
        self.descriptions = descriptions()
        self.events: dict[str, list[dict[str, object]]] = {}
        """What happened, by the id of an email."""
        self.rows = "items"
        """The field that holds them."""

    @override
    def routes(self) -> list[Route]:
        return [
            Route("/v1/discovery/{capability}", self.describe, methods=["GET"]),
            Route("/v1/email/send", self.send, methods=["POST"]),
            Route("/v1/sms/send", self.send, methods=["POST"]),
            Route("/v1/email/get/{id}", self.show, methods=["GET"]),
            Route("/v1/sms/status/{id}", self.show, methods=["GET"]),
            Route("/v1/email/event/list", self.list, methods=["GET"]),
            Route("/v1/email/suppression/add", self.suppress, methods=["POST"]),
        ]

    @override
    def credentials_hold(self, request: Request) -> bool:
        is_public = request.url.path.startswith("/v1/discovery/")
        return is_public or request.headers.get("authorization") == f"Bearer {TOKEN}"

    @override
    def denied(self) -> Response:
        return refused(401, "UNAUTHORIZED")

    @override
    def busy(self) -> Response:
        return refused(429, "RATE_LIMITED", {"retry-after": "2"})

    @override
    def broken(self) -> Response:
        return refused(500, "INTERNAL")

    @override
    def mismatch(self) -> Response:
        return refused(409, "IDEMPOTENCY_MISMATCH")

    async def describe(self, request: Request) -> Response:
        found = self.descriptions.get(request.path_params["capability"])
        return refused(404, "NOT_FOUND") if found is None else JSONResponse(found)

    async def send(self, request: Request) -> Response:
        channel, content = channel_of(request), await self.canonical(request)
        self.violations += [f"{name} is not published" for name in set(content) - SENDING[f"{channel}.send"]]
        key = request.headers["idempotency-key"]
        text = content["text" if channel is Channel.EMAIL else "body"]
        draft = Draft(to=content["to"], key=key, text=text, idempotency=key, content=content)
        return await self.submit(request, draft, lambda stored: enveloped(shown(stored, channel)))

    async def show(self, request: Request) -> Response:
        stored = self.by_id(request.path_params["id"])
        return refused(404, "NOT_FOUND") if stored is None else enveloped(shown(stored, channel_of(request)))

    async def list(self, request: Request) -> Response:
        return enveloped({self.rows: self.events.get(request.query_params["message_id"], [])})

    async def suppress(self, request: Request) -> Response:
        content = await self.canonical(request)
        if "idempotency-key" not in request.headers:
            self.violations.append("a resource is made without a key")
        self.suppressed[content["email"]] = content.get("reason", "manual")
        return enveloped({"email": content["email"], "suppressed": True})

    async def canonical(self, request: Request) -> dict[str, Any]:
        """Read a body, which the conventions ask to be canonical."""
        body = await request.body()
        content: dict[str, Any] = json.loads(body)
        told = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
        if body != told.encode():
            self.violations.append("the body is not canonical JSON")
        return content


def channel_of(request: Request) -> Channel:
    return Channel.EMAIL if request.url.path.startswith("/v1/email/") else Channel.SMS


def shown(stored: Stored, channel: Channel) -> dict[str, object]:
    name = "email_id" if channel is Channel.EMAIL else "sms_id"
    return {name: stored.id, "state": stored.word, "vendor": "ses", **stored.detail}


def enveloped(data: dict[str, object]) -> Response:
    return JSONResponse({"ok": True, "data": data, "error": None, "metadata": {"vendor": "ses"}})


def refused(status: int, code: str, headers: dict[str, str] | None = None) -> Response:
    error = {"code": code, "message": "As documented."}
    return JSONResponse({"ok": False, "data": None, "error": error}, HTTPStatus(status), headers)
