"""Suppressions in words: what each stops, what lifting it means, and how a list of them looks."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final

from rich.table import Table

from activities.discreet import redact
from activities.store.suppressions import Suppression
from console import tables
from console.given import Address, shortened
from console.page import Clock
from workflows.policy.hygiene import OPT_OUTS, blocks
from workflows.policy.telling import NOUN, moment
from workflows.policy.words import Channel, SuppressionReason

MEANS: Final[Mapping[SuppressionReason, str]] = MappingProxyType(
    {
        SuppressionReason.INVALID_RECIPIENT: (
            "it is tried again, from the next notice on; another report that there is no such recipient"
            " suppresses it anew"
        ),
        SuppressionReason.COMPLAINT: (
            "messages go again to somebody who has complained about them, and whose next complaint costs the"
            " sender its good name"
        ),
        SuppressionReason.UNSUBSCRIBED: "email goes again to somebody who has unsubscribed from it",
        SuppressionReason.STOPPED: (
            "texts go again to somebody who has told them to stop; a carrier may hold them back until that"
            " person has texted START"
        ),
    }
)
"""What lifting each brings about."""

ELSEWHERE: Final = "a provider that keeps a list of its own still has it there: take it off that list as well"
_CHOSEN: Final = "is the person's own choice, which nobody else takes back"
_THEIR_WORD: Final = "where the person has asked for it: --although-they-chose"


def stops(reason: SuppressionReason, channel: Channel) -> str:
    """Say what is not sent, by the rule that every check goes by."""
    if blocks(reason, channel, essential=True):
        return f"no {NOUN[channel]} is sent to it"
    return f"no {NOUN[channel]} is sent to it, but of kinds that are essential"


def chosen(rows: Iterable[Suppression]) -> tuple[str, ...]:
    """Say which of them only their person takes back; empty where none is such a choice."""
    reasons = sorted({each.reason for each in rows} & OPT_OUTS)
    return (*(f"{each}: {_CHOSEN}" for each in reasons), _THEIR_WORD) if reasons else ()


def checked(address: Address, rows: Sequence[Suppression]) -> tuple[str, ...]:
    """Say whether an address is suppressed, why, and what was lifted before."""
    holds = [each for each in rows if each.lifted_at is None]
    ended = [each for each in rows if each.lifted_at is not None]
    return (
        f"{address.label}: {'suppressed' if holds else 'not suppressed'}",
        *(f"  {each.reason}: {stops(each.reason, each.channel)}; {_origin(each)}" for each in holds),
        *(f"  lifted: {each.reason}; {_origin(each)}; {_lifted(each)}" for each in ended),
    )


def as_json(row: Suppression) -> dict[str, object]:
    """Return a row as a program reads it: the whole hash, as `export` has it."""
    told = row.model_dump(mode="json", exclude={"address_hash", "source_notice"})
    return {"hash": row.address_hash, **told, "source": source(row)}


def listed(rows: Sequence[Suppression], now: datetime, *, lifted: bool) -> Table:
    """Return a table; `now` is UTC."""
    clock = Clock(now)
    more = ("lifted", "by", "why") if lifted else ()
    made = tables.table("address", "reason", "source", "observed", *more)
    for each in rows:
        label = f"{each.channel} {shortened(each.address_hash)}"
        cells = [label, each.reason, source(each) or "-", clock.at(each.observed_at)]
        ended = (clock.at(each.lifted_at), each.lifted_by or "-", each.lifted_why or "-")
        made.add_row(*cells, *(ended if lifted else ()))
    return made


def source(row: Suppression) -> str | None:
    """Return who said so; an id of somebody else's making may look like an address."""
    return redact(row.source_notice) if row.source_notice else None


def _origin(row: Suppression) -> str:
    return f"since {moment(row.observed_at)}, from {source(row) or 'nobody on record'}"


def _lifted(row: Suppression) -> str:
    at = f"{moment(row.lifted_at)} by {row.lifted_by}" if row.lifted_at else ""
    return f"{at}: {row.lifted_why}" if row.lifted_why else at
