"""Plivo, as far as Standby uses it; its answers are those of its own SDK's tests."""

import base64
import json
import uuid
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typing_extensions import override

from tests.providers.fakes.api import Draft, FakeApi, Stored
from tests.providers.official import SPECS

AUTH_ID = "MAXXXXXXXXXXXXXXXXXX"
TOKEN = "a-secret-of-tests"
NUMBER, POOL = "+14155550100", "86bbb125-97bb-4d72-89fd-81d5c515b015"

SENT = json.loads((SPECS / "plivo_send.json").read_text())
TOLD = json.loads((SPECS / "plivo_get.json").read_text())


class FakePlivo(FakeApi):
    """Keeps no key, and takes one number a text."""

    first_word = "queued"

    def __init__(self) -> None:
        super().__init__()
        self.account = {"account_type": "standard", "billing_mode": "prepaid", "cash_credits": "4.88860"}
        self.texts = True
        """Whether the number of the account can send texts."""

    @override
    def routes(self) -> list[Route]:
        account = f"/v1/Account/{AUTH_ID}"
        return [
            Route(f"{account}/", self.show_account, methods=["GET"]),
            Route(f"{account}/Message/", self.send, methods=["POST"]),
            Route(f"{account}/Message/{{uuid}}/", self.show, methods=["GET"]),
            Route(f"{account}/Number/{{number}}/", self.show_number, methods=["GET"]),
            Route(f"{account}/Powerpack/{{uuid}}/", self.show_pool, methods=["GET"]),
        ]

    @override
    def credentials_hold(self, request: Request) -> bool:
        scheme, _, encoded = request.headers.get("authorization", "").partition(" ")
        return (scheme, base64.b64decode(encoded)) == ("Basic", f"{AUTH_ID}:{TOKEN}".encode())

    @override
    def denied(self) -> Response:
        return JSONResponse({"error": "authentication credentials were not provided"}, 401)

    @override
    def busy(self) -> Response:
        return _error(429, "rate limit exceeded")

    @override
    def new_id(self) -> str:
        return str(uuid.UUID(int=len(self.messages) + 1))

    async def send(self, request: Request) -> Response:
        content = await request.json()
        if ("src" in content) == ("powerpack_uuid" in content):
            return _error(400, "src or powerpack_uuid is required")
        query = dict(parse_qsl(urlsplit(content.get("url", "")).query))
        draft = Draft(content["dst"], query.get("attempt"), content["text"], content=content)
        return await self.submit(request, draft, _receipt)

    async def show(self, request: Request) -> Response:
        stored = self.by_id(request.path_params["uuid"])
        if stored is None:
            return _error(404, "not found")
        said = {"message_uuid": stored.id, "message_state": stored.word, "to_number": stored.draft.to}
        return JSONResponse({**TOLD, **said, **stored.detail})

    async def show_account(self, _request: Request) -> Response:
        return JSONResponse({"auth_id": AUTH_ID, **self.account})

    async def show_number(self, request: Request) -> Response:
        number = request.path_params["number"]
        if number != NUMBER.removeprefix("+"):
            return _error(404, "not found")
        return JSONResponse({"number": number, "sms_enabled": self.texts, "voice_enabled": True})

    async def show_pool(self, request: Request) -> Response:
        found = request.path_params["uuid"] == POOL
        return JSONResponse({"uuid": POOL, "name": "notices"}) if found else _error(404, "not found")


def _receipt(stored: Stored) -> Response:
    return JSONResponse({**SENT, "message_uuid": [stored.id]}, 202)


def _error(status: int, says: str) -> Response:
    return JSONResponse({"api_id": SENT["api_id"], "error": says}, status)
