"""`standby show`: the story of one notice, from the ledger, and from the engine while it is open."""

import asyncio
from contextlib import suppress
from typing import Annotated, Final

import typer
from temporalio.service import RPCError

from activities.discreet import PublicError
from activities.hosting import open_ledger
from client import runs
from client.story import Story
from console import challenge, page
from console.deployment import Deployment
from console.exits import Exit, Stop, ending
from workflows.notice import Notice
from workflows.policy.keys import attempted, first_of, key_of, parts

_ALONE: Final = "the ledger alone: the engine has it no longer"

Key = Annotated[
    str, typer.Argument(metavar="KEY", help="The notice key, kind:event:recipient, or verification:ID.")
]


def show(
    key: Key,
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the whole story as one JSON object.")
    ] = False,
) -> None:
    """Tell the story of one notice: what was attempted, seen and decided, and what is next.

    Of a verification it tells the four facts. It holds no personal data. What has closed is told as well,
    also what the engine has forgotten.

    Example: standby show password_reset:sample-reset-1:user-1001
    """
    if key.startswith(challenge.PREFIX):
        challenge.show(key, as_json=as_json)
        return
    story = asyncio.run(_story(Deployment.here(), _checked(key)))
    for note in story.notes:
        typer.echo(f"note: {note}", err=True)
    if as_json:
        typer.echo(story.as_json())
    else:
        page.show(story)


def withdraw(key: Key) -> None:
    """Withdraw a notice, or a verification, that is no longer needed: nothing further is sent for it.

    Example: standby withdraw password_reset:sample-reset-1:user-1001
    """
    if key.startswith(challenge.PREFIX):
        challenge.withdraw(key)
        return
    notice = _checked(key)
    asyncio.run(_withdraw(Deployment.here(), notice))
    typer.echo(f"{notice}: withdrawal asked for; nothing further is sent")


def _checked(key: str) -> str:
    """Return the notice key; providers and logs name attempts, whose keys begin with it."""
    with suppress(ValueError):
        return attempted(key).notice_key
    try:
        return key_of(key)
    except ValueError as error:
        raise Stop(Exit.BAD_INPUT, f"KEY: {error}") from None


async def _withdraw(deployment: Deployment, key: str) -> None:
    client = await deployment.engine()
    try:
        await runs.handle_of(client, key).signal(Notice.withdraw)
    except RPCError as error:
        if runs.is_unknown(error):
            raise Stop(Exit.BAD_INPUT, f"{key}: no such notice is open; see: standby show {key}") from None
        raise


async def _teller(deployment: Deployment, key: str) -> str:
    """Say by whose word a closed notice is told."""
    try:
        remembered = await runs.is_remembered(await deployment.engine(runs.PATIENCE), key)
    except (PublicError, RPCError):
        return "the ledger alone: no engine answers"
    return "the ledger, and the engine has its history" if remembered else _ALONE


async def _story(deployment: Deployment, key: str) -> Story:
    async with open_ledger(deployment.settings) as ledger:
        record = await ledger.story(key)
        # Of a notice that is none of its messages it is no part.
        verification = await ledger.challenge_story(parts(first_of(key)).event_id)
    if record is None:
        run = await runs.look(await deployment.engine(), key)
        if run is None:
            raise Stop(Exit.BAD_INPUT, f"{key}: no such notice; start one with: standby send FILE")
        return Story.unrecorded(key).continued(run)
    story = Story.recorded(record).within(verification)
    if story.outcome is not None:
        return story.model_copy(update={"told_by": await _teller(deployment, key)})
    try:
        run = await runs.look(await deployment.engine(runs.PATIENCE), key)
        told_by = "the engine and the ledger" if run else _ALONE
        return story.continued(run).within(verification).model_copy(update={"told_by": told_by})
    except (PublicError, RPCError) as error:
        # The record alone is worth telling.
        return story.noting(f"what is next is as of the ledger: {ending(error).lines[0]}")
