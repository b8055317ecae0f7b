"""A notice's record, computed again: same, or different and where."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Final, Self
from urllib.parse import unquote

from activities.catalogue import Catalogue, CatalogueError, UnknownKind
from activities.settings import Settings
from activities.store.engine import open_engine
from activities.store.recomputing import Records
from workflows.policy.compared import Compared
from workflows.policy.recomputing import changed, recompute
from workflows.policy.recorded import Record, Recorded
from workflows.policy.terms import Policy

_NO_KINDS: Final = "the kinds are not at hand here (STANDBY_NOTICES)"
_BROKEN: Final = "the kinds of this folder cannot be read: standby doctor"
_NO_SUCH: Final = "the folder of kinds has none of this name any more"


class Terms(Recorded):
    """The terms of a kind as they are today, beside those that the notice was admitted under."""

    recorded: str
    """The digest on record: by these terms everything is computed again."""
    today: str | None = None
    """The digest of the kind's terms today; null where they are not at hand."""
    changed: tuple[str, ...] = ()
    """The fields that have changed since."""
    note: str | None = None
    """Why today's terms are not told."""


class Explained(Recorded):
    """The published form of `standby explain --json`."""

    key: str
    """The notice key."""
    kind: str
    """The kind of notice."""
    phase: str
    """Where it is, by the ledger."""
    outcome: str | None = None
    """How it closed."""
    pruned_at: datetime | None = None
    """When its evidence was deleted (UTC), after which nothing is left to be computed."""
    same: bool
    """Whether all is the same."""
    policy: Terms
    """What has become of its terms; a kind that has changed since changes no decision."""
    items: tuple[Compared, ...]
    """Everything that was computed again."""

    @classmethod
    def of(cls, record: Record, terms: Terms) -> Self:
        """Compute a record again."""
        items = recompute(record)
        return cls(
            key=record.notice.key,
            kind=record.notice.kind,
            phase=record.notice.phase,
            outcome=record.notice.outcome,
            pruned_at=record.notice.pruned_at,
            same=all(each.same for each in items),
            policy=terms,
            items=items,
        )


@asynccontextmanager
async def open_records(settings: Settings) -> AsyncIterator[Records]:
    """Open the ledger for the block; raises StoreError where it cannot be used."""
    engine = await open_engine(settings.database_url.get_secret_value())
    try:
        yield Records(engine)
    finally:
        await engine.dispose()


def explain(record: Record, settings: Settings) -> Explained:
    """Compute a record again, and compare its terms with those of the deployment's kinds today."""
    return Explained.of(record, _terms(record, settings))


def _terms(record: Record, settings: Settings) -> Terms:
    digest = record.notice.policy_digest
    today = _today(unquote(record.notice.kind), settings.notices, settings.public_url)
    if isinstance(today, str):
        return Terms(recorded=digest, note=today)
    name, policy = today
    if name == digest:
        return Terms(recorded=digest, today=name)
    return Terms(recorded=digest, today=name, changed=changed(record.policies.get(digest, {}), policy))


def _today(kind: str, notices: Path, public_url: str | None) -> tuple[str, Policy] | str:
    """Return the digest and the terms of a kind, or why they are not at hand."""
    if not any(notices.glob("*/policy.toml")):
        return _NO_KINDS
    try:
        found = Catalogue.load(notices, public_url).get(kind)
    except CatalogueError:
        return _BROKEN
    except UnknownKind:
        return _NO_SUCH
    return found.digest, found.policy
