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
from activities.store.challenge_rows import ChallengeRow
from activities.store.errors import StoreError
from client import verifying
from client.verifying import NoAnswerError
from receiver import beginning, denials
from receiver.access import demand_key
from receiver.beginning import Wanted
from receiver.bodies import body
from receiver.consuming import Trials, fresh_once, opaque
from receiver.notices import PATIENCE, demand_json, not_started, parsed
from receiver.operations import ONCE
from receiver.problems import Problem, away
from receiver.traced import posted
from receiver.verification_words import Accepted, Begun, Brought, Exchanged, Tried
from workflows.policy import contract
from workflows.policy.contract import ContractError
from workflows.policy.keys import CHALLENGE
from workflows.policy.words import ChallengeState

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
        begun = await self._begin(wanted)
        said = await verifying.opened(begun.handle, denials.PATIENCE)
        is_refused = said is not None and said.refusal is not None
        # Whether it is the same is for the record to say, also where the engine has forgotten the first.
        row = await self._on_record(wanted) if is_refused or not begun.is_new else None
        if row is not None:
            told = Begun(id=row.id, expires_at=row.expires_at, state=row.state, started=False)
            return _begun(told, HTTPStatus.OK)
        if said is not None and said.refusal is not None:
            raise denials.refused(said, self._parts.clock())
        # The kind's policy may end it earlier than the document asks for.
        expires_at = (said and said.expires_at) or wanted.request.expires_at
        state = ChallengeState.ACTIVE if said is not None and begun.is_new else None
        told = Begun(id=wanted.id, expires_at=expires_at, state=state, started=begun.is_new)
        status = HTTPStatus.CREATED if begun.is_new else HTTPStatus.OK
        return _begun(told, HTTPStatus.ACCEPTED if said is None else status)

    async def _begin(self, wanted: Wanted) -> verifying.Begun:
        try:
            async with asyncio.timeout(PATIENCE.total_seconds()):
                queue = self._parts.settings.task_queue
                return await verifying.begin_verification(self._parts.client, wanted.request, queue)
        except (RPCError, TimeoutError) as error:
            raise _again(not_started(error), wanted) from None

    async def _on_record(self, wanted: Wanted) -> ChallengeRow | None:
        """Return the challenge that has this id; raises Problem where it is not the one that is wanted."""
        try:
            found = await self._parts.ledger.challenges.of_message(wanted.id)
        except StoreError:
            raise _again(away("the ledger"), wanted) from None
        if found is None:
            return None
        if fields := beginning.differing(wanted, found, self._parts.keyring):
            raise denials.another(fields)
        return found[0]

    async def tell(self, request: Request) -> Response:
        """Tell the four facts of one, each with its own clock."""
        demand_key(request, self._parts.settings)
        challenge_id = _challenge(request)
        try:
            story = await self._parts.ledger.challenge_story(challenge_id)
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
        asked_id = opaque(_named(request))
        challenge_id = _challenge(request)
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
    desk, settings = Verifications(trials), trials.parts.settings
    return [
        posted("/verifications", desk.begin, settings),
        Route("/verifications/{challenge_id}", desk.tell, methods=["GET"]),
        posted("/verifications/{challenge_id}/consume", desk.consume, settings),
        posted("/verifications/{challenge_id}/resend", desk.resend, settings),
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


def _challenge(request: Request) -> str:
    """Return the id in an address; raises Problem for what can be none, and no database has to take."""
    challenge_id: str = request.path_params["challenge_id"]
    if not CHALLENGE.fullmatch(challenge_id):
        raise _unknown()
    return challenge_id


def _again(problem: Problem, wanted: Wanted) -> Problem:
    """Tell its id too, where the document has none: with it, asking again is no second verification."""
    problem.members = {"id": wanted.id}
    return problem


def _unknown() -> Problem:
    return Problem(HTTPStatus.NOT_FOUND, "no such verification is on record")


def _begun(told: Begun, status: HTTPStatus) -> Response:
    return _json(told.model_dump_json(), status, {"Location": f"/verifications/{told.id}"})


def _json(text: str, status: HTTPStatus = HTTPStatus.OK, where: dict[str, str] | None = None) -> Response:
    headers = {"Cache-Control": "no-store", **(where or {})}
    return Response(text, status, headers, media_type="application/json")
