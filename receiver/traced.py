"""Requests of backends, traced in the trace that they come in."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from activities.settings import Settings
from activities.tracing import Served, served
from receiver.access import demand_key
from receiver.problems import Problem

Endpoint = Callable[[Request], Awaitable[Response]]


def posted(path: str, serve: Endpoint, settings: Settings) -> Route:
    """Return the route of a POST that is traced; strangers begin no spans, and join no traces."""

    async def answer(request: Request) -> Response:
        demand_key(request, settings)
        with served("POST", path, request.headers) as span:
            answer = await _answered(serve, request, span)
        if isinstance(answer, Problem):
            raise answer
        return answer

    return Route(path, answer, methods=["POST"])


async def _answered(serve: Endpoint, request: Request, span: Served) -> Response | Problem:
    """A problem is an answer too, and no error of ours."""
    answer: Response | Problem
    try:
        answer = await serve(request)
        span.answered(answer.status_code)
    except Problem as problem:
        answer = problem
        span.answered(problem.status)
    return answer
