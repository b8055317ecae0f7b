"""What people open: the page of a link, and the page to type a code into.

Opening consumes nothing and looks nothing up: mail scanners, link previews and prefetching browsers open
every link. Only what its button sends is a try.
"""

import re
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from client.verifying import NoAnswerError
from receiver import page
from receiver.bodies import body
from receiver.consuming import Trials, fresh_once
from receiver.problems import Problem
from workflows.policy import return_url
from workflows.policy.verification import Consumption

FAILED: Final = HTTPStatus.FORBIDDEN
"""Of every try that consumed nothing: what was brought does not suffice; nothing is said of what would."""

_FORM: Final = "application/x-www-form-urlencoded"
_LARGEST: Final = 4096
"""Bytes of a form."""
_MOST: Final = 8
"""Fields of a form."""
_ONCE: Final = re.compile(r"[A-Za-z0-9_-]{16,64}")


class Pages:
    """The pages of one deployment."""

    def __init__(self, trials: Trials) -> None:
        self._trials = trials
        self._return_urls = trials.parts.settings.return_urls
        self._headers = page.headers(self._return_urls)

    async def show_link(self, _request: Request) -> Response:
        """Show the same page whatever the link."""
        return self._html(HTTPStatus.OK, page.confirming(fresh_once()))

    async def show_code(self, _request: Request) -> Response:
        """Show the same page whatever the challenge."""
        return self._html(HTTPStatus.OK, page.entering(fresh_once()))

    async def take_link(self, request: Request) -> Response:
        """Consume by a link."""
        once = _once(await _form(request))
        try:
            tried = await self._trials.link(request.path_params["token"], once)
        except NoAnswerError:
            return self._unanswered(once, asks_code=False)
        return self._came_of(tried, page.failed_link())

    async def take_code(self, request: Request) -> Response:
        """Consume by a code."""
        form = await _form(request)
        once = _once(form)
        try:
            tried = await self._trials.code(request.path_params["challenge_id"], form.get("code", ""), once)
        except NoAnswerError:
            return self._unanswered(once, asks_code=True)
        return self._came_of(tried, page.failed_code())

    def _came_of(self, tried: Consumption, failed: str) -> Response:
        match tried:
            case Consumption(consumed=False):
                return self._html(FAILED, failed)
            # The list may have been shortened since the verification began.
            case Consumption(return_url=str(url), result=str(result)) if return_url.allowed(
                url, self._return_urls
            ):
                onward = return_url.with_result(url, result)
                return RedirectResponse(onward, HTTPStatus.SEE_OTHER, headers=self._headers)
            case _:
                return self._html(HTTPStatus.OK, page.confirmed())

    def _unanswered(self, once: str, *, asks_code: bool) -> Response:
        """Offer the same try again: should the first one have succeeded after all, it is told so."""
        again = self._html(HTTPStatus.SERVICE_UNAVAILABLE, page.unanswered(once, asks_code=asks_code))
        again.headers["Retry-After"] = "5"
        return again

    def _html(self, status: HTTPStatus, text: str) -> Response:
        return HTMLResponse(text, status, headers=self._headers)


def routes(trials: Trials) -> list[Route]:
    """Return the routes of the pages."""
    pages = Pages(trials)
    return [
        Route("/v/{token}", pages.show_link, methods=["GET"]),
        Route("/v/{token}", pages.take_link, methods=["POST"]),
        Route("/c/{challenge_id}", pages.show_code, methods=["GET"]),
        Route("/c/{challenge_id}", pages.take_code, methods=["POST"]),
    ]


async def _form(request: Request) -> dict[str, str]:
    """Read a form, the first of fields that repeat; raises Problem for anything else."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != _FORM:
        raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"this address takes {_FORM}")
    sent = (await body(request, _LARGEST)).decode(errors="replace")
    try:
        fields = parse_qs(sent, keep_blank_values=True, max_num_fields=_MOST)
    except ValueError:
        raise Problem(HTTPStatus.BAD_REQUEST, f"a form has at most {_MOST} fields") from None
    return {name: values[0] for name, values in fields.items()}


def _once(form: dict[str, str]) -> str:
    """Return the name of the rendering that was sent; a new one where there is none."""
    sent = form.get("once", "")
    return sent if _ONCE.fullmatch(sent) else fresh_once()
