"""The ledger as one object: a room for each record, on one engine."""

from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store.attempts import Attempts
from activities.store.challenge_rows import ChallengeStory
from activities.store.challenge_story import challenge_story
from activities.store.challenges import Challenges
from activities.store.controls import ControlBoard
from activities.store.decisions import Decisions
from activities.store.evidence import Evidence
from activities.store.listing import Listing
from activities.store.notices import Notices
from activities.store.observed import Seen, observed
from activities.store.open_work import OpenWork, open_work
from activities.store.records import Story
from activities.store.retention import Retention
from activities.store.story import story
from activities.store.strays import Strays
from activities.store.suppressions import Suppressions
from activities.store.tokens import Tokens


class Ledger:
    """Guards what the engine cannot: a claim outlives retention and resets.

    It reads no clock: every time (UTC) comes from the caller, who has it from the engine, or at its edge from
    the host. Every method
    raises StoreError where the database does not do its part; each is one transaction, held across nothing.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self.notices = Notices(engine)
        self.attempts = Attempts(engine)
        self.evidence = Evidence(engine)
        self.decisions = Decisions(engine)
        self.suppressions = Suppressions(engine)
        self.challenges = Challenges(engine)
        self.controls = ControlBoard(engine)
        self.listing = Listing(engine)
        self.strays = Strays(engine)
        self.tokens = Tokens(engine)
        self.retention = Retention(engine)

    async def story(self, key: str) -> Story | None:
        """Read everything on record about a notice; None where there is nothing."""
        return await story(self._engine, key)

    async def challenge_story(self, challenge_id: str) -> ChallengeStory | None:
        """Read everything on record about a verification; None where there is nothing."""
        return await challenge_story(self._engine, challenge_id)

    async def observed(self, observer: str, since: datetime | None = None) -> tuple[Seen, ...]:
        """Count what would have been sent, since an instant (UTC), beside what callbacks showed of it."""
        return await observed(self._engine, observer, since)

    async def open_work(self, observer: str, *, at: datetime) -> OpenWork:
        """Count what is open at a moment (UTC); what only the observer took has no ids, and needs none."""
        return await open_work(self._engine, observer, at=at)
