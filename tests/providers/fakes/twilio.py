"""Twilio, as far as Standby uses it."""

import base64
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typing_extensions import override

from tests.providers.fakes.api import Draft, FakeApi, Stored
from tests.providers.official import departures

ACCOUNT = "AC" + "1a" * 16
TOKEN = "a-secret-of-tests"
KEY, KEY_SECRET = "SK" + "2b" * 16, "a-secret-of-tests-too"
NUMBER, SHORT_CODE, SERVICE = "+14155550100", "24680", "MG" + "3c" * 16


class FakeTwilio(FakeApi):
    """Keeps no key, and calls a text `queued`, or `accepted` where a service has yet to pick its sender."""

    first_word = "queued"

    def __init__(self) -> None:
        super().__init__()
        self.account = {"sid": ACCOUNT, "status": "active", "type": "Full"}
        self.texts = True
        """Whether the number of the account can send texts."""

    @override
    def routes(self) -> list[Route]:
        account = f"/2010-04-01/Accounts/{ACCOUNT}"
        return [
            Route(f"{account}.json", self.show_account, methods=["GET"]),
            Route(f"{account}/Messages.json", self.send, methods=["POST"]),
            Route(f"{account}/Messages.json", self.list, methods=["GET"]),
            Route(f"{account}/Messages/{{sid}}.json", self.show, methods=["GET"]),
            Route(f"{account}/IncomingPhoneNumbers.json", self.numbers, methods=["GET"]),
            Route(f"{account}/SMS/ShortCodes.json", self.short_codes, methods=["GET"]),
        ]

    @override
    def credentials_hold(self, request: Request) -> bool:
        return _login(request) in {(ACCOUNT, TOKEN), (KEY, KEY_SECRET)}

    @override
    def denied(self) -> Response:
        return _error(401, 20003)

    @override
    def busy(self) -> Response:
        return _error(429, 20429)

    @override
    def broken(self) -> Response:
        return _error(500, 20500)

    @override
    def new_id(self) -> str:
        return f"SM{len(self.messages) + 1:032x}"

    async def send(self, request: Request) -> Response:
        self.violations += await departures("twilio", request)
        content = dict(parse_qsl((await request.body()).decode(), keep_blank_values=True))
        if ("From" in content) == ("MessagingServiceSid" in content):
            return _error(400, 21603)
        query = dict(parse_qsl(urlsplit(content.get("StatusCallback", "")).query))
        draft = Draft(content["To"], query.get("attempt"), content["Body"], content=content)
        return await self.submit(request, draft, lambda stored: JSONResponse(_told(stored), 201))

    async def list(self, request: Request) -> Response:
        size = int(request.query_params["PageSize"])
        return JSONResponse({"messages": [_told(each) for each in self.known()[:size]]})

    async def show(self, request: Request) -> Response:
        self.violations += await departures("twilio", request)
        stored = self.by_id(request.path_params["sid"])
        return _error(404, 20404) if stored is None else JSONResponse(_told(stored))

    async def show_account(self, request: Request) -> Response:
        """Tell of the account; a key of the standard kind may not ask."""
        self.violations += await departures("twilio", request)
        return self.denied() if _login(request) == (KEY, KEY_SECRET) else JSONResponse(self.account)

    async def numbers(self, request: Request) -> Response:
        """List the number that matches, and one more: the filter takes parts of numbers too."""
        asked = request.query_params["PhoneNumber"]
        own = [NUMBER, f"{NUMBER}9"] if asked in NUMBER else []
        rows = [{"phone_number": each, "capabilities": {"sms": self.texts, "voice": True}} for each in own]
        return JSONResponse({"incoming_phone_numbers": rows})

    async def short_codes(self, request: Request) -> Response:
        rows = [{"short_code": SHORT_CODE}] if request.query_params["ShortCode"] == SHORT_CODE else []
        return JSONResponse({"short_codes": rows})


def _login(request: Request) -> tuple[str, str]:
    scheme, _, encoded = request.headers.get("authorization", "").partition(" ")
    user, _, secret = base64.b64decode(encoded).decode().partition(":")
    return (user, secret) if scheme == "Basic" else ("", "")


def _told(stored: Stored) -> dict[str, object]:
    sender = {"from": NUMBER, "to": stored.draft.to, "body": stored.draft.text}
    return {"sid": stored.id, "status": stored.word, "error_code": None, **sender, **stored.detail}


def _error(status: int, code: int) -> Response:
    more = {"message": "As documented.", "more_info": f"https://www.twilio.com/docs/errors/{code}"}
    return JSONResponse({"code": code, "status": status, **more}, status)
