"""Telnyx, as far as Standby uses it: messages, opt-outs, and what an account and its sender are."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typing_extensions import override

from tests.providers.fakes.api import Draft, FakeApi, Stored

TOKEN = "KEY0123456789ABCDEF_a-secret-of-tests"
NUMBER = "+12025550100"
PROFILE = "4000eba1-a0c0-4563-9925-b25e842a7cb6"

_FIELDS = {
    "auto_detect",
    "encoding",
    "from",
    "media_urls",
    "messaging_profile_id",
    "send_at",
    "subject",
    "text",
    "to",
    "type",
    "use_profile_webhooks",
    "webhook_failover_url",
    "webhook_url",
}
"""Of a message, by the provider's own library."""


class FakeTelnyx(FakeApi):
    """Knows one number, and the messaging profile that it belongs to."""

    first_word = "queued"
    choice_word = "STOP"

    def __init__(self) -> None:
        super().__init__()
        self.balance: dict[str, object] = {"available_credit": "300.00", "balance": "300.00"}
        self.number: dict[str, object] = {"phone_number": NUMBER, "messaging_profile_id": PROFILE}
        self.profile: dict[str, object] = {"id": PROFILE, "enabled": True, "webhook_api_version": "2"}

    @override
    def routes(self) -> list[Route]:
        return [
            Route("/v2/messages", self.send, methods=["POST"]),
            Route("/v2/messages/{id}", self.show, methods=["GET"]),
            Route("/v2/balance", self.show_balance, methods=["GET"]),
            Route("/v2/phone_numbers", self.numbers, methods=["GET"]),
            Route("/v2/messaging_profiles/{id}", self.show_profile, methods=["GET"]),
            Route("/v2/messaging_optouts", self.optouts, methods=["GET"]),
        ]

    @override
    def credentials_hold(self, request: Request) -> bool:
        return request.headers.get("authorization") == f"Bearer {TOKEN}"

    @override
    def denied(self) -> Response:
        return _error(401, "10009", "Authentication failed")

    @override
    def busy(self) -> Response:
        return _error(429, "10011", "Too many requests")

    @override
    def broken(self) -> Response:
        return _error(500, "10007", "Unexpected error")

    @override
    def new_id(self) -> str:
        return f"40385f64-5717-4562-b3fc-2c963f66af{len(self.messages):02}"

    async def send(self, request: Request) -> Response:
        content = await request.json()
        self.violations += [f"{name} is not known" for name in content if name not in _FIELDS]
        if content.get("from", NUMBER) != NUMBER or content.get("messaging_profile_id", PROFILE) != PROFILE:
            return _error(400, "40305", "Invalid 'from' address")
        draft = Draft(
            to=content["to"],
            key=content.get("webhook_url", "").rpartition("attempt=")[2] or None,
            text=content["text"],
        )
        return await self.submit(request, draft, _message)

    async def show(self, request: Request) -> Response:
        stored = self.by_id(request.path_params["id"])
        return _message(stored) if stored is not None else _error(404, "10005", "Resource not found")

    async def show_balance(self, _request: Request) -> Response:
        return JSONResponse({"data": {"record_type": "balance", "currency": "USD", **self.balance}})

    async def numbers(self, request: Request) -> Response:
        asked = request.query_params["filter[phone_number]"]
        found = [self.number] if asked == self.number["phone_number"] else []
        return JSONResponse({"data": found, "meta": {"total_pages": 1}})

    async def show_profile(self, request: Request) -> Response:
        if request.path_params["id"] != self.profile["id"]:
            return _error(404, "10005", "Resource not found")
        return JSONResponse({"data": self.profile})

    async def optouts(self, request: Request) -> Response:
        """List one person a page, so that pages must be turned."""
        asked = request.query_params
        if (
            asked.get("filter[from]", NUMBER) != NUMBER
            or asked.get("filter[messaging_profile_id]", PROFILE) != PROFILE
        ):
            return JSONResponse({"data": [], "meta": {"total_pages": 0}})
        rows = [
            {
                "from": NUMBER,
                "to": address,
                "messaging_profile_id": PROFILE,
                "keyword": keyword,
                "created_at": "2025-04-28 12:00:38.631252+00:00",
            }
            for address, keyword in self.suppressed.items()
        ]
        page = int(asked["page[number]"])
        meta = {"total_pages": len(rows), "total_results": len(rows), "page_number": page, "page_size": 1}
        return JSONResponse({"data": rows[page - 1 : page], "meta": meta})


def _message(stored: Stored) -> Response:
    data = {
        "record_type": "message",
        "direction": "outbound",
        "id": stored.id,
        "to": [{"phone_number": stored.draft.to, "status": stored.word, "line_type": "Wireless"}],
        "text": stored.draft.text,
        "errors": [],
        **stored.detail,
    }
    return JSONResponse({"data": data})


def _error(status: int, code: str, title: str) -> Response:
    return JSONResponse({"errors": [{"code": code, "title": title, "detail": "As documented."}]}, status)
