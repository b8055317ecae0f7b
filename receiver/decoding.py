"""`/codec/decode`: opens payloads for tools with the codec key, and in the Temporal UI for whoever signed in.

The protocol is Temporal's for codec servers. Everybody else with the UI sees the classified story only: what
is sealed comes back as a line that says where to sign in. The UI sends every summary through here as well: to
an error it says that the codec server is broken, and some versions (2.53) then leave the story out.

There is no `/encode`: nothing that is sealed has to be started or signalled from the UI. What is opened is
bound to a key of the file and to nothing else, no namespace and no workflow, so the codec key stands for all
of them. Nothing is compressed, so that an answer is about as large as what was asked.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from typing import Any, Final

from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.exceptions import ApplicationError

from activities.codec import Seal, is_sealed
from activities.logs import event
from receiver import decoding_page
from receiver.bodies import body
from receiver.decoding_session import PATH, PAUSE, Door, Shown
from receiver.notices import demand_json, parsed
from receiver.parts import Parts
from receiver.problems import Problem

MOST: Final = 256
"""Payloads of one request: the UI asks for those of one field, which are a handful."""

_ENDPOINT: Final = f"{PATH}/decode"
_KNOWN_FOR: Final = 7200
"""Seconds for which a browser may keep what a preflight said: no browser keeps it longer."""
_NAMESPACE: Final = re.compile(r"[A-Za-z0-9._-]{1,255}")


class Unread(Enum):
    """Why what is sealed stays so, in the words that stand in its place."""

    UNKNOWN = "sealed under a key that this receiver has not got: add it to its key file, and restart it"
    DAMAGED = "sealed, and damaged: the key under whose name it is sealed does not open it"


@dataclass(frozen=True, slots=True)
class Reader:
    """Whoever may read, as the log has them."""

    by: str
    session: str | None = None


def routes(parts: Parts) -> list[Route]:
    """Return the routes of the endpoint, and of the page where people sign in for it."""
    door = Door(parts)
    desk = Desk(door, Seal(parts.keyring))
    return [
        *decoding_page.routes(door),
        Route(_ENDPOINT, desk.decode, methods=["POST"]),
        Route(_ENDPOINT, desk.preflight, methods=["OPTIONS"]),
    ]


@dataclass(frozen=True, slots=True)
class Desk:
    """Where payloads are brought to be opened."""

    door: Door
    seal: Seal

    async def preflight(self, request: Request) -> Response:
        """Tell a browser what a page of the UI may send, and pages of others nothing."""
        self.door.demand_there()
        headers = self._shared(request)
        if "Access-Control-Allow-Origin" in headers:
            headers |= {
                "Access-Control-Allow-Methods": "POST",
                "Access-Control-Allow-Headers": "authorization, content-type, x-namespace",
                "Access-Control-Max-Age": str(_KNOWN_FOR),
            }
        return Response(status_code=HTTPStatus.NO_CONTENT, headers=headers)

    async def decode(self, request: Request) -> Response:
        """Answer with as many payloads as were brought, in their order."""
        try:
            answer = await self._answer(request)
        except Problem as problem:
            answer = problem.answer()
        answer.headers.update(self._shared(request))
        return answer

    async def _answer(self, request: Request) -> Response:
        self.door.demand_there()
        reader = self._reader(request)
        demand_json(request)
        brought = _payloads(await body(request))
        if reader is None:
            words = f"sealed: sign in at {self.door.address} to read it"
            return _told([_instead(words) if is_sealed(each) else each for each in brought])
        opened = [await self._opened(each) for each in brought]
        _record(request, reader, brought, opened)
        return _told([_instead(each.value) if isinstance(each, Unread) else each for each in opened])

    def _reader(self, request: Request) -> Reader | None:
        """Return who asks, None for a stranger with the UI; raises Problem for everybody else."""
        origin = request.headers.get("origin")
        if origin is not None and origin != self.door.ui:
            raise Problem(HTTPStatus.FORBIDDEN, "pages of this origin may not ask: see STANDBY_UI_ORIGIN")
        authorization = request.headers.get("authorization")
        if authorization is not None:
            return self._tool(authorization)
        if origin is None:
            # Without an origin it is no page, and a cookie proves nothing.
            raise _keyless()
        session = self.door.session(request.cookies)
        return None if session is None else Reader("session", session.name)

    def _tool(self, authorization: str) -> Reader:
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() != "bearer" or not given.strip():
            raise _keyless()
        match self.door.show(given.strip()):
            case Shown.RIGHT:
                return Reader("key")
            case Shown.WRONG:
                raise _keyless()
            case Shown.UNREAD:
                again_in = {"Retry-After": str(round(PAUSE.total_seconds()))}
                words = "too many keys were wrong just now: none is looked at"
                raise Problem(HTTPStatus.TOO_MANY_REQUESTS, words, headers=again_in)

    async def _opened(self, payload: Payload) -> Payload | Unread:
        try:
            (found,) = await self.seal.decode([payload])
        except ApplicationError:
            return Unread.UNKNOWN
        return Unread.DAMAGED if is_sealed(found) else found

    def _shared(self, request: Request) -> dict[str, str]:
        """Return what lets a page of the UI read an answer."""
        headers = {"Vary": "Origin"}
        if self.door.ui is not None and request.headers.get("origin") == self.door.ui:
            headers["Access-Control-Allow-Origin"] = self.door.ui
            headers["Access-Control-Allow-Credentials"] = "true"
        return headers


def _payloads(raw: bytes) -> Sequence[Payload]:
    """Read a body by the rules of protobuf's JSON; raises Problem without a word of it."""
    document = parsed(raw)
    if not isinstance(document, dict):
        raise _misshapen()
    try:
        read = ParseDict(document, Payloads(), ignore_unknown_fields=True).payloads
    except ParseError:
        raise _misshapen() from None
    if len(read) > MOST:
        raise Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {MOST} payloads at once")
    return read


def _record(
    request: Request, reader: Reader, brought: Sequence[Payload], opened: Sequence[Payload | Unread]
) -> None:
    """Put on record who had how much opened; what was readable anyway is no news."""
    sealed = [found for each, found in zip(brought, opened, strict=True) if is_sealed(each)]
    if not sealed:
        return
    named = request.headers.get("x-namespace", "")
    event(
        "payloads decoded",
        namespace=named if _NAMESPACE.fullmatch(named) else None,
        by=reader.by,
        session=reader.session,
        payloads=len(sealed),
        opened=sum(isinstance(each, Payload) for each in sealed),
    )


def _instead(words: str) -> Payload:
    """Return a text to stand where something sealed was, which the UI shows as it shows any value."""
    return Payload(metadata={"encoding": b"json/plain"}, data=json.dumps(words).encode())


def _told(payloads: Sequence[Payload]) -> Response:
    told: list[dict[str, Any]] = [{"data": "", **MessageToDict(each)} for each in payloads]
    return JSONResponse({"payloads": told})


def _misshapen() -> Problem:
    return Problem(HTTPStatus.BAD_REQUEST, 'the body must be {"payloads": […]}, in base64')


def _keyless() -> Problem:
    words = "the codec key is needed: Authorization: Bearer …"
    return Problem(HTTPStatus.UNAUTHORIZED, words, headers={"WWW-Authenticate": "Bearer"})
