"""Whether this process is there, and whether it could do its work."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from activities.discreet import PublicError
from activities.hosting import demand_namespace
from receiver.edge import ALIVE
from receiver.parts import Parts
from receiver.problems import Problem

PATIENCE: Final = timedelta(seconds=3)
"""How long each part may take to answer; probes wait five seconds or more."""


def routes(parts: Parts) -> list[Route]:
    """Return the routes of this module."""
    ward = Ward(parts)
    return [Route(ALIVE, _alive, methods=["GET"]), Route("/readyz", ward.ready, methods=["GET"])]


async def _alive(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})


@dataclass(frozen=True, slots=True)
class Ward:
    """Asks the parts that this process cannot do without."""

    parts: Parts
    patience: timedelta = PATIENCE

    async def ready(self, _request: Request) -> Response:
        """Answer 200 where all of them answer, else name those that do not."""
        answers = {"engine": self._engine(), "ledger": self._ledger()}
        found = dict(zip(answers, await asyncio.gather(*answers.values()), strict=True))
        if all(found.values()):
            return JSONResponse({"status": "ok"})
        silent = [name for name, is_there in found.items() if not is_there]
        words = f"cannot be reached: {', '.join(silent)}"
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, words, headers={"Retry-After": "5"})

    async def _engine(self) -> bool:
        try:
            async with asyncio.timeout(self.patience.total_seconds()):
                await demand_namespace(self.parts.client)
        except (PublicError, TimeoutError):
            return False
        return True

    async def _ledger(self) -> bool:
        try:
            async with asyncio.timeout(self.patience.total_seconds()):
                await self.parts.ledger.controls.read()
        except (PublicError, TimeoutError):
            return False
        return True
