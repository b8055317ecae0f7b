"""`standby list`: notices on record, newest first, by what somebody on call looks for."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from typing import Annotated, Any, Final

import typer
from rich.table import Table

from activities.hosting import open_ledger
from activities.store.listing import COUNTED, ListedChallenge, Notices, Page, Stuck, Verifications
from activities.store.records import NoticeRow
from console import given, tables
from console.challenge import PREFIX
from console.deployment import Deployment
from console.exits import Exit, Stop
from console.page import Clock, away
from workflows import options
from workflows.policy.keys import notice_key, parts
from workflows.policy.words import ChallengeState, Outcome, Phase

LATE: Final = timedelta(minutes=1)
"""What was due longer ago than this is stuck."""

SENDING: Final = options.SEND["start_to_close_timeout"]
"""No send takes longer."""

MOST: Final = 10_000
"""Rows of one list."""

_INTERNAL: Final = {"chain", "policy_digest", "version"}
_COUNTS: Final = frozenset({"messages", "wrong"})

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object a line, and nothing else.")]
Limit = Annotated[int, typer.Option(min=1, max=MOST, help="At most so many; the rest is counted.")]
Since = Annotated[
    str | None, typer.Option(metavar="WHEN", help='Only what is newer than a time, or than "10m", "2d".')
]


def list_notices(
    *,
    phase: Annotated[Phase | None, typer.Option(help="Where they are.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only this kind.")] = None,
    outcome: Annotated[Outcome | None, typer.Option(help="How they closed.")] = None,
    recipient: Annotated[
        str | None, typer.Option(metavar="ID", help="The recipient's id, which is no address.")
    ] = None,
    stuck: Annotated[
        bool,
        typer.Option("--stuck", help="Open, and a minute overdue, or claimed for longer than a send takes."),
    ] = False,
    past_fallback: Annotated[
        bool, typer.Option("--past-fallback", help="Open, and silent past the time to fall back.")
    ] = False,
    due_before: Annotated[
        str | None, typer.Option(metavar="WHEN", help='Open, and due before a time, or within "10m".')
    ] = None,
    since: Since = None,
    verifications: Annotated[
        bool, typer.Option("--verifications", help="List challenges instead, whose messages are notices.")
    ] = False,
    state: Annotated[
        ChallengeState | None, typer.Option(help="Where challenges stand, with --verifications.")
    ] = None,
    limit: Limit = 50,
    as_json: Json = False,
) -> None:
    """List notices, newest first, for which all holds that is asked for; it holds no personal data.

    Example: standby list --stuck --kind password_reset
    """
    now = datetime.now(UTC)
    begin = given.past("--since", since, now) if since else None
    due = given.ahead("--due-before", due_before, now) if due_before else None
    of_notices = {"--phase": phase, "--outcome": outcome, "--due-before": due, "--stuck": stuck}
    if verifications:
        _demand_none({**of_notices, "--past-fallback": past_fallback}, "does not go with --verifications")
        asked = Verifications(state=state, kind=kind, accounts=_spellings(recipient), since=begin)
        _tell_challenges(asyncio.run(_challenges(Deployment.here(), asked, limit)), now, as_json=as_json)
        return
    _demand_none({"--state": state}, "goes with --verifications")
    wanted = Notices(
        phase=phase,
        kind=kind,
        outcome=outcome,
        recipients=_spellings(recipient),
        since=begin,
        due_before=due,
        stuck=Stuck(now - LATE, now - SENDING) if stuck else None,
        past_fallback_at=now if past_fallback else None,
    )
    _tell(asyncio.run(_notices(Deployment.here(), wanted, limit)), now, as_json=as_json)


def remainder(page: Page[Any], *, as_json: bool) -> None:
    """Say how many there are beyond a page."""
    if page.more:
        least = "at least " if page.more >= COUNTED else ""
        more = f"not listed: {least}{page.more} older; to see more of them add --limit N, or ask for less"
        typer.echo(more, err=as_json)


def notices(rows: Sequence[NoticeRow], now: datetime, *names: str) -> Table:
    """Return a table of notices, beside their names if there are any; `now` is UTC."""
    clock = Clock(now)
    made = tables.table(*(["key"] if names else []), "phase, outcome", "channel", "due", "created")
    for each, name in zip_longest(rows, names):
        due = away(each.next_at - now) if each.next_at else "-"
        cells = (each.outcome or each.phase, each.channel or "-", due, clock.at(each.created_at))
        made.add_row(*([name] if names else []), *cells)
    return made


def challenges(rows: Sequence[ListedChallenge], now: datetime, *names: str) -> Table:
    """Return a table of challenges, beside their names if there are any; `now` is UTC."""
    clock, first = Clock(now), ["verification"] if names else []
    made = tables.table(*first, "state", "messages", "wrong", "expires", "created", numbers=_COUNTS)
    for each, name in zip_longest(rows, names):
        expires = away(each.expires_at - now) if each.state is ChallengeState.ACTIVE else "-"
        tried = f"{each.wrong} of {each.wrong_codes}"
        cells = (each.state, str(each.messages), tried, expires, clock.at(each.created_at))
        made.add_row(*([name] if names else []), *cells)
    return made


def _tell(page: Page[NoticeRow], now: datetime, *, as_json: bool) -> None:
    if as_json:
        for each in page.rows:
            typer.echo(each.model_dump_json(exclude=_INTERNAL))
    elif page.rows:
        keys = [each.key for each in page.rows]
        tables.show_named(keys, notices(page.rows, now), notices(page.rows, now, *keys))
    else:
        typer.echo("no such notice is on record")
    remainder(page, as_json=as_json)


def _tell_challenges(page: Page[ListedChallenge], now: datetime, *, as_json: bool) -> None:
    if as_json:
        for each in page.rows:
            typer.echo(json.dumps({"key": f"{PREFIX}{each.id}", **each.model_dump(mode="json")}))
    elif page.rows:
        keys = [f"{PREFIX}{each.id}" for each in page.rows]
        tables.show_named(keys, challenges(page.rows, now), challenges(page.rows, now, *keys))
    else:
        typer.echo("no such verification is on record")
    remainder(page, as_json=as_json)


def _demand_none(given_options: Mapping[str, object], why: str) -> None:
    for option, value in given_options.items():
        if value:
            raise Stop(Exit.BAD_INPUT, f"{option}: {why}")


def _spellings(recipient: str | None) -> tuple[str, ...]:
    """Return an id as it may be on record: as it was given, and as keys have it."""
    if not recipient:
        return ()
    return recipient, parts(notice_key("-", "-", recipient)).recipient_id


async def _notices(deployment: Deployment, wanted: Notices, limit: int) -> Page[NoticeRow]:
    async with open_ledger(deployment.settings) as ledger:
        return await ledger.listing.notices(wanted, limit)


async def _challenges(deployment: Deployment, wanted: Verifications, limit: int) -> Page[ListedChallenge]:
    async with open_ledger(deployment.settings) as ledger:
        return await ledger.listing.verifications(wanted, limit)
