"""Mailgun, as far as Standby uses it; its description cannot be had here, so requests are checked here."""

import base64
from urllib.parse import parse_qsl, quote

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from typing_extensions import override

from tests.providers.fakes.api import Draft, FakeApi, Stored

KEY = "key-3ax6xnjp29jd6fds4gc373sgvjxteol0"
DOMAIN = "mg.example.com"
LISTS = ("bounces", "complaints", "unsubscribes")
LISTED: dict[str, dict[str, object]] = {
    "bounces": {"code": "550", "error": "No such mailbox"},
    "complaints": {},
    "unsubscribes": {"tags": ["*"]},
}

Row = dict[str, object]


class FakeMailgun(FakeApi):
    """One domain: ids in angle brackets where they are given, and bare where they are shown."""

    first_word = "accepted"
    choice_word = "complaints"

    def __init__(self) -> None:
        super().__init__()
        self.tags: dict[str, str] = {}
        """By message."""
        self.domain: Row = {"name": DOMAIN, "state": "active", "is_disabled": False, "type": "custom"}
        self.records: list[Row] = [
            {"record_type": "TXT", "valid": "valid", "name": DOMAIN},
            {"record_type": "TXT", "valid": "valid", "name": f"k1._domainkey.{DOMAIN}"},
            {"record_type": "CNAME", "valid": "unknown", "name": f"email.{DOMAIN}"},
        ]
        self.limits: Row | None = {"limit": 100_000, "count": 275, "limit_reached": False}
        self.rows: dict[str, dict[str, object]] = dict(LISTED)
        """What stands beside an address on each list."""

    @override
    def routes(self) -> list[Route]:
        at = "/v3/{domain}"
        return [
            Route(f"{at}/messages", self.send, methods=["POST"]),
            Route(f"{at}/events", self.events, methods=["GET"]),
            *(Route(f"{at}/{name}", self.page, methods=["GET"]) for name in LISTS),
            *(Route(f"{at}/{name}", self.add, methods=["POST"]) for name in LISTS),
            Route("/v4/domains/{domain}", self.describe, methods=["GET"]),
            Route("/v1/analytics/tags/limits", self.tag_limits, methods=["GET"]),
        ]

    @override
    def credentials_hold(self, request: Request) -> bool:
        secret = base64.b64encode(f"api:{KEY}".encode()).decode()
        return request.headers.get("authorization") == f"Basic {secret}"

    @override
    def denied(self) -> Response:
        return PlainTextResponse("Forbidden", 401)

    @override
    def busy(self) -> Response:
        return JSONResponse({"message": "Too Many Requests"}, 429)

    @override
    def new_id(self) -> str:
        return f"20261201100000.{len(self.messages) + 1}.E9F32C40C2BFD43E@{DOMAIN}"

    async def send(self, request: Request) -> Response:
        if request.path_params["domain"] != DOMAIN:
            return _missing(request)
        content = await _form(request)
        tag = content["o:tag"]
        if not tag.isascii() or len(tag) > 128:
            self.violations.append(f"no tag: {tag}")
        headers = {name.removeprefix("h:"): value for name, value in content.items() if name.startswith("h:")}
        draft = Draft(to=content["to"], key=content["v:standby"], text=content["text"], headers=headers)
        self.tags[self.new_id()] = tag
        return await self.submit(request, draft, _receipt)

    async def events(self, request: Request) -> Response:
        asked = request.query_params
        if "<" in asked.get("message-id", ""):
            self.violations.append("a filter with angle brackets finds other messages")
        by_id, tag = asked.get("message-id"), asked.get("tags", "").lower()
        rows = [
            _accepted(each, self.tags[each.id])
            for each in self.known()
            if (self.tags[each.id].lower() == tag if by_id is None else each.id == by_id)
        ]
        return JSONResponse({"items": rows, "paging": {"next": f"{request.url.replace(query='page=2')}"}})

    async def page(self, request: Request) -> Response:
        """List one address a page, so that pages must be turned; the last one is empty."""
        name, last = request.url.path.rpartition("/")[2], request.query_params.get("address", "")
        found = sorted(each for each, word in self.suppressed.items() if word == name and each > last)[:1]
        created_at = "Fri, 21 Oct 2011 11:02:55 UTC"
        rows = [{"address": each, "created_at": created_at, **self.rows[name]} for each in found]
        query = f"page=next&limit=1&address={quote((found or [last])[0])}"
        return JSONResponse({"items": rows, "paging": {"next": f"{request.url.replace(query=query)}"}})

    async def add(self, request: Request) -> Response:
        address = (await _form(request))["address"]
        self.suppressed[address] = request.url.path.rpartition("/")[2]
        return JSONResponse({"message": "Address has been added", "address": address})

    async def describe(self, request: Request) -> Response:
        if request.path_params["domain"] != DOMAIN:
            return _missing(request)
        return JSONResponse({"domain": self.domain, "sending_dns_records": self.records})

    async def tag_limits(self, _request: Request) -> Response:
        return JSONResponse({"message": "no"}, 403) if self.limits is None else JSONResponse(self.limits)


async def _form(request: Request) -> dict[str, str]:
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    return dict(parse_qsl((await request.body()).decode(), strict_parsing=True))


def _receipt(stored: Stored) -> Response:
    return JSONResponse({"id": f"<{stored.id}>", "message": "Queued. Thank you."})


def _accepted(stored: Stored, tag: str) -> Row:
    return {
        "event": stored.word,
        "timestamp": 1796119200.5,
        "tags": [tag],
        "user-variables": {"standby": stored.draft.key},
        "message": {"headers": {"message-id": stored.id}},
    }


def _missing(request: Request) -> Response:
    return JSONResponse({"message": f"Domain not found: {request.path_params['domain']}"}, 404)
