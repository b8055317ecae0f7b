"""Vonage, as far as Standby uses it: its SMS API, its Reports API, and the balance of the account."""

from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typing_extensions import override

from activities.gsm import Encoding, segments
from tests.providers.fakes.api import Draft, FakeApi, Stored

KEY = "abcd1234"
API_SECRET = "an-api-secret-of-tests"
_BASIC = f"Basic {b64encode(f'{KEY}:{API_SECRET}'.encode()).decode()}"


class FakeVonage(FakeApi):
    """Answers a submission with HTTP 200 whatever happened, one object a part."""

    first_word = "accepted"

    def __init__(self) -> None:
        super().__init__()
        self.value: object = 10.28
        """The balance."""

    @override
    def routes(self) -> list[Route]:
        return [
            Route("/sms/json", self.send, methods=["POST"]),
            Route("/v2/reports/records", self.records, methods=["GET"]),
            Route("/account/get-balance", self.balance, methods=["GET"]),
        ]

    @override
    def credentials_hold(self, request: Request) -> bool:
        return request.url.path == "/sms/json" or request.headers.get("authorization") == _BASIC

    @override
    def denied(self) -> Response:
        return JSONResponse({"error-code": "401", "error-code-label": "authentication failed"}, 401)

    @override
    def busy(self) -> Response:
        return _refused("1", "Throughput Rate Exceeded - please wait [ 1000 ] and retry")

    @override
    def broken(self) -> Response:
        return _refused("5", "Internal Error")

    @override
    def new_id(self) -> str:
        return f"0A00000012345{len(self.messages):03}"

    async def send(self, request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode(), keep_blank_values=True, strict_parsing=True))
        if (form.get("api_key"), form.get("api_secret")) != (KEY, API_SECRET):
            return _refused("4", "Bad Credentials")
        self.violations += _departures(form)
        text = form["text"]
        draft = Draft(to=form["to"], key=form["client-ref"], text=_arriving(form))
        count = segments(text).count
        return await self.submit(request, draft, lambda stored: _taken(stored, count))

    async def records(self, request: Request) -> Response:
        asked = request.query_params
        if (asked["account_id"], asked["product"], asked["direction"]) != (KEY, "SMS", "outbound"):
            self.violations.append("a record was not asked for as documented")
        stored = self.by_id(asked["id"])
        if stored is None:
            return JSONResponse({"request_status": "SUCCESS", "records": [], "ids_not_found": asked["id"]})
        record = {
            "account_id": KEY,
            "message_id": stored.id,
            "client_ref": stored.draft.key,
            "to": stored.draft.to,
            "status": stored.word,
            **stored.detail,
        }
        return JSONResponse({"request_status": "SUCCESS", "items_count": 1, "records": [record]})

    async def balance(self, _request: Request) -> Response:
        return JSONResponse({"value": self.value, "autoReload": False})


def _arriving(form: Mapping[str, str]) -> str:
    """Return the text as a phone shows it: what type `text` cannot hold is a question mark."""
    text = form["text"]
    if form.get("type") == "unicode":
        return text
    return "".join(char if segments(char).encoding is Encoding.GSM_7 else "?" for char in text)


def _departures(form: Mapping[str, str]) -> list[str]:
    """Say where a submission differs from what the API's reference says of its fields."""
    known = {"api_key", "api_secret", "from", "to", "text", "type", "client-ref", "callback"}
    found = [f"{name} is not known" for name in form if name not in known]
    found += [f"{name} is missing" for name in ("from", "to", "text") if not form.get(name)]
    found += [f"{name} is too long" for name in ("client-ref", "callback") if len(form.get(name, "")) > 100]
    if not form["to"].isdigit():
        found.append("to is not digits")
    return found


def _taken(stored: Stored, count: int) -> Response:
    shared = {"to": stored.draft.to, "status": "0", "client-ref": stored.draft.key, "network": "310090"}
    ids = [stored.id, *(f"{stored.id}-{part}" for part in range(2, count + 1))]
    return JSONResponse(
        {"message-count": f"{count}", "messages": [shared | {"message-id": each} for each in ids]}
    )


def _refused(status: str, said: str) -> Response:
    return JSONResponse({"message-count": "1", "messages": [{"status": status, "error-text": said}]})
