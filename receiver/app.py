"""The receiver as an ASGI app: the routes of every module, and one way to answer what goes wrong."""

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route

from receiver import callbacks, decoding, health, notices, openapi, pages, unsubscribing, verifications
from receiver.consuming import Trials
from receiver.edge import Edge
from receiver.lasting import LONGEST
from receiver.parts import Parts
from receiver.problems import Problem, answered


def routes(parts: Parts, trials: Trials) -> list[Route]:
    """Return every route of the receiver; pages and JSON share the trials."""
    return [
        *callbacks.routes(parts),
        *notices.routes(parts),
        *verifications.routes(trials),
        *pages.routes(trials.another_door()),
        *unsubscribing.routes(parts),
        *decoding.routes(parts),
        *health.routes(parts),
        *openapi.routes(parts),
    ]


def build(parts: Parts, trials: Trials | None = None) -> Starlette:
    """Assemble the app; what nobody foresaw is answered by its edge."""
    is_https = (parts.settings.public_url or "").startswith("https://")
    app = Starlette(
        routes=routes(parts, trials or Trials(parts)),
        middleware=[Middleware(Edge, is_https=is_https, longest=LONGEST)],
        exception_handlers={Problem: answered, HTTPException: answered},
    )
    # An address that is nearly right would be repeated in a redirect, with the token that it holds.
    app.router.redirect_slashes = False
    return app
