"""A notice at one moment: where it stands, and which instants lie ahead."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from workflows.policy import schedule
from workflows.policy.progress import Attempt, Progress
from workflows.policy.steps import Horizon, Rule, Wait
from workflows.policy.terms import Policy
from workflows.policy.words import AttemptState, OnUnresolved, SettlesOn, Status


@dataclass(frozen=True)
class Outlook:
    """One notice under its terms at one moment (UTC): what its rules ask of it."""

    progress: Progress
    policy: Policy
    now: datetime

    @property
    def front(self) -> Attempt | None:
        """The latest attempt that was dispatched."""
        return self.progress.front

    @property
    def spare(self) -> Attempt | None:
        """The next channel that may still be used."""
        return self.progress.spare

    @cached_property
    def cutoff(self) -> datetime:
        """From when on nothing is read."""
        return schedule.cutoff(self.policy, self.progress.expires_at)

    @property
    def readable(self) -> bool:
        """Whether a read could still change an action."""
        return self.now < self.cutoff

    @property
    def escalates(self) -> bool:
        """Whether silence leads on to another channel that would still be useful."""
        silent = self.policy.on_unresolved is OnUnresolved.ESCALATE
        return silent and self.spare is not None and self.in_time

    @cached_property
    def deadline(self) -> datetime:
        """When silence at the front stops being worth waiting for."""
        first = self.progress.attempts[0]
        if self.front not in {None, first} or not (self.escalates or self._expires_silent):
            return self.cutoff
        return schedule.fallback_deadline(
            self.policy,
            first.since or first.dispatched_at or self.now,
            self.progress.expires_at,
            self.progress.fallback_at,
        )

    @property
    def _expires_silent(self) -> bool:
        return self.policy.on_unresolved is OnUnresolved.EXPIRE

    @property
    def in_time(self) -> bool:
        """Whether a fallback sent now would still be useful."""
        return self.progress.expires_at - self.now >= self.policy.min_useful

    @property
    def settled(self) -> Attempt | None:
        """The attempt whose evidence is what the kind asks for; delivery before acceptance."""
        for each in self.progress.attempts:
            if each.state is AttemptState.CONFIRMED:
                return each
        if self.policy.settles_on is SettlesOn.DELIVERED:
            return None
        for each in self.progress.attempts:
            if each.is_open and each.status is Status.ACCEPTED:
                return each
        return None

    @property
    def next_read(self) -> datetime | None:
        """When the front is to be read next; None where nobody can be asked or has more to say."""
        front = self.front
        if front is None or not front.is_open or not front.readable or front.is_final:
            return None
        since = front.since or front.dispatched_at or self.now
        watch = self.policy.watch(front.channel)
        times = schedule.poll_times(watch, since, self.deadline, front.key)
        if self.deadline < self.cutoff:
            times = (*times, self.deadline)
        return schedule.due(times, front.last_read)

    @property
    def horizon(self) -> Wait:
        """Wait for the next instant at which time alone changes the decision."""
        expiry = self.progress.expires_at
        instants = (
            (self.deadline, Horizon.DEADLINE if self.deadline < self.cutoff else Horizon.CUTOFF),
            (self.next_read, Horizon.POLL),
            (self.cutoff, Horizon.CUTOFF),
            (expiry, Horizon.EXPIRY),
        )
        ahead = [(at, what) for at, what in instants if at is not None and at > self.now]
        until, what = min(ahead, key=lambda instant: instant[0], default=(expiry, Horizon.EXPIRY))
        return Wait(Rule.SILENCE, until, what)
