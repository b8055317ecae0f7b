"""Reports that fit no message on record: how many are kept aside, by provider, and what that may mean."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from activities.store.strays import KEPT, Aside
from console.page import away
from console.spans import span

_MEANING: Final = "others send through the same account, or a sender does not pass on our attempt key"


def told(kept: Sequence[Aside]) -> str | None:
    """Say how many there are, in one line; None where there are none."""
    if not kept:
        return None
    now = datetime.now(UTC)
    total = sum(each.reports for each in kept)
    by = ", ".join(f"{each.provider} {each.reports}, last {away(each.last_at - now)}" for each in kept)
    fits = "report fits" if total == 1 else "reports fit"
    return f"kept aside, for {span(KEPT)}: {total} {fits} no message on record ({by}): {_MEANING}"
