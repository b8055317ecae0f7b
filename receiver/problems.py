"""What is answered where a request cannot be served: problem+json (RFC 9457), without what was sent."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route

MEDIA: Final = "application/problem+json"

_WORDS: Mapping[HTTPStatus, str] = MappingProxyType(
    {
        HTTPStatus.NOT_FOUND: "there is nothing at this address",
        HTTPStatus.METHOD_NOT_ALLOWED: "this address takes other methods: see Allow",
    }
)


class Problem(Exception):  # noqa: N818 - an answer, and not always an error
    """Ends a request; `detail` is one line that a caller may read, free of personal data."""

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        *,
        problems: Sequence[str] = (),
        headers: Mapping[str, str] = MappingProxyType({}),
        members: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.problems = tuple(problems)
        """One line for each mistake of a document, naming its field."""
        self.headers = headers
        self.members = members
        """What a program reads besides: JSON values."""

    def answer(self) -> Response:
        """Return the response."""
        told: dict[str, object] = {
            "type": "about:blank",
            "title": self.status.phrase,
            "status": int(self.status),
            "detail": self.detail,
            **self.members,
        }
        if self.problems:
            told["problems"] = list(self.problems)
        headers = {"Cache-Control": "no-store", **self.headers}
        return JSONResponse(told, self.status, headers, media_type=MEDIA)


def away(what: str) -> Problem:
    """Return the answer where a part of the deployment does not answer: nothing is lost by asking again."""
    words = f"{what} cannot be reached now: the same request again is safe"
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, words, headers={"Retry-After": "5"})


async def answered(request: Request, problem: Exception) -> Response:
    """Answer a request that ended in a Problem, or that no route takes: Starlette's handler for both."""
    match problem:
        case Problem():
            return problem.answer()
        case HTTPException():
            status = HTTPStatus(problem.status_code)
            words = _WORDS.get(status, status.phrase)
            headers = {**(problem.headers or {}), **_allow(request, status)}
            return Problem(status, words, headers=headers).answer()
        case _:
            raise problem


def _allow(request: Request, status: HTTPStatus) -> dict[str, str]:
    """Return the methods of an address: each can have a route of its own, of which Starlette knows one."""
    if status is not HTTPStatus.METHOD_NOT_ALLOWED:
        return {}
    routes = [each for each in request.app.routes if isinstance(each, Route)]
    found = [each.methods or () for each in routes if each.matches(request.scope)[0] is not Match.NONE]
    return {"Allow": ", ".join(sorted({method for methods in found for method in methods}))}
