"""Verifications as JSON, for backends that show the API key.

A try that consumed nothing is answered 200 with `consumed: false`, and not with an error: it is the answer to
the question that was asked, no client repeats it, and it is the same whatever the reason.
"""

import asyncio
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from temporalio.service import RPCError

from activities.challenge import result_digest
from activities.store.errors import StoreError
from client import verifying
from client.verifying import NoAnswerError
from receiver import beginning, denials
from receiver.access import demand_key
from receiver.bodies import body
from receiver.consuming import Trials, fresh_once, opaque
from receiver.notices import PATIENCE, demand_json, not_started, parsed
from receiver.operations import ONCE
from receiver.problems import Problem, away
from receiver.verification_words import Accepted, Begun, Brought, Exchanged, Tried
from workflows.policy import contract
from workflows.policy.contract import ContractError
from workflows.policy.keys import CHALLENGE

_LONGEST_HEADER: Final = 200
_LARGEST: Final = 4096
"""Bytes of what a person brought."""


class Verifications:
    """Where backends begin verifications, ask about them and bring what people typed."""

    def __init__(self, trials: Trials) -> None:
        self._trials = trials
        self._parts = trials.parts

    async def begin(self, request: Request) -> Response:
        """Begin one, once: the same document with the same `challenge_id` again is safe, after any answer."""
        demand_key(request, self._parts.settings)
        demand_json(request)
        wanted = beginning.read(await body(request), self._parts)
        try:
            async with asyncio.timeout(PATIENCE.total_seconds()):
                begun = await verifying.begin_verification(
                    self._parts.client, wanted.request, self._parts.settings.task_queue
                )
        except (RPCError, TimeoutError) as error:
            # Its own id, where it brought none: with it, asking again is no second verification.
            problem = not_started(error)
            problem.members = {"id": wanted.id}
            raise problem from None
        opened = await verifying.opened(begun.handle, denials.PATIENCE)
        if opened is not None and opened.refusal is not None:
            raise denials.refused(opened.refusal, wanted.request, self._parts.catalogue)
        # The kind's policy may end it earlier than the document asks for.
        expires_at = (opened and opened.expires_at) or wanted.request.expires_at
        answer = Begun(id=wanted.id, expires_at=expires_at, started=begun.is_new)
        status = HTTPStatus.CREATED if begun.is_new else HTTPStatus.OK
        where = {"Location": f"/verifications/{wanted.id}"}
        return _json(answer.model_dump_json(), HTTPStatus.ACCEPTED if opened is None else status, where)

    async def tell(self, request: Request) -> Response:
        """Tell the four facts of one, each with its own clock."""
        demand_key(request, self._parts.settings)
        try:
            story = await self._parts.ledger.challenge_story(request.path_params["challenge_id"])
        except StoreError:
            raise away("the ledger") from None
        if story is None:
            raise _unknown()
        named = story.model_copy(update={"account_id": unquote(story.account_id)})
        return _json(named.model_dump_json())

    async def consume(self, request: Request) -> Response:
        """Try what a person brought."""
        demand_key(request, self._parts.settings)
        demand_json(request)
        once = _named(request)
        brought = _brought(await body(request, _LARGEST))
        challenge_id = request.path_params["challenge_id"]
        try:
            if brought.token is not None:
                tried = await self._trials.link(brought.token, once, of=challenge_id)
            else:
                tried = await self._trials.code(challenge_id, brought.code or "", once)
        except NoAnswerError:
            raise away("the engine or the ledger") from None
        answer = Tried(consumed=tried.consumed, result=tried.result)
        return _json(answer.model_dump_json(exclude_none=True))

    async def resend(self, request: Request) -> Response:
        """Ask for another message on the same challenge."""
        demand_key(request, self._parts.settings)
        challenge_id = request.path_params["challenge_id"]
        asked_id = opaque(_named(request))
        if not CHALLENGE.fullmatch(challenge_id):
            raise _unknown()
        try:
            resent = await verifying.resend(self._parts.client, challenge_id, asked_id)
            if resent is None and await self._parts.ledger.challenges.find(challenge_id) is None:
                raise _unknown()
        except NoAnswerError:
            raise away("the engine") from None
        except StoreError:
            raise away("the ledger") from None
        if resent is None or not resent.accepted:
            raise denials.denied(resent, self._parts.clock())
        return _json(Accepted().model_dump_json(), HTTPStatus.ACCEPTED)

    async def exchange(self, request: Request) -> Response:
        """Tell what the word of a consumption stands for; as often as it is asked."""
        demand_key(request, self._parts.settings)
        digest = result_digest(self._parts.keyring, request.path_params["result"])
        try:
            row = await self._parts.ledger.challenges.by_result(digest)
        except StoreError:
            raise away("the ledger") from None
        if row is None or row.consumed_at is None:
            raise Problem(HTTPStatus.NOT_FOUND, "no such result")
        account_id = unquote(row.account_id)
        told = Exchanged(
            challenge_id=row.id, account_id=account_id, purpose=row.purpose, consumed_at=row.consumed_at
        )
        return _json(told.model_dump_json())


def routes(trials: Trials) -> list[Route]:
    """Return the routes of this module."""
    desk = Verifications(trials)
    return [
        Route("/verifications", desk.begin, methods=["POST"]),
        Route("/verifications/{challenge_id}", desk.tell, methods=["GET"]),
        Route("/verifications/{challenge_id}/consume", desk.consume, methods=["POST"]),
        Route("/verifications/{challenge_id}/resend", desk.resend, methods=["POST"]),
        Route("/results/{result}", desk.exchange, methods=["GET"]),
    ]


def _brought(raw: bytes) -> Brought:
    try:
        return contract.strictly(Brought, parsed(raw))
    except ContractError as error:
        words = "the document has mistakes: nothing was tried"
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, words, problems=error.problems) from None


def _named(request: Request) -> str:
    """Return the caller's own name of a request; a new one where there is none."""
    named = request.headers.get(ONCE)
    if named is None:
        return fresh_once()
    if not named or len(named) > _LONGEST_HEADER or not (named.isascii() and named.isprintable()):
        words = f"{ONCE} must be 1 to {_LONGEST_HEADER} printable ASCII characters"
        raise Problem(HTTPStatus.BAD_REQUEST, words)
    return named


def _unknown() -> Problem:
    return Problem(HTTPStatus.NOT_FOUND, "no such verification is on record")


def _json(text: str, status: HTTPStatus = HTTPStatus.OK, where: dict[str, str] | None = None) -> Response:
    headers = {"Cache-Control": "no-store", **(where or {})}
    return Response(text, status, headers, media_type="application/json")
