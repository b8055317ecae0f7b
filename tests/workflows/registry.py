"""Challenges kept in memory: the interface of a verification, implemented by a script."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from temporalio import activity
from typing_extensions import override

from tests.workflows.scripts import now
from workflows.challenge_calls import (
    Ask,
    Challenging,
    Consume,
    End,
    Ended,
    Granted,
    Open,
    Opening,
    Seek,
    Sought,
    Tried,
)
from workflows.policy.keys import delivery_event
from workflows.policy.models import NoticeRequest, Recipient
from workflows.policy.resend import Denied
from workflows.policy.terms import ChallengeTerms
from workflows.policy.verification import VerificationRequest
from workflows.policy.words import ChallengeState

RIGHT, WRONG = "a" * 64, "b" * 64
"""Digests of what may be presented."""
RESULT = "opaque"


@dataclass
class Registry(Challenging):
    """One challenge; asking for another message is denied for each entry of `denials`, then granted."""

    terms: ChallengeTerms = field(default_factory=ChallengeTerms)
    life: timedelta = timedelta(minutes=10)
    refusal: str | None = None
    denials: list[Denied] = field(default_factory=list)
    meanwhile: dict[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    """What happens, once, while the call of that name is at work."""

    calls: list[str] = field(default_factory=list)
    opened: list[Open] = field(default_factory=list)
    asked: list[Ask] = field(default_factory=list)
    tried: dict[str, bool] = field(default_factory=dict)
    state: ChallengeState = ChallengeState.ACTIVE
    expires_at: datetime | None = None
    consumed_at: datetime | None = None
    sent: int = 0
    is_ours: bool = True
    """Whether a notice that was there before is the message."""
    sought: list[str] = field(default_factory=list)

    @override
    @activity.defn(name="open_challenge")
    async def open(self, call: Open) -> Opening:
        self.opened.append(call)
        await self._play("open")
        if self.refusal is not None:
            return Opening(refusal=self.refusal)
        self.expires_at = now() + self.life
        return Opening(
            terms=self.terms,
            expires_at=self.expires_at,
            created_at=now(),
            notice=self._message(call.request, call.challenge_id),
        )

    @override
    @activity.defn(name="ask_for_message")
    async def ask(self, call: Ask) -> Granted:
        self.asked.append(call)
        await self._play("ask")
        if self.denials:
            denial, again_at = self.denials.pop(0)
            return Granted(denial=denial, again_at=again_at)
        notice = self._message(call.request, call.challenge_id)
        return Granted(notice=notice, number=self.sent)

    @override
    @activity.defn(name="seek_message")
    async def seek(self, call: Seek) -> Sought:
        self.sought.append(call.notice_key)
        return Sought(is_ours=self.is_ours)

    @override
    @activity.defn(name="consume_challenge")
    async def consume(self, call: Consume) -> Tried:
        await self._play("consume")
        if call.attempt_id not in self.tried:
            in_time = self.expires_at is not None and now() < self.expires_at
            self.tried[call.attempt_id] = self.state is ChallengeState.ACTIVE and in_time and self._try(call)
        consumed = self.tried[call.attempt_id]
        return Tried(consumed=consumed, state=self.state, result=RESULT if consumed else None, at=now())

    @override
    @activity.defn(name="end_challenge")
    async def end(self, call: End) -> Ended:
        await self._play("end")
        if self.state is ChallengeState.ACTIVE:
            self.state = call.state
        return Ended(state=self.state, consumed_at=self.consumed_at)

    @property
    def activities(self) -> list[Callable[..., Awaitable[object]]]:
        """Everything for a worker to register."""
        return [self.open, self.ask, self.seek, self.consume, self.end]

    def _try(self, call: Consume) -> bool:
        if RIGHT in {call.presented.link, call.presented.code}:
            self.state, self.consumed_at = ChallengeState.CONSUMED, now()
            return True
        if len(self.tried) + 1 >= self.terms.wrong_codes:
            self.state = ChallengeState.DEAD
        return False

    def _message(self, request: VerificationRequest, challenge_id: str) -> NoticeRequest:
        self.sent += 1
        to = Recipient(
            id=request.account_id, email=request.to.email, phone=request.to.phone, sms_consent=True
        )
        return NoticeRequest(
            kind=request.kind,
            event_id=delivery_event(challenge_id, self.sent),
            recipient=to,
            expires_at=self.expires_at,
        )

    async def _play(self, call: str) -> None:
        self.calls.append(call)
        happening = self.meanwhile.pop(call, None)
        if happening is not None:
            await happening()
