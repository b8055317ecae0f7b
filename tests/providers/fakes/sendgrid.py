"""SendGrid, as far as Standby uses it."""

import re
import time

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typing_extensions import override

from tests.providers.fakes.api import Draft, FakeApi, Stored
from tests.providers.official import departures

TOKEN = "SG.a-secret-of-tests"
TAIL = ".recvd-85abf8d92c-3qfgp-2-7890E356-43C.0"
"""What the logs append to the id that a send was answered with."""
SCOPES = (
    "mail.send",
    "suppression.bounces.read",
    "suppression.invalid_emails.read",
    "suppression.spam_reports.read",
    "suppression.unsubscribes.create",
    "suppression.unsubscribes.read",
)
NOT_DELIVERED = frozenset({"deferred", "dropped", "bounced", "blocked"})


class FakeSendGrid(FakeApi):
    """Knows messages by their category, and by the whole of their id; answers a send with a part of it."""

    first_word = "processed"
    choice_word = "spam_reports"

    def __init__(self) -> None:
        super().__init__()
        self.has_logs = True
        self.has_activity = True
        self.scopes = list(SCOPES)
        self.domains: list[dict[str, object]] = [{"id": 1, "domain": "example.com", "valid": True}]
        self.senders: list[dict[str, object]] = []
        self.sees_senders = True
        self.reasons: dict[str, dict[str, str]] = {}
        """What stands beside an address on a list."""
        self.reads: list[str] = []

    @override
    def routes(self) -> list[Route]:
        return [
            Route("/v3/mail/send", self.send, methods=["POST"]),
            Route("/v3/logs", self.logs, methods=["POST"]),
            Route("/v3/logs/{id}", self.log, methods=["GET"]),
            Route("/v3/messages", self.activities, methods=["GET"]),
            Route("/v3/messages/{id}", self.activity, methods=["GET"]),
            Route("/v3/scopes", self.held, methods=["GET"]),
            Route("/v3/whitelabel/domains", self.authenticated, methods=["GET"]),
            Route("/v3/verified_senders", self.verified, methods=["GET"]),
            Route("/v3/suppression/{list}", self.suppressions, methods=["GET"]),
            Route("/v3/asm/suppressions/global", self.suppress, methods=["POST"]),
        ]

    @override
    def credentials_hold(self, request: Request) -> bool:
        return request.headers.get("authorization") == f"Bearer {TOKEN}"

    @override
    def denied(self) -> Response:
        return failed(401, "The provided authorization grant is invalid, expired, or revoked")

    @override
    def busy(self) -> Response:
        return failed(429, "too many requests", headers={"X-RateLimit-Reset": f"{time.time() + 30:.0f}"})

    @override
    def new_id(self) -> str:
        return f"Xj5LmNkWSOqRbdvOpR34{len(self.messages) + 10}"

    async def send(self, request: Request) -> Response:
        self.violations += await departures("sendgrid_mail", request)
        content = await request.json()
        (person,) = content["personalizations"]
        (category,) = content["categories"]
        if person["custom_args"] != {"standby": category}:
            self.violations.append("the category and the custom argument differ")
        draft = Draft(
            to=person["to"][0]["email"],
            key=category,
            text=content["content"][0]["value"],
            headers=content.get("headers", {}),
            content=content,
        )
        return await self.submit(
            request, draft, lambda stored: Response(status_code=202, headers={"X-Message-Id": stored.id})
        )

    async def logs(self, request: Request) -> Response:
        self.violations += await departures("sendgrid_logs", request)
        self.reads.append("logs")
        asked = re.fullmatch(r"categories IN \('([\w-]+)'\)", (await request.json())["query"])
        if not self.has_logs:
            return failed(403, "access forbidden")
        if asked is None:
            return failed(400, "invalid query")
        rows = [
            {"sg_message_id": f"{each.id}{TAIL}", "to_email": each.draft.to, "status": each.word}
            | ({"reason": each.detail["reason"]} if "reason" in each.detail else {})
            for each in self.known()
            if each.draft.key == asked[1]
        ]
        return JSONResponse({"messages": rows})

    async def log(self, request: Request) -> Response:
        self.violations += await departures("sendgrid_logs", request)
        self.reads.append("log")
        return self._detail(request, "sg_message_id") if self.has_logs else failed(403, "access forbidden")

    async def activities(self, request: Request) -> Response:
        """Know no word but three, as Email Activity does."""
        self.violations += await departures("sendgrid_activity", request)
        self.reads.append("activities")
        asked = re.fullmatch(r'Contains\(categories,"([\w-]+)"\)', request.query_params["query"])
        if not self.has_activity:
            return failed(403, "access forbidden")
        if asked is None:
            return failed(400, "invalid syntax")
        rows = [
            {
                "msg_id": f"{each.id}{TAIL}",
                "to_email": each.draft.to,
                "status": "not_delivered" if each.word in NOT_DELIVERED else each.word,
            }
            for each in self.known()
            if each.draft.key == asked[1]
        ]
        return JSONResponse({"messages": rows})

    async def activity(self, request: Request) -> Response:
        self.violations += await departures("sendgrid_activity", request)
        self.reads.append("activity")
        return self._detail(request, "msg_id") if self.has_activity else failed(403, "access forbidden")

    def _detail(self, request: Request, name: str) -> Response:
        stored = self._by_full_id(request.path_params["id"])
        if stored is None:
            return failed(404, "not found")
        fields = {name: f"{stored.id}{TAIL}", "status": stored.word}
        return JSONResponse(fields | {"events": stored.detail.get("events", [])})

    def _by_full_id(self, full_id: str) -> Stored | None:
        return next((each for each in self.known() if f"{each.id}{TAIL}" == full_id), None)

    async def held(self, _request: Request) -> Response:
        return JSONResponse({"scopes": self.scopes})

    async def authenticated(self, request: Request) -> Response:
        if not self.sees_senders:
            return failed(403, "access forbidden")
        asked = request.query_params["domain"]
        return JSONResponse([each for each in self.domains if asked in str(each["domain"])])

    async def verified(self, _request: Request) -> Response:
        return JSONResponse({"results": self.senders})

    async def suppressions(self, request: Request) -> Response:
        self.violations += await departures("sendgrid_suppressions", request)
        found = [each for each, why in self.suppressed.items() if why == request.path_params["list"]]
        offset, limit = int(request.query_params.get("offset", "0")), int(request.query_params["limit"])
        page = found[offset : offset + limit]
        return JSONResponse(
            [{"created": 1796115600, "email": each, **self.reasons.get(each, {})} for each in page]
        )

    async def suppress(self, request: Request) -> Response:
        self.violations += await departures("sendgrid_suppressions", request)
        content = await request.json()
        self.suppressed |= dict.fromkeys(content["recipient_emails"], "unsubscribes")
        return JSONResponse(content, 201)


def failed(
    status: int, message: str, field: str | None = None, headers: dict[str, str] | None = None
) -> Response:
    errors = [{"message": message, "field": field, "help": None}]
    return JSONResponse({"errors": errors}, status, headers)
