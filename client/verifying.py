"""A verification from outside: begin it once, present a secret to it, ask for another message."""

import asyncio
from collections.abc import Awaitable
from datetime import timedelta
from logging import ERROR
from typing import Final, NamedTuple, TypeVar

from temporalio.client import (
    Client,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.service import RPCError

from activities.discreet import PublicError, tell
from activities.logs import event
from client.runs import is_unknown
from client.starting import QUEUE, repeatedly
from workflows import attributes
from workflows.policy import verification_telling
from workflows.policy.keys import challenge_of, verification_id
from workflows.policy.verification import (
    Consumption,
    Opened,
    Presented,
    Resent,
    VerificationRequest,
    Verified,
)
from workflows.policy.words import ChallengeState
from workflows.verification import Verification

PATIENCE: Final = timedelta(seconds=10)
"""Longer than the tasks of a worker that died wait for it; a person waits with a page before them."""

NOT_CONSUMED: Final = Consumption(consumed=False)

Handle = WorkflowHandle[Verification, Verified]
T = TypeVar("T")


class NoAnswerError(PublicError):
    """No engine or no worker answered, or with a key that is not here: what was done is not known."""

    def __init__(self) -> None:
        super().__init__("nothing answered in time; the same request again is safe")


class Begun(NamedTuple):
    """A verification in the engine, running or closed."""

    handle: Handle
    is_new: bool
    """Whether this call began it, as far as the engine's answers tell."""


async def begin_verification(client: Client, request: VerificationRequest, task_queue: str = QUEUE) -> Begun:
    """Start a validated verification that has an id; a start whose answer is lost is repeated.

    Raises ValueError where the request has no id: a repetition would be another verification. Raises
    RPCError where no engine answers.
    """
    if request.challenge_id is None:
        raise ValueError("challenge_id: required")
    name = verification_id(request.challenge_id)
    return await repeatedly(lambda: _begin(client, request, name, task_queue))


async def _begin(client: Client, request: VerificationRequest, name: str, task_queue: str) -> Begun:
    try:
        handle = await client.start_workflow(
            Verification.run,
            request,
            id=name,
            task_queue=task_queue,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            # Not USE_EXISTING: its answer does not tell a run that is new from one that was there.
            id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
            static_summary=verification_telling.title(request.account_id, request.purpose),
            static_details=f"Messages are notices of their own. In a terminal: `standby show {name}`",
            search_attributes=attributes.verifying(
                request.kind, request.challenge_id or "", request.account_id
            ),
        )
    except WorkflowAlreadyStartedError:
        return Begun(client.get_workflow_handle_for(Verification.run, name), is_new=False)
    return Begun(handle, is_new=True)


async def opened(handle: Handle, patience: timedelta) -> Opened | None:
    """Return what a worker says of the beginning; None where none says anything in time."""
    try:
        said = await _answer(handle.execute_update(Verification.opened), patience)
        return said or await _ended(handle, patience)
    except NoAnswerError:
        return None


async def consume(
    client: Client,
    challenge_id: str,
    presented: Presented,
    attempt_id: str,
    patience: timedelta = PATIENCE,
) -> Consumption:
    """Present a secret; a challenge that is unknown or over answers as a wrong secret does.

    The same `attempt_id` again gets the same answer, after the challenge is over too. Raises NoAnswerError.
    """
    update = _handle(client, challenge_id).execute_update(Verification.consume, presented, id=attempt_id)
    return await _answer(update, patience) or NOT_CONSUMED


async def resend(
    client: Client, challenge_id: str, asked_id: str, patience: timedelta = PATIENCE
) -> Resent | None:
    """Ask for another message; None where no such verification runs.

    The same `asked_id` again gets the same message. Raises NoAnswerError.
    """
    update = _handle(client, challenge_id).execute_update(Verification.resend, id=asked_id)
    return await _answer(update, patience)


async def _answer(update: Awaitable[T], patience: timedelta) -> T | None:
    """Return what a worker answers, or None where the engine says that there is nobody to ask.

    Raises NoAnswerError for all that may pass.
    """
    try:
        async with asyncio.timeout(patience.total_seconds()):
            return await update
    except WorkflowUpdateFailedError:
        return None
    except RPCError as error:
        if is_unknown(error):
            return None
        raise NoAnswerError from None
    except (TimeoutError, WorkflowUpdateRPCTimeoutOrCancelledError):
        raise NoAnswerError from None
    except ApplicationError as error:
        raise _unreadable(error) from None


async def _ended(handle: Handle, patience: timedelta) -> Opened | None:
    """Return what was to be said at the beginning of a verification that is over."""
    challenge_id = challenge_of(handle.id)
    try:
        async with asyncio.timeout(patience.total_seconds()):
            result = await handle.result()
    except WorkflowFailureError as error:
        return Opened(challenge_id=challenge_id, refusal=tell(error.cause))
    except (RPCError, TimeoutError):
        return None
    except ApplicationError as error:
        raise _unreadable(error) from None
    if result.state is not ChallengeState.REFUSED:
        return Opened(challenge_id=challenge_id)
    return Opened(challenge_id=challenge_id, refusal=result.reason or "refused", again_at=result.again_at)


def _unreadable(error: ApplicationError) -> NoAnswerError:
    """Put on the log why an answer could not be decoded: most likely a key that the workers have by now."""
    event("the engine's answer cannot be read", level=ERROR, why=tell(error))
    return NoAnswerError()


def _handle(client: Client, challenge_id: str) -> Handle:
    return client.get_workflow_handle_for(Verification.run, verification_id(challenge_id))
