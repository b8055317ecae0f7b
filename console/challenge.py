"""`standby show verification:ID`: the four facts of a verification, each with its own clock."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import typer
from rich.table import Table
from temporalio.client import Client, WorkflowQueryFailedError, WorkflowQueryRejectedError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from activities.discreet import PublicError
from activities.hosting import open_ledger
from activities.store.challenge_rows import ChallengeStory, Delivered
from client import runs
from console import tables
from console.deployment import Deployment
from console.exits import Exit, Stop, ending
from console.page import Clock
from workflows.policy.keys import challenge_of, verification_id
from workflows.policy.verification import Told
from workflows.policy.words import ChallengeState, Method, Outcome
from workflows.verification import Verification

PREFIX: Final = verification_id("")
"""How the id of a verification begins; no notice key does."""

_MEANS: Final = {
    ChallengeState.ACTIVE: "nobody has shown yet that the address is theirs",
    ChallengeState.CONSUMED: "somebody has shown that the address is theirs",
    ChallengeState.EXPIRED: "nobody consumed it in time",
    ChallengeState.DEAD: "too many wrong codes",
    ChallengeState.WITHDRAWN: "the caller no longer needed it",
    ChallengeState.REFUSED: "it was never opened",
}
_LAPSED: Final = "its time is over, and its secrets fail; no worker has ended it yet (is a worker running?)"
_WAYS: Final = {Method.LINK: "by link", Method.CODE: "by code", Method.BOTH: "by link or code"}
_REFUSED: Final = "refused, and nothing was sent: no notice was admitted for it, or its key is another's"


def show(name: str, *, as_json: bool) -> None:
    """Print a verification, by its workflow id; it holds no personal data."""
    story = asyncio.run(_story(Deployment.here(), _checked(name)))
    if as_json:
        typer.echo(story.model_dump_json(indent=2))
        return
    clock = Clock(datetime.now(UTC))
    typer.echo(verification_id(story.challenge_id))
    typer.echo(f"{story.state}: {_meaning(story, clock)}")
    tables.show(_facts(story, clock))


def withdraw(name: str) -> None:
    """End a verification that is no longer needed."""
    challenge_id = _checked(name)
    asyncio.run(_withdraw(Deployment.here(), challenge_id))
    typer.echo(f"{name}: withdrawal asked for; nothing further is sent, and its link or code no longer works")


def _checked(name: str) -> str:
    try:
        return challenge_of(name)
    except ValueError as error:
        raise Stop(Exit.BAD_INPUT, f"KEY: {error}") from None


async def _story(deployment: Deployment, challenge_id: str) -> ChallengeStory:
    async with open_ledger(deployment.settings) as ledger:
        story = await ledger.challenge_story(challenge_id)
    if story is None:
        raise Stop(Exit.BAD_INPUT, f"{verification_id(challenge_id)}: no such verification is on record")
    if all(each.phase for each in story.deliveries):
        return story
    # What was never admitted is on no record but the engine's.
    told = {each.number: each for each in await _told(deployment, challenge_id)}
    deliveries = tuple(_closed(each, told.get(each.number)) for each in story.deliveries)
    return story.model_copy(update={"deliveries": deliveries})


async def _told(deployment: Deployment, challenge_id: str) -> tuple[Told, ...]:
    """Ask the engine for the messages; where it does not answer, what the ledger has is worth telling."""
    try:
        client = await deployment.engine(runs.PATIENCE)
        handle = client.get_workflow_handle_for(Verification.run, verification_id(challenge_id))
        return (await handle.query(Verification.evidence, rpc_timeout=runs.PATIENCE)).messages
    except (PublicError, RPCError, ApplicationError) as error:
        unknown = isinstance(error, RPCError) and runs.is_unknown(error)
        why = "the engine knows no run of it" if unknown else ending(error).lines[0]
    except (WorkflowQueryFailedError, WorkflowQueryRejectedError):
        why = "its workflow cannot be asked"
    typer.echo(f"note: what no worker has admitted is as of the ledger: {why}", err=True)
    return ()


def _closed(message: Delivered, told: Told | None) -> Delivered:
    if message.phase is not None or told is None:
        return message
    return message.model_copy(update={"outcome": told.outcome})


async def _withdraw(deployment: Deployment, challenge_id: str) -> None:
    client: Client = await deployment.engine()
    name = verification_id(challenge_id)
    try:
        await client.get_workflow_handle_for(Verification.run, name).signal(Verification.withdraw)
    except RPCError as error:
        if runs.is_unknown(error):
            raise Stop(Exit.BAD_INPUT, f"{name}: none is open; see: standby show {name}") from None
        raise


def _meaning(story: ChallengeStory, clock: Clock) -> str:
    has_lapsed = story.state is ChallengeState.ACTIVE and clock.now >= story.expires_at
    return _LAPSED if has_lapsed else _MEANS[story.state]


def _facts(story: ChallengeStory, clock: Clock) -> Table:
    made = tables.table("fact", "when (UTC)", "what")
    what = f"{story.purpose} of {story.account_id}, {_WAYS[story.method]}"
    made.add_row("challenge created", clock.both(story.created_at), what)
    for each in story.deliveries:
        made.add_row(*_asked(each, clock))
        made.add_row(*_transport(each, clock))
    consumed = clock.both(story.consumed_at) if story.consumed_at else "-"
    made.add_row("challenge consumed", consumed, _guesses(story))
    made.add_row("expires", clock.both(story.expires_at), "")
    if story.ended_at is not None:
        made.add_row("ended", clock.both(story.ended_at), story.state)
    return made


def _guesses(story: ChallengeStory) -> str:
    """Count wrong codes; a link cannot be guessed."""
    match story.method, story.wrong_codes:
        case Method.LINK, _:
            return ""
        case _, 1:
            return "1 wrong code"
        case _, count:
            return f"{count or 'no'} wrong codes"


def _asked(message: Delivered, clock: Clock) -> Iterator[str]:
    yield f"message {message.number} asked for"
    yield clock.both(message.asked_at)
    yield "by nobody: automatic" if message.is_automatic else "by a person"


def _transport(message: Delivered, clock: Clock) -> Iterator[str]:
    yield f"message {message.number} transport"
    yield clock.both(message.closed_at) if message.closed_at else "-"
    where = message.outcome or message.phase or "no worker has admitted it yet"
    never = message.phase is None and message.outcome is Outcome.REFUSED
    yield f"{_REFUSED if never else where}; see: standby show {message.notice_key}"
