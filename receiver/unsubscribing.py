"""`/unsubscribe/{token}`: email ends by one POST, of a button or a mailbox (RFC 8058); GET ends nothing.

A scanner that follows links must not unsubscribe anybody. Whatever the body says, a POST to this address
can mean one thing only.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from activities.store.errors import StoreError
from activities.unsubscribing import address_hash
from receiver import page
from receiver.bodies import body
from receiver.parts import Parts
from workflows.policy.words import Channel, SuppressionReason

LARGEST: Final = 16 * 1024
"""Bytes of a form that holds one word."""

SOURCE: Final = "unsubscribe link"
"""What the ledger names as the source, where a report would name a notice."""

_BUTTON: Final = """\
<form method="post">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<button>Unsubscribe</button>
</form>"""


def routes(parts: Parts) -> list[Route]:
    """Return the routes of this module."""
    desk = Desk(parts)
    return [
        Route("/unsubscribe/{token}", desk.ask, methods=["GET"]),
        Route("/unsubscribe/{token}", desk.end, methods=["POST"]),
    ]


@dataclass(frozen=True, slots=True)
class Desk:
    """Where people end email."""

    parts: Parts

    async def ask(self, request: Request) -> Response:
        """Show what would happen, and change nothing."""
        return _asking() if self._hash(request) else _unknown()

    async def end(self, request: Request) -> Response:
        """Put the choice on record under the address's hash; twice is once."""
        await body(request, LARGEST)
        hashed = self._hash(request)
        if hashed is None:
            return _unknown()
        try:
            is_new = await self.parts.ledger.suppressions.put(
                hashed,
                Channel.EMAIL,
                SuppressionReason.UNSUBSCRIBED,
                source_notice=SOURCE,
                observed_at=self.parts.clock(),
            )
        except StoreError:
            return _unable()
        if is_new:
            self.parts.meters.suppressions.add(Channel.EMAIL, SuppressionReason.UNSUBSCRIBED)
        return _ended()

    def _hash(self, request: Request) -> str | None:
        return address_hash(self.parts.keyring, request.path_params["token"])


def _asking() -> Response:
    words = (
        "Press the button to stop these emails to your address.",
        "Messages that you have to get, such as a password reset that you asked for, still arrive.",
    )
    return _shown(page.shell("Unsubscribe?", *page.paragraphs(words), _BUTTON))


def _ended() -> Response:
    words = ("We will not send you these emails any more.", "You can close this page.")
    return _shown(page.shell("You are unsubscribed", *page.paragraphs(words)))


def _unknown() -> Response:
    words = (
        "The link is not complete, or is not one of ours. Nothing was changed just now.",
        "Open it again from the email, and take care that all of it is there.",
    )
    return _shown(page.shell("This link did not work", *page.paragraphs(words)), HTTPStatus.NOT_FOUND)


def _unable() -> Response:
    words = ("We could not put this on record just now. Please press the button again in a moment.",)
    shown = page.shell("Please try again", *page.paragraphs(words), _BUTTON)
    return _shown(shown, HTTPStatus.SERVICE_UNAVAILABLE, {"Retry-After": "5"})


def _shown(
    html: str, status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Response:
    return HTMLResponse(html, status, {**page.headers(()), **(headers or {})})
