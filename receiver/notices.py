"""`/notices`: the contract of `standby send` and `standby show`, for backends without a Temporal SDK."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from logging import ERROR
from typing import Final
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from temporalio.service import RPCError, RPCStatusCode

from activities.logs import event
from activities.store.errors import StoreError
from client import runs
from client.checking import mistakes
from client.starting import begin
from client.story import Story
from receiver.access import demand_key
from receiver.bodies import body
from receiver.parts import Parts
from receiver.problems import Problem, away
from receiver.traced import posted
from workflows.policy import contract, document
from workflows.policy.models import NoticeRequest

PATIENCE: Final = timedelta(seconds=8)
"""How long a backend waits for the engine before it is told to ask again."""

_PATH: Final = b"/notices/"
_PART: Final = r"(?:[\w.@+~-]|%[0-9A-F]{2})+"
_KEY: Final = re.compile(f"{_PART}:{_PART}:{_PART}", re.ASCII)


def routes(parts: Parts) -> list[Route]:
    """Return the routes of this module."""
    desk = Desk(parts)
    return [
        posted("/notices", desk.start, parts.settings),
        Route("/notices/{key:path}", desk.tell, methods=["GET"]),
    ]


class Receipt(BaseModel):
    """A notice that is with the engine."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    key: str
    """Names it for ever."""
    started: bool
    """Whether this request began it; no if an earlier one did."""


@dataclass(frozen=True, slots=True)
class Desk:
    """Where backends bring notices, and ask for them."""

    parts: Parts
    patience: timedelta = PATIENCE

    async def start(self, request: Request) -> Response:
        """Start a notice, once; the same document again is safe, at any time and after any answer."""
        demand_key(request, self.parts.settings)
        demand_json(request)
        notice = self._notice(await body(request))
        try:
            async with asyncio.timeout(self.patience.total_seconds()):
                queue = self.parts.settings.task_queue
                started = await begin(self.parts.client, notice, task_queue=queue)
        except (RPCError, TimeoutError) as error:
            raise not_started(error) from None
        status = HTTPStatus.CREATED if started.is_new else HTTPStatus.OK
        where = {"Location": f"/notices/{quote(notice.key, safe='')}"}
        receipt = Receipt(key=notice.key, started=started.is_new)
        return Response(receipt.model_dump_json(), status, where, media_type="application/json")

    async def tell(self, request: Request) -> Response:
        """Tell the story of a notice: open, closed, or long forgotten by the engine."""
        demand_key(request, self.parts.settings)
        try:
            for key in _keys(request):
                if (story := await self._story(key)) is not None:
                    return Response(story.as_json(), media_type="application/json")
        except RPCError:
            raise away("the engine") from None
        except StoreError:
            raise away("the ledger") from None
        raise Problem(HTTPStatus.NOT_FOUND, "no such notice")

    def _notice(self, raw: bytes) -> NoticeRequest:
        """Read a document; raises Problem with a line for each mistake."""
        try:
            request = contract.validate(parsed(raw))
        except contract.ContractError as error:
            raise mistaken(error.problems) from None
        public_url = self.parts.settings.public_url
        if found := mistakes(request, self.parts.catalogue, self.parts.clock(), public_url):
            raise mistaken(found)
        return request

    async def _story(self, key: str) -> Story | None:
        """Put together what ledger and engine know; of an open notice the record alone is worth telling."""
        record = await self.parts.ledger.story(key)
        if record is None:
            run = await runs.look(self.parts.client, key)
            return None if run is None else Story.unrecorded(key).continued(run)
        story = Story.recorded(record)
        if story.outcome is not None:
            return story
        try:
            return story.continued(await runs.look(self.parts.client, key))
        except RPCError:
            return story


def demand_json(request: Request) -> None:
    """Raise Problem for what does not say that it is JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send Content-Type: application/json")


def parsed(raw: bytes) -> object:
    """Return the JSON of a body; raises Problem for what is none."""
    try:
        return document.read(raw)
    except document.DocumentError as error:
        raise Problem(HTTPStatus.BAD_REQUEST, "the body is not JSON", problems=error.problems) from None


def mistaken(
    problems: tuple[str, ...], words: str = "the document has mistakes: nothing was started"
) -> Problem:
    """Return the answer to a document with mistakes, each a line that names its field."""
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, words, problems=problems)


def not_started(error: RPCError | TimeoutError) -> Problem:
    """Return the answer where the engine did not start something, as far as it said."""
    if isinstance(error, RPCError) and error.status is RPCStatusCode.INVALID_ARGUMENT:
        return mistaken(("document: the engine does not take it",))
    refused = {RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNAUTHENTICATED, RPCStatusCode.NOT_FOUND}
    if isinstance(error, RPCError) and error.status in refused:
        event("the engine refused a start", level=ERROR, status=error.status.name)
    return away("the engine")


def _keys(request: Request) -> Iterator[str]:
    """Yield the keys that an address can mean: the one it encodes, and the one that it is as it stands.

    A key has encoded parts itself, and people paste it as they see it.
    """
    raw: bytes = request.scope["raw_path"]
    pasted = raw.removeprefix(_PATH).decode("latin-1") if raw.startswith(_PATH) else ""
    for each in dict.fromkeys((request.path_params["key"], pasted)):
        if _KEY.fullmatch(each):
            yield each
