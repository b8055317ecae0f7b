"""A shop that lets people sign up: what a caller of the product writes, and all that it writes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

_FORM = """<!DOCTYPE html><html lang="en"><title>Sign up</title><h1>Sign up</h1>
<form action="/signup"><label>Phone <input name="phone"></label><button>Sign up</button></form>"""


@dataclass
class Shop:
    """Accounts, and which of them have shown that their number is theirs."""

    http: httpx.AsyncClient
    """Speaks to the receiver, with the key of the backends."""
    url: str = ""
    verified: list[str] = field(default_factory=list)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/", self.form),
                Route("/signup", self.sign_up),
                Route("/welcome", self.welcome),
            ]
        )

    async def form(self, _request: Request) -> Response:
        return HTMLResponse(_FORM)

    async def sign_up(self, request: Request) -> Response:
        asked = wanted("account-of-the-shop", request.query_params["phone"], return_url=f"{self.url}/welcome")
        answer = await self.http.post("/verifications", json=asked)
        return HTMLResponse(f"<h1>{'We sent you a text' if answer.status_code == 201 else answer.text}</h1>")

    async def welcome(self, request: Request) -> Response:
        """Exchange what the browser brought: that alone changes the account."""
        answer = await self.http.get(f"/results/{request.query_params.get('result', '')}")
        if answer.status_code != 200:
            return HTMLResponse("<h1>Not verified</h1>", 403)
        self.verified.append(answer.json()["account_id"])
        return HTMLResponse(f"<h1>Welcome, {self.verified[-1]}</h1>")


def wanted(account: str, phone: str, email: str | None = None, **changes: object) -> Mapping[str, object]:
    """Return a verification as a backend asks for it."""
    to = {"phone": phone} | ({"email": email} if email else {})
    expires_at = (datetime.now(UTC) + timedelta(minutes=10)).isoformat()
    asked = {"account_id": account, "purpose": "signup", "method": "link", "to": to, "expires_at": expires_at}
    return asked | changes
