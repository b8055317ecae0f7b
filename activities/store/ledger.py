"""The ledger as one object: a room for each record, on one engine."""

from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store.attempts import Attempts
from activities.store.controls import ControlBoard
from activities.store.decisions import Decisions
from activities.store.evidence import Evidence
from activities.store.notices import Notices
from activities.store.records import Story
from activities.store.story import story
from activities.store.suppressions import Suppressions


class Ledger:
    """Guards what the engine cannot: a claim outlives retention and resets.

    It reads no clock: every time (UTC) comes from the caller, who has it from the engine. Every method
    raises StoreError where the database does not do its part; each is one transaction, held across nothing.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self.notices = Notices(engine)
        self.attempts = Attempts(engine)
        self.evidence = Evidence(engine)
        self.decisions = Decisions(engine)
        self.suppressions = Suppressions(engine)
        self.controls = ControlBoard(engine)

    async def story(self, key: str) -> Story | None:
        """Read everything on record about a notice; None where there is nothing."""
        return await story(self._engine, key)
