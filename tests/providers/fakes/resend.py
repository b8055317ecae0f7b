"""Resend, as far as Standby uses it."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typing_extensions import override

from tests.providers.fakes.api import Draft, FakeApi
from tests.providers.official import departures

TOKEN = "re_a-secret-of-tests"


class FakeResend(FakeApi):
    """Keeps keys for ever, and says `not_found` of what it does not know."""

    first_word = "queued"
    choice_word = "complaint"

    @override
    def routes(self) -> list[Route]:
        return [
            Route("/emails", self.send, methods=["POST"]),
            Route("/emails/{id}", self.show, methods=["GET"]),
            Route("/domains", self.domains, methods=["GET"]),
            Route("/suppressions", self.suppress, methods=["POST"]),
            Route("/suppressions", self.suppressions, methods=["GET"]),
        ]

    @override
    def credentials_hold(self, request: Request) -> bool:
        return request.headers.get("authorization") == f"Bearer {TOKEN}"

    @override
    def denied(self) -> Response:
        return _error(403, "invalid_api_key")

    @override
    def busy(self) -> Response:
        return _error(429, "rate_limit_exceeded", {"retry-after": "2"})

    @override
    def mismatch(self) -> Response:
        return _error(409, "invalid_idempotent_request")

    async def send(self, request: Request) -> Response:
        self.violations += await departures("resend", request)
        content = await request.json()
        draft = Draft(
            to=content["to"][0],
            key=next((tag["value"] for tag in content["tags"] if tag["name"] == "standby"), None),
            text=content["text"],
            idempotency=request.headers.get("idempotency-key"),
            headers=content.get("headers", {}),
            content=content,
        )
        return await self.submit(request, draft, lambda stored: JSONResponse({"id": stored.id}))

    async def show(self, request: Request) -> Response:
        self.violations += await departures("resend", request)
        stored = self.by_id(request.path_params["id"])
        if stored is None:
            return _error(404, "not_found")
        return JSONResponse({"object": "email", "id": stored.id, "last_event": stored.word})

    async def domains(self, _request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"name": "example.com", "status": "verified"}]})

    async def suppress(self, request: Request) -> Response:
        self.violations += await departures("resend", request)
        self.suppressed[(await request.json())["email"]] = "manual"
        return JSONResponse({"object": "suppression", "id": "s-1"}, 201)

    async def suppressions(self, request: Request) -> Response:
        """List one address a page, so that pages must be turned."""
        self.violations += await departures("resend", request)
        origin, after = request.query_params.get("origin"), request.query_params.get("after")
        found = [address for address, why in self.suppressed.items() if origin in {None, why}]
        rest = found[found.index(after) + 1 :] if after in found else found
        rows = [
            {
                "id": each,
                "email": each,
                "origin": self.suppressed[each],
                "created_at": "2026-11-01 09:00:00.1+00",
            }
            for each in rest[:1]
        ]
        return JSONResponse({"object": "list", "has_more": len(rest) > 1, "data": rows})


def _error(status: int, name: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"statusCode": status, "name": name, "message": "As documented."}, status, headers)
