"""One notice from beginning to end, with a provider that does as hypothesis says; no engine, no clock."""

from collections import Counter
from datetime import datetime, timedelta

from hypothesis import strategies as st

from tests.policy import lawful
from tests.policy.given import KEY, START
from workflows.policy import plan
from workflows.policy.models import Observation
from workflows.policy.plan import Close, LookUp, Rule, Send, Wait
from workflows.policy.progress import Progress
from workflows.policy.terms import Policy
from workflows.policy.words import AttemptState, Channel, Source, Status

SECOND = timedelta(seconds=1)
MOST = 80
"""Steps: two channels, six reads each, a closing read, and what a life can be disturbed by."""

DELAYS = st.sampled_from([0, 0, 0, 1, 7, 60, 4000]).map(lambda count: count * SECOND)
"""How long a call takes, or how long no worker was there."""


class Life:
    """Does what the plan says, as the workflow does, and checks every step."""

    def __init__(self, data: st.DataObject, policy: Policy) -> None:
        assert policy.expires_after is not None
        self.draw = data.draw
        self.policy = policy
        self.now = START
        self.progress = Progress.begin(KEY, policy.route, START + policy.expires_after)
        self.taken: Counter[Channel] = Counter()
        self.sent_at: list[datetime] = []
        self.disturbances = 6

    def live(self) -> Close:
        """Return how it closed; it must within so many steps."""
        for _ in range(MOST):
            step = plan.next(self.progress, self.policy, self.now)
            lawful.check(step, self.progress, self.policy, self.now)
            match step:
                case Send():
                    self._send(step)
                case LookUp():
                    self._look_up(step)
                case Wait():
                    self._wait(step)
                case Close():
                    return step
        raise AssertionError(f"still alive after {MOST} steps")

    def _send(self, step: Send) -> None:
        assert not self.taken[step.channel], "an attempt that may have been accepted is never repeated"
        match self.draw(st.sampled_from(["taken", "taken", "ambiguous", "refusing", "ineligible", "held"])):
            case "taken":
                self._taken(step.channel)
                self.now += self.draw(DELAYS)
                self._report(step.channel)
            case "ambiguous":
                self._taken(step.channel)
                self.now += self.draw(DELAYS)
                if self.progress.on(step.channel).state is AttemptState.PLANNED:
                    self._amend(step.channel, state=AttemptState.AMBIGUOUS, since=self.now)
            case "refusing":
                # The engine repeats a send that was surely not accepted until its time is up.
                self._amend(step.channel, dispatched_at=self.now, not_sent=True)
                self.now = step.until
            case "ineligible":
                self._amend(step.channel, ruled_out="suppressed")
            case "held":
                until = self.now + 30 * SECOND if self._disturb() else self.progress.expires_at
                self._amend(step.channel, not_before=until)

    def _taken(self, channel: Channel) -> None:
        self.taken[channel] += 1
        self.sent_at.append(self.now)
        self._amend(channel, dispatched_at=self.now, not_sent=False)

    def _look_up(self, step: LookUp) -> None:
        attempt = self.progress.on(step.channel)
        self._amend(
            step.channel,
            reads=attempt.reads + 1,
            last_read=self.now,
            closing_read=attempt.closing_read or step.rule is Rule.CLOSING_READ,
            readable=self.draw(st.sampled_from([True, True, True, False])),
        )
        self.now += self.draw(DELAYS)
        if self.draw(st.booleans()):
            self._report(step.channel)

    def _wait(self, step: Wait) -> None:
        if self.draw(st.booleans()) and self._disturb():
            # A callback, perhaps for an attempt that nobody made, or the caller's second thoughts.
            self.now += self.draw(st.sampled_from([0.0, 0.5, 1.0])) * (step.until - self.now)
            if self.draw(st.sampled_from([False, False, True])):
                self.progress = self.progress.model_copy(update={"withdrawn": True})
            else:
                self._report(self.draw(st.sampled_from(self.policy.route)))
        else:
            self.now = step.until + self.draw(DELAYS)

    def _report(self, channel: Channel) -> None:
        before = self.progress.on(channel)
        seen = Observation(
            attempt_key=before.key,
            event_id="e",
            source=Source.POLL,
            status=self.draw(st.sampled_from(Status)),
            is_final=self.draw(st.booleans()),
            at=self.now,
        )
        after, moved = before.observe(seen)
        self.taken[channel] += after.state is not AttemptState.PLANNED
        assert moved.reason or after.state is moved.state
        self.progress = self.progress.replace(after)

    def _disturb(self) -> bool:
        self.disturbances -= 1
        return self.disturbances >= 0

    def _amend(self, channel: Channel, **changes: object) -> None:
        self.progress = self.progress.amend(channel, **changes)
