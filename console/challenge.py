"""`standby show verification:ID`: the four facts of a verification, each with its own clock."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import typer
from rich.table import Table
from temporalio.client import Client
from temporalio.service import RPCError

from activities.hosting import open_ledger
from activities.store.challenge_rows import ChallengeStory, Delivered
from client import runs
from console import tables
from console.deployment import Deployment
from console.exits import Exit, Stop
from console.page import Clock
from workflows.policy.keys import challenge_of, verification_id
from workflows.policy.words import ChallengeState
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


def show(name: str, *, as_json: bool) -> None:
    """Print a verification, by its workflow id; it holds no personal data."""
    story = asyncio.run(_story(Deployment.here(), _checked(name)))
    if as_json:
        typer.echo(story.model_dump_json(indent=2))
        return
    typer.echo(verification_id(story.challenge_id))
    typer.echo(f"{story.state}: {_MEANS[story.state]}")
    tables.show(_facts(story, Clock(datetime.now(UTC))))


def withdraw(name: str) -> None:
    """End a verification that is no longer needed."""
    challenge_id = _checked(name)
    asyncio.run(_withdraw(Deployment.here(), challenge_id))
    typer.echo(f"{name}: withdrawal asked for; nothing further is sent, and its secrets fail from now on")


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
    return story


async def _withdraw(deployment: Deployment, challenge_id: str) -> None:
    client: Client = await deployment.engine()
    name = verification_id(challenge_id)
    try:
        await client.get_workflow_handle_for(Verification.run, name).signal(Verification.withdraw)
    except RPCError as error:
        if runs.is_unknown(error):
            raise Stop(Exit.BAD_INPUT, f"{name}: none is open; see: standby show {name}") from None
        raise


def _facts(story: ChallengeStory, clock: Clock) -> Table:
    made = tables.table("fact", "when (UTC)", "what")
    made.add_row("challenge created", clock.both(story.created_at), f"{story.purpose}, by {story.method}")
    for each in story.deliveries:
        made.add_row(*_asked(each, clock))
        made.add_row(*_transport(each, clock))
    consumed = clock.both(story.consumed_at) if story.consumed_at else "-"
    made.add_row("challenge consumed", consumed, f"{story.wrong_codes} wrong codes")
    made.add_row("expires", clock.both(story.expires_at), "")
    if story.ended_at is not None:
        made.add_row("ended", clock.both(story.ended_at), "")
    return made


def _asked(message: Delivered, clock: Clock) -> Iterator[str]:
    yield f"message {message.number} asked for"
    yield clock.both(message.asked_at)
    yield "by nobody: automatic" if message.is_automatic else "by a person"


def _transport(message: Delivered, clock: Clock) -> Iterator[str]:
    yield f"message {message.number} transport"
    yield clock.both(message.closed_at) if message.closed_at else "-"
    where = message.outcome or message.phase or "no worker has admitted it yet"
    yield f"{where}; see: standby show {message.notice_key}"
