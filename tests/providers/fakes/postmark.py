"""Postmark, as far as Standby uses it; it publishes no current description, so requests are checked here."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typing_extensions import override

from tests.providers.fakes.api import Draft, FakeApi, Stored

TOKEN = "9fe22551-4d10-4a3c-a7c5-5e0f0d4c7a11"
STREAM = "transactional-eu"

DOCUMENTED = {
    "From", "To", "Cc", "Bcc", "Subject", "HtmlBody", "TextBody", "ReplyTo", "Tag", "Metadata",
    "Headers", "MessageStream", "TrackOpens", "TrackLinks", "Attachments",
}  # fmt: skip


class FakePostmark(FakeApi):
    """One server with one transactional stream, whose list is added to with or without reasons."""

    first_word = "Queued"
    choice_word = "SpamComplaint"

    def __init__(self) -> None:
        super().__init__()
        self.bounces: dict[str, dict[str, object]] = {}
        """By id, which events name."""
        self.delivery_type = "Live"
        self.streams = {STREAM: {"MessageStreamType": "Transactional", "ArchivedAt": None}}
        self.refuses_addresses = False

    @override
    def routes(self) -> list[Route]:
        stream = "/message-streams/{stream}"
        return [
            Route("/email", self.send, methods=["POST"]),
            Route("/messages/outbound", self.search, methods=["GET"]),
            Route("/messages/outbound/{id}/details", self.details, methods=["GET"]),
            Route("/bounces/{id}", self.bounce, methods=["GET"]),
            Route("/server", self.server, methods=["GET"]),
            Route(stream, self.describe, methods=["GET"]),
            Route(f"{stream}/suppressions", self.suppress, methods=["POST"]),
            Route(f"{stream}/suppressions/dump", self.dump, methods=["GET"]),
        ]

    @override
    def credentials_hold(self, request: Request) -> bool:
        return request.headers.get("x-postmark-server-token") == TOKEN

    @override
    def denied(self) -> Response:
        return _error(401, 10)

    @override
    def busy(self) -> Response:
        return _error(429, 429)

    @override
    def broken(self) -> Response:
        return _error(500, 500)

    @override
    def new_id(self) -> str:
        return f"b7bc2f4a-e38e-4336-af7d-e6c392c2f8{len(self.messages):02}"

    async def send(self, request: Request) -> Response:
        content = await request.json()
        self.violations += [f"undocumented: {name}" for name in set(content) - DOCUMENTED]
        self.violations += [f"too long: {value}" for value in content["Metadata"].values() if len(value) > 80]
        if request.headers["accept"] != "application/json" or "," in content["To"]:
            self.violations.append("the header Accept, and one recipient, are asked for")
        if content["MessageStream"] not in self.streams:
            return _error(422, 1235)
        draft = Draft(
            to=content["To"],
            key=content["Metadata"]["standby"],
            text=content["TextBody"],
            headers={each["Name"]: each["Value"] for each in content.get("Headers", [])},
        )
        return await self.submit(request, draft, _receipt)

    async def search(self, request: Request) -> Response:
        asked = request.query_params
        if "count" not in asked or "offset" not in asked:
            self.violations.append("count and offset are required")
        # One that is not named means "outbound".
        found = self.known() if asked.get("messagestream", "outbound") in self.streams else []
        rows = [each for each in found if each.draft.key == asked["metadata_standby"]]
        messages = [{"MessageID": each.id, "Metadata": {"standby": each.draft.key}} for each in rows]
        return JSONResponse({"TotalCount": len(rows), "Messages": messages})

    async def details(self, request: Request) -> Response:
        stored = self.by_id(request.path_params["id"])
        if stored is None:
            return _error(422, 701)
        events = stored.detail.get("MessageEvents", [])
        return JSONResponse({"MessageID": stored.id, "Status": stored.word, "MessageEvents": events})

    async def bounce(self, request: Request) -> Response:
        found = self.bounces.get(request.path_params["id"])
        return _error(422, 407) if found is None else JSONResponse(found)

    async def server(self, _request: Request) -> Response:
        return JSONResponse({"ID": 1, "Name": "Production", "DeliveryType": self.delivery_type})

    async def describe(self, request: Request) -> Response:
        name = request.path_params["stream"]
        return JSONResponse({"ID": name, **self.streams[name]}) if name in self.streams else _error(422, 1226)

    async def suppress(self, request: Request) -> Response:
        rows = (await request.json())["Suppressions"]
        status = "Failed" if self.refuses_addresses else "Suppressed"
        if status == "Suppressed":
            self.suppressed |= {each["EmailAddress"]: "ManualSuppression" for each in rows}
        told = [{"EmailAddress": each["EmailAddress"], "Status": status, "Message": None} for each in rows]
        return JSONResponse({"Suppressions": told})

    async def dump(self, request: Request) -> Response:
        asked = request.query_params
        rows = [
            {
                "EmailAddress": address,
                "SuppressionReason": word.partition(" ")[0],
                "Origin": word.partition(" ")[2] or "Recipient",
                "CreatedAt": "2026-11-17T08:58:33-05:00",
            }
            for address, word in self.suppressed.items()
        ]
        asks = {name: asked[name] for name in ("SuppressionReason", "Origin") if name in asked}
        return JSONResponse({"Suppressions": [each for each in rows if asks.items() <= each.items()]})


def _receipt(stored: Stored) -> Response:
    submitted_at = "2026-12-01T10:00:00.1234567+00:00"
    told = {"To": stored.draft.to, "SubmittedAt": submitted_at, "MessageID": stored.id}
    return JSONResponse({**told, "ErrorCode": 0, "Message": "OK"})


def _error(status: int, code: int) -> Response:
    return JSONResponse({"ErrorCode": code, "Message": "As documented."}, status)
