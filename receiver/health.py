"""Whether this process is there, and whether it could do its work."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from activities.discreet import PublicError
from activities.hosting import demand_namespace
from receiver.edge import ALIVE, READY
from receiver.parts import Parts
from receiver.problems import Problem

PATIENCE: Final = timedelta(seconds=3)
"""How long each part may take to answer; probes wait five seconds or more."""

FRESH: Final = timedelta(seconds=1)
"""How long one examination does for everybody who asks: probes come seconds apart, strangers as they like."""


def routes(parts: Parts) -> list[Route]:
    """Return the routes of this module."""
    ward = Ward(parts)
    return [Route(ALIVE, _alive, methods=["GET"]), Route(READY, ward.ready, methods=["GET"])]


async def _alive(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})


@dataclass(slots=True)
class Ward:
    """Asks the parts that this process cannot do without, once for all who want to know at the same time."""

    parts: Parts
    patience: timedelta = PATIENCE
    clock: Callable[[], float] = time.monotonic
    _begun: float = 0
    _examination: asyncio.Task[tuple[str, ...]] | None = field(default=None, init=False)

    async def ready(self, _request: Request) -> Response:
        """Answer 200 where all of them answer, else name those that do not."""
        # One who hangs up must not end what others wait for.
        silent = await asyncio.shield(self._latest())
        if not silent:
            return JSONResponse({"status": "ok"})
        words = f"cannot be reached: {', '.join(silent)}"
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, words, headers={"Retry-After": "5"})

    def _latest(self) -> "asyncio.Task[tuple[str, ...]]":
        """Return the examination that is going on, or was a moment ago; else begin one."""
        now = self.clock()
        latest = self._examination
        if latest is None or (latest.done() and now - self._begun >= FRESH.total_seconds()):
            self._begun = now
            latest = self._examination = asyncio.create_task(self._examine())
        return latest

    async def _examine(self) -> tuple[str, ...]:
        """Return what is silent."""
        answers = {"engine": self._engine(), "ledger": self._ledger()}
        found = dict(zip(answers, await asyncio.gather(*answers.values()), strict=True))
        return tuple(name for name, is_there in found.items() if not is_there)

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
