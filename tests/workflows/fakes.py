"""A world that does as a test says: the workflow's own interface, implemented by scripts."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import TypeVar

from temporalio import activity
from typing_extensions import override

from tests.workflows.scripts import (
    PENDING,
    UNREACHABLE,
    YES,
    Answers,
    Script,
    Views,
    Word,
    clearance,
    now,
    observation,
    submitted,
)
from workflows import calls
from workflows.policy.keys import attempt_key, attempted
from workflows.policy.terms import Policy
from workflows.policy.words import AttemptState, Channel, Outcome, Source

T = TypeVar("T")

SLACK = 15
"""Seconds: the story's clock is rounded down to these, so that a slow machine tells the same story."""


@dataclass
class World(calls.Admitting, calls.Eligibility, calls.Delivery, calls.Chronicle):
    """Scripts for each call, and a record of what was asked.

    The last entry of a script is repeated for ever. Without one, providers say pending and checks say yes.
    """

    policy: Policy
    sends: Script = field(default_factory=dict)
    looks: Views = field(default_factory=dict)
    answers: Answers = field(default_factory=dict)
    news: dict[Channel, Word] = field(default_factory=dict)
    """What the ledger has of a channel when a fallback is asked for."""
    ruled_out: dict[Channel, str] = field(default_factory=dict)
    refusal: str | None = None
    outages: dict[str, int] = field(default_factory=dict)
    """How often the call of a log line fails before it gets through; the story does not tell of it."""
    meanwhile: dict[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    """What happens, once, while the activity of that log line is at work."""

    log: list[tuple[datetime, str]] = field(default_factory=list)
    admitted: list[calls.Admit] = field(default_factory=list)
    checked: list[calls.Check] = field(default_factory=list)
    sent: list[calls.Send] = field(default_factory=list)
    looked: list[calls.LookUp] = field(default_factory=list)
    recorded: list[calls.Record] = field(default_factory=list)
    suppressed: list[calls.Suppress] = field(default_factory=list)
    closed: list[calls.Close] = field(default_factory=list)

    unclaimed: frozenset[Channel] = frozenset()
    """Attempts that the ledger has no claim of."""
    filed: AttemptState = AttemptState.SUBMITTED
    """Where the ledger has an attempt after a report."""
    stands: Outcome | None = None
    """The outcome that was on record before."""

    @override
    @activity.defn(name="admit")
    async def admit(self, call: calls.Admit) -> calls.Admission:
        self.admitted.append(call)
        await self._play("admit")
        if self.refusal:
            return calls.Admission(refusal=self.refusal)
        useful = self.policy.expires_after or timedelta(minutes=10)
        return calls.Admission(
            policy=self.policy,
            policy_digest="digest",
            expires_at=call.request.expires_at or now() + useful,
            ruled_out=self.ruled_out,
        )

    @override
    @activity.defn(name="check")
    async def check(self, call: calls.Check) -> calls.Clearance:
        self.checked.append(call)
        turn = await self._play(f"check {call.channel}")
        known = tuple(
            observation(attempt_key(call.notice_key, channel), word, Source.SEND, now(), event_id="ledger:7")
            for channel, word in self.news.items()
            if call.is_fallback
        )
        said = clearance(_said(self.answers, call.channel, turn, YES))
        return said.model_copy(update={"news": known})

    @override
    @activity.defn(name="suppress")
    async def suppress(self, call: calls.Suppress) -> None:
        self.suppressed.append(call)
        await self._play(f"suppress {call.channel}")

    @override
    @activity.defn(name="send")
    async def send(self, call: calls.Send) -> calls.Receipt:
        self.sent.append(call)
        turn = await self._play(f"send {call.channel}")
        match _said(self.sends, call.channel, turn, PENDING):
            case None:
                return calls.Receipt(dispatch=calls.Dispatch.AMBIGUOUS, provider="fake", at=now())
            case tuple() as word:
                return submitted(observation(call.attempt_key, word, Source.SEND, now()))
            case receipt:
                return receipt()

    @override
    @activity.defn(name="look_up")
    async def look_up(self, call: calls.LookUp) -> calls.Report:
        channel = attempted(call.attempt_key).channel
        if call.decision is None:
            await self._play(f"reconcile {channel}")
            return calls.Report(unclaimed=channel in self.unclaimed, at=now())
        self.looked.append(call)
        turn = await self._play(f"look_up {channel}")
        match _said(self.looks, channel, turn, PENDING):
            case None:
                return calls.Report(at=now())
            case tuple() as word:
                seen = observation(call.attempt_key, word, Source.POLL, now())
                return calls.Report(observation=seen, at=now())
            case report:
                return report()

    @override
    @activity.defn(name="record")
    async def record(self, call: calls.Record) -> calls.Filed:
        self.recorded.append(call)
        await self._play(f"record {call.observation.status}")
        return calls.Filed(state=self.filed)

    @override
    @activity.defn(name="close")
    async def close(self, call: calls.Close) -> calls.Closed:
        self.closed.append(call)
        await self._play(f"close {call.result.outcome}")
        return calls.Closed(outcome=self.stands or call.result.outcome)

    @property
    def story(self) -> str:
        """Tell what this world was asked, with the engine's seconds since the admission."""
        timed = [(int((at - self.log[0][0]).total_seconds()), line) for at, line in self.log]
        return "; ".join(
            f"{second} {_listed([line for _, line in lines])}"
            for second, lines in groupby(timed, key=lambda each: each[0] // SLACK * SLACK)
        )

    @property
    def decisions(self) -> list[calls.Decision]:
        """Return every decision that went on record, in order, without what retries repeated."""
        closings = [each.decision for each in self.closed if each.decision is not None]
        made = [
            *(each.decision for each in self.checked),
            *(each.decision for each in self.looked if each.decision is not None),
            *closings,
        ]
        return [each for _, each in sorted({each.number: each for each in made}.items())]

    @property
    def activities(self) -> list[Callable[..., Awaitable[object]]]:
        """Everything for a worker to register."""
        return [
            self.admit,
            self.check,
            self.suppress,
            self.send,
            self.look_up,
            self.record,
            self.close,
        ]

    async def _play(self, line: str) -> int:
        """Note a call and let happen what happens meanwhile; return how often it got through so far."""
        if self.outages.get(line, 0) > 0:
            self.outages[line] -= 1
            raise UNREACHABLE
        self.log.append((now(), line))
        turn = sum(line == noted for _, noted in self.log)
        happening = self.meanwhile.pop(line, None)
        if happening is not None:
            await happening()
        return turn


def _said(scripts: Mapping[Channel, Sequence[T | Exception]], channel: Channel, turn: int, otherwise: T) -> T:
    script = scripts.get(channel, (otherwise,))
    said = script[min(turn, len(script)) - 1]
    if isinstance(said, Exception):
        raise said.with_traceback(None)
    return said


def _listed(lines: list[str]) -> str:
    runs = [(line, len(list(run))) for line, run in groupby(lines)]
    return ", ".join(line if count == 1 else f"{line} x{count}" for line, count in runs)
