"""`standby suppressions`: who is not written to."""

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Final

import typer

from activities.hosting import open_ledger
from activities.settings import keyring
from activities.store.listing import Page, Suppressed
from activities.store.suppressions import Suppression
from console import given, tables
from console import suppression_files as files
from console import suppression_words as words
from console.deployment import Deployment
from console.given import Address
from console.lifting import Lifting, lifted
from console.listing import Json, Limit, Since, remainder
from console.pulling import pulled
from workflows.policy.hygiene import said
from workflows.policy.words import Channel, SuppressionReason

_CHANNELS: Final = "|".join(Channel)
_REASONS: Final = "|".join(SuppressionReason)
_NOTHING_ELSE: Final = {"allow_extra_args": True}
"""What is given as an argument is refused without being repeated."""

OneChannel = Annotated[str, typer.Option(metavar=_CHANNELS, help="What is not used to write to them.")]
File = Annotated[str, typer.Argument(metavar="FILE|-", help="A CSV file, or - for the standard stream.")]

app = typer.Typer(no_args_is_help=True, help="Who is not written to.")


@app.callback()
def suppressions() -> None:
    """Who is not written to; the ledger keeps keyed hashes, and no address."""


@app.command()
def pull(
    name: Annotated[str, typer.Argument(metavar="PROVIDER", help="Whose list to read, as it is configured.")],
) -> None:
    """Bring a provider's own list into the ledger; doing it again changes nothing.

    It takes people's own choices (complaints, unsubscribes, STOP) and addresses that the provider calls
    invalid. What it holds back for other reasons suppresses nobody here.

    Example: standby suppressions pull sendgrid
    """
    asyncio.run(pulled(Deployment.here(), name))


@app.command(name="list")
def list_suppressions(
    *,
    channel: Annotated[str | None, typer.Option(metavar=_CHANNELS, help="Only this channel.")] = None,
    reason: Annotated[str | None, typer.Option(metavar=_REASONS, help="Only for this reason.")] = None,
    since: Since = None,
    with_lifted: Annotated[
        bool, typer.Option("--lifted", help="Also those that were lifted: by whom, when and why.")
    ] = False,
    limit: Limit = 50,
    as_json: Json = False,
) -> None:
    """List who is not written to, newest first, by the hash of the address.

    Example: standby suppressions list --channel sms --since 2d
    """
    now = datetime.now(UTC)
    wanted = Suppressed(
        channel=given.word("--channel", channel, Channel) if channel else None,
        reason=given.word("--reason", reason, SuppressionReason) if reason else None,
        since=given.past("--since", since, now) if since else None,
        lifted=with_lifted,
    )
    page = asyncio.run(_listed(Deployment.here(), wanted, limit))
    if as_json:
        _say_json(page.rows)
    elif page.rows:
        tables.show(words.listed(page.rows, now, lifted=with_lifted))
    else:
        typer.echo("no such suppression is on record")
    remainder(page, as_json=as_json)


@app.command(context_settings=_NOTHING_ELSE)
def check(context: typer.Context, *, as_json: Json = False) -> None:
    """Say whether an address is suppressed, and why; it comes on standard input, or is asked for.

    Several, one a line, are told one after the other.

    Example: standby suppressions check < address.txt
    """
    deployment = Deployment.here()
    for address, rows in asyncio.run(_histories(deployment, _addresses(context, deployment))):
        if not as_json:
            typer.echo("\n".join(words.checked(address, rows)))
            continue
        holds = [words.as_json(each) for each in rows if each.lifted_at is None]
        told = {"line": address.line, "channel": address.channel, "hash": address.hashed}
        typer.echo(json.dumps({**told, "suppressed": bool(holds), "reasons": holds}))


@app.command(context_settings=_NOTHING_ELSE)
def add(
    context: typer.Context,
    *,
    channel: OneChannel,
    reason: Annotated[str, typer.Option(metavar=_REASONS, help="Why they are not written to.")],
    by: Annotated[str | None, typer.Option(help="Who you are; by default your account here.")] = None,
) -> None:
    """Suppress addresses, which come on standard input, one a line, or are asked for: all of them or none.

    Providers' own lists are left as they are: the ledger is asked before every send.

    Example: standby suppressions add --channel email --reason complaint < addresses.txt
    """
    on = given.word("--channel", channel, Channel)
    why = said(on, given.word("--reason", reason, SuppressionReason))
    who = given.line("--by", by or given.account())
    deployment, now = Deployment.here(), datetime.now(UTC)
    addresses = _addresses(context, deployment, on)
    rows = [
        Suppression(
            address_hash=each.hashed,
            channel=on,
            reason=why,
            source_notice=f"added by {who}",
            observed_at=now,
        )
        for each in addresses
    ]
    new = asyncio.run(_put(deployment, rows))
    label = addresses[0].label if len(addresses) == 1 else f"{on}: {len(addresses)} read, {new} new"
    typer.echo(f"{label}; {why}: {words.stops(why, on)}{'' if new else ' (as before)'}")


@app.command(context_settings=_NOTHING_ELSE)
def lift(
    context: typer.Context,
    *,
    channel: OneChannel,
    by: Annotated[str, typer.Option(metavar="WHO", help="On whose word; kept for ever.")],
    why: Annotated[str, typer.Option(metavar="TEXT", help="Kept for ever, beside the suppression.")],
    reason: Annotated[
        str | None, typer.Option(metavar=_REASONS, help="Only what holds for this reason.")
    ] = None,
    although_they_chose: Annotated[
        bool,
        typer.Option(
            "--although-they-chose", help="Also a complaint, an unsubscribe or a STOP: their own choice."
        ),
    ] = False,
) -> None:
    """Let addresses be written to again; they come on standard input, one a line, or are asked for.

    What people chose themselves is only lifted where that is said; then all is lifted, or nothing.

    Example: standby suppressions lift --channel email --by anna --why "mailbox is back, ticket 4711"
    """
    on = given.word("--channel", channel, Channel)
    only = given.word("--reason", reason, SuppressionReason) if reason else None
    lifting = Lifting(given.line("--by", by), given.line("--why", why), only, although_they_chose)
    deployment = Deployment.here()
    for line in asyncio.run(lifted(deployment, _addresses(context, deployment, on), lifting)):
        typer.echo(line)


@app.command(name="export")
def export_file(file: File) -> None:
    """Write every suppression that holds as CSV, by keyed hash: for a ledger with the same address key.

    Example: standby suppressions export suppressions.csv
    """
    deployment = Deployment.here()
    count = asyncio.run(_exported(deployment, file))
    typer.echo(f"{files.name_of(file, 'stdout')}: {count} written", err=file == files.STANDARD)


@app.command(name="import")
def import_file(file: File) -> None:
    """Take suppressions from such a file: all of them, or none where one is wrong; again changes nothing.

    What a person has lifted since stays lifted.

    Example: standby suppressions import suppressions.csv
    """
    deployment = Deployment.here()
    rows = files.read(file, files.key_check(keyring(deployment.settings)))
    new = asyncio.run(_put(deployment, rows))
    typer.echo(f"{files.name_of(file, 'stdin')}: {len(rows)} read, {new} new")


def _addresses(
    context: typer.Context, deployment: Deployment, channel: Channel | None = None
) -> tuple[Address, ...]:
    given.no_argument(context)
    return given.addresses(keyring(deployment.settings), channel)


def _say_json(rows: Sequence[Suppression]) -> None:
    for each in rows:
        typer.echo(json.dumps(words.as_json(each)))


async def _listed(deployment: Deployment, wanted: Suppressed, limit: int) -> Page[Suppression]:
    async with open_ledger(deployment.settings) as ledger:
        return await ledger.listing.suppressions(wanted, limit)


async def _histories(
    deployment: Deployment, addresses: Sequence[Address]
) -> list[tuple[Address, tuple[Suppression, ...]]]:
    async with open_ledger(deployment.settings) as ledger:
        return [(each, await ledger.suppressions.of(each.hashed, each.channel)) for each in addresses]


async def _put(deployment: Deployment, rows: Sequence[Suppression]) -> int:
    async with open_ledger(deployment.settings) as ledger:
        return await ledger.suppressions.put_all(rows)


async def _exported(deployment: Deployment, file: str) -> int:
    check = files.key_check(keyring(deployment.settings))
    async with open_ledger(deployment.settings) as ledger:
        return await files.write(file, ledger.suppressions.every(), check)
