"""What one notice knows about itself: the input of every decision."""

from datetime import datetime
from typing import Self

from workflows.policy import state
from workflows.policy.keys import attempt_key
from workflows.policy.models import Observation, Payload
from workflows.policy.state import Transition
from workflows.policy.words import AttemptState, Channel, Status


class Attempt(Payload):
    """One channel's single submission, as far as it is known."""

    key: str
    channel: Channel
    state: AttemptState = AttemptState.PLANNED
    status: Status | None = None
    """The strongest word so far."""
    is_final: bool = False
    provider: str | None = None
    provider_id: str | None = None
    dispatched_at: datetime | None = None
    """When the engine first asked for the send."""
    since: datetime | None = None
    """When the provider took it, or when its fate became ambiguous: polls are offsets from here."""
    readable: bool = True
    """Whether anybody can be asked about it."""
    reads: int = 0
    last_read: datetime | None = None
    not_before: datetime | None = None
    """Held, or not sent: the dispatch is not asked for again before this."""
    ruled_out: str | None = None
    """Why this channel cannot be used for this notice."""
    not_sent: bool = False
    """It was tried until its time was up, and every try is known not to have been accepted."""
    closing_read: bool = False
    """It was read once more when the notice was about to close."""

    @property
    def is_open(self) -> bool:
        """Whether it was dispatched and its evidence is still awaited."""
        return self.state in state.OPEN

    @property
    def is_spare(self) -> bool:
        """Whether it may still be sent."""
        return self.state is AttemptState.PLANNED and self.ruled_out is None

    def observe(self, seen: Observation) -> tuple[Self, Transition]:
        """Apply one report; the attempt comes back unchanged unless the table applied it."""
        moved = state.transition(self.state, seen.status, is_final=seen.is_final)
        if moved.state in state.TERMINAL and moved.state is self.state:
            return self, moved
        status, is_final = state.prevailing(
            (self.status, self.is_final), (seen.status, seen.is_final), moved.state
        )
        changes = {
            "state": moved.state,
            "status": status,
            "is_final": is_final,
            "provider_id": seen.provider_id or self.provider_id,
            "since": self.since or seen.at,
        }
        return self.model_copy(update=changes), moved


class Progress(Payload):
    """One notice: its times, and an attempt for each channel of its route, in order."""

    key: str
    expires_at: datetime
    fallback_at: datetime | None = None
    attempts: tuple[Attempt, ...]
    withdrawn: bool = False

    @classmethod
    def begin(
        cls,
        key: str,
        route: tuple[Channel, ...],
        expires_at: datetime,
        fallback_at: datetime | None = None,
        number: int = 1,
    ) -> Self:
        """Return a notice that has sent nothing."""
        attempts = tuple(Attempt(key=attempt_key(key, each, number), channel=each) for each in route)
        return cls(key=key, expires_at=expires_at, fallback_at=fallback_at, attempts=attempts)

    @property
    def front(self) -> Attempt | None:
        """The latest attempt that was dispatched."""
        sent = [each for each in self.attempts if each.state is not AttemptState.PLANNED]
        return sent[-1] if sent else None

    @property
    def spare(self) -> Attempt | None:
        """The next channel that may still be used: behind the front, untried ones first."""
        behind = self.attempts[self.attempts.index(self.front) + 1 :] if self.front else self.attempts
        usable = [each for each in behind if each.is_spare]
        return min(usable, key=lambda each: each.not_sent, default=None)

    @property
    def overtaken(self) -> tuple[Attempt, ...]:
        """Attempts that a later channel was sent after, and whose fate is still open."""
        return tuple(each for each in self.attempts if each.is_open and each != self.front)

    def on(self, channel: Channel) -> Attempt:
        """Return the attempt of a channel of the route; raises KeyError for any other."""
        for each in self.attempts:
            if each.channel is channel:
                return each
        raise KeyError(channel)

    def replace(self, attempt: Attempt) -> Self:
        """Return the notice with one attempt changed."""
        attempts = tuple(attempt if each.key == attempt.key else each for each in self.attempts)
        return self.model_copy(update={"attempts": attempts})

    def amend(self, channel: Channel, **changes: object) -> Self:
        """Return the notice with some facts of one attempt changed."""
        return self.replace(self.on(channel).model_copy(update=changes))
