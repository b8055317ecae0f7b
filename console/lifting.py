"""Letting an address be written to again, on a person's word."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from activities.hosting import open_ledger
from activities.store.suppressions import Suppression
from console import suppression_words as words
from console.deployment import Deployment
from console.exits import Exit, Stop
from console.given import Address
from workflows.policy.words import SuppressionReason


@dataclass(frozen=True, slots=True)
class Lifting:
    """On whose word, why, and what is meant."""

    by: str
    why: str
    only: SuppressionReason | None = None
    although_they_chose: bool = False

    def means(self, row: Suppression) -> bool:
        """Whether a row on record is to be lifted."""
        return row.lifted_at is None and self.only in {None, row.reason}


async def lifted(deployment: Deployment, addresses: Sequence[Address], lifting: Lifting) -> list[str]:
    """Lift what is meant and return what to say; raises Stop before anything is lifted."""
    async with open_ledger(deployment.settings) as ledger:
        once = {each.hashed: each for each in addresses}.values()
        rows = {each: await ledger.suppressions.of(each.hashed, each.channel) for each in once}
        meant = {each: [row for row in rows[each] if lifting.means(row)] for each in once}
        if not lifting.although_they_chose:
            refused = words.chosen(row for each in meant.values() for row in each)
            if refused:
                raise Stop(Exit.BAD_INPUT, *refused, "nothing was lifted")
        every = [row for each in meant.values() for row in each]
        await ledger.suppressions.lift_all(every, by=lifting.by, at=datetime.now(UTC), why=lifting.why)
    said = [line for each in rows for line in _told(each, meant[each], rows[each])]
    return [*said, *([words.ELSEWHERE] if every else [])]


def _told(address: Address, meant: Sequence[Suppression], rows: Sequence[Suppression]) -> list[str]:
    if not meant:
        return [f"{address.label}: nothing to lift"]
    held = {row.reason for row in rows if row.lifted_at is None}
    left = sorted(held - {row.reason for row in meant})
    stays = [f"{address.label}: is still suppressed: {', '.join(left)}"] if left else []
    return [*(f"{address.label}: {row.reason} is lifted: {words.MEANS[row.reason]}" for row in meant), *stays]
