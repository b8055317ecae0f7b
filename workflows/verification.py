"""The workflow "Verification": the life of one challenge, which nothing but consuming it proves."""

import asyncio
from datetime import datetime

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from workflows import challenging
from workflows.challenge_calls import Ask, Consume, Opening
from workflows.messages import Messages
from workflows.policy import verification_telling as telling
from workflows.policy.models import NoticeRequest
from workflows.policy.unasked import Unasked
from workflows.policy.verification import (
    Consumption,
    Denial,
    Facts,
    Opened,
    Presented,
    Resent,
    VerificationRequest,
    Verified,
    named,
)
from workflows.policy.words import ChallengeState

NOT_CONSUMED = Consumption(consumed=False)


@workflow.defn(name="Verification")
class Verification:
    """Gives one challenge to one person, and takes it back once."""

    @workflow.init
    def __init__(self, request: VerificationRequest) -> None:
        # Null is decoded without its type; a ValidationError ends the workflow, others would hang it.
        self._request = VerificationRequest.model_validate(request)
        self._challenge_id, refusal = named(self._request, workflow.info().workflow_id)
        self._state = ChallengeState.REFUSED if refusal else ChallengeState.ACTIVE
        self._opening = Opening(refusal=refusal) if refusal else None
        self._consumed_at: datetime | None = None
        self._turn = asyncio.Lock()
        # Apart: a message that cannot be judged must not keep anybody from consuming.
        self._asking = asyncio.Lock()
        self._messages = Messages(closed=self._show)

    @workflow.run
    async def run(self, request: VerificationRequest) -> Verified:  # noqa: ARG002 - __init__ has it
        """See the challenge through; cancelling the workflow withdraws it."""
        life = asyncio.ensure_future(self._see_through())
        try:
            return await asyncio.shield(life)
        except asyncio.CancelledError:
            if life.done():
                raise
            self.withdraw()
            return await life

    @workflow.update
    async def opened(self) -> Opened:
        """Say whether it has begun, as soon as that is known."""
        await workflow.wait_condition(lambda: self._opening is not None)
        said = self._opening or Opening()
        return Opened(
            challenge_id=self._challenge_id,
            refusal=said.refusal,
            again_at=said.again_at,
            expires_at=said.expires_at,
        )

    @workflow.update
    async def consume(self, presented: Presented) -> Consumption:
        """Try a secret, by its digest: of all who ever try exactly one succeeds."""
        brought = Presented.model_validate(presented)
        update = workflow.current_update_info()
        await workflow.wait_condition(lambda: self._has_begun)
        async with self._turn:
            expires_at = self._open_until
            if update is None or expires_at is None:
                return NOT_CONSUMED
            trial = Consume(challenge_id=self._challenge_id, presented=brought, attempt_id=update.id)
            tried = await challenging.consume(trial, expires_at)
            if tried is None:
                return NOT_CONSUMED
            if tried.consumed:
                self._consumed_at = tried.at
            self._settle(tried.state)
            if not tried.consumed:
                return NOT_CONSUMED
        return Consumption(consumed=True, result=tried.result, return_url=self._request.return_url)

    @consume.validator
    def _demand_a_chance(self, presented: Presented) -> None:
        """Refuse what cannot consume, before it costs the history anything."""
        brought = Presented.model_validate(presented)
        if not self._is_active or not brought.suits(self._request.method):
            raise ApplicationError("not consumed", type="NotConsumed")

    @workflow.update
    async def resend(self) -> Resent:
        """Send another message for the same challenge, because a person asked."""
        update = workflow.current_update_info()
        await workflow.wait_condition(lambda: self._has_begun)
        async with self._asking:
            if update is None:
                return Resent(accepted=False, reason=Denial.OVER)
            return await self._ask(update.id, is_automatic=False)

    @workflow.signal
    def withdraw(self) -> None:
        """End the challenge: the caller no longer needs it."""
        self._settle(ChallengeState.WITHDRAWN)

    @workflow.query
    def evidence(self) -> Facts:
        """Tell the four facts, without personal data."""
        opening = self._opening or Opening()
        return Facts(
            challenge_id=self._challenge_id,
            state=self._state,
            reason=opening.refusal,
            created_at=opening.created_at,
            expires_at=opening.expires_at,
            messages=self._messages.told,
            consumed_at=self._consumed_at,
        )

    @property
    def _has_begun(self) -> bool:
        return self._opening is not None or not self._is_active

    @property
    def _is_active(self) -> bool:
        return self._state is ChallengeState.ACTIVE

    @property
    def _open_until(self) -> datetime | None:
        return self._opening.expires_at if self._opening and self._is_active else None

    def _settle(self, state: ChallengeState) -> None:
        """Move on from active, once."""
        if self._is_active:
            self._state = state
        self._show()

    def _show(self) -> None:
        workflow.set_current_details(telling.details(self.evidence()))

    async def _see_through(self) -> Verified:
        self._show()
        if self._opening is None:
            await self._open()
        opening = self._opening
        if opening is None or opening.terms is None or opening.expires_at is None:
            return await self._close()
        await self._watch(Unasked(opening.terms.automatic_resend_after), opening.expires_at)
        await self._messages.withdraw()
        await workflow.wait_condition(workflow.all_handlers_finished)
        await self._messages.ended()
        ended = await challenging.end(self._challenge_id, self._state)
        # The ledger's word stands: of several runs one may have consumed what another saw expire.
        self._state, self._consumed_at = ended.state, ended.consumed_at
        return await self._close()

    async def _open(self) -> None:
        opening = self._opening = await challenging.open_challenge(self._request, self._challenge_id)
        if opening.notice is None:
            # Withdrawn meanwhile or not: there is no challenge.
            self._state = ChallengeState.REFUSED
        elif self._is_active:
            await self._deliver(opening.notice, number=1)

    async def _watch(self, unasked: Unasked, expires_at: datetime) -> None:
        """Wait until the challenge is over; only where the policy says so is anything sent unasked."""
        while self._is_active and workflow.now() < expires_at:
            due = unasked.due(self._messages.last_at)
            await self._pause(min(due or expires_at, expires_at))
            if due is not None and due <= workflow.now() < expires_at:
                await self._ask_unasked(unasked)
        self._settle(ChallengeState.EXPIRED)

    async def _pause(self, until: datetime) -> None:
        last_at = self._messages.last_at
        try:
            await workflow.wait_condition(
                lambda: not self._is_active or self._messages.last_at != last_at,
                timeout=until - workflow.now(),
                timeout_summary=telling.pause(until),
            )
        except TimeoutError:
            return

    async def _ask_unasked(self, unasked: Unasked) -> None:
        async with self._asking:
            if not self._is_active:
                return
            answer = await self._ask(unasked.ask(), is_automatic=True)
        if not answer.accepted:
            unasked.denied(workflow.now(), answer.again_at)

    async def _ask(self, asked_id: str, *, is_automatic: bool) -> Resent:
        expires_at = self._open_until
        if expires_at is None:
            return Resent(accepted=False, reason=Denial.OVER)
        call = Ask(
            request=self._request,
            challenge_id=self._challenge_id,
            asked_id=asked_id,
            is_automatic=is_automatic,
        )
        granted = await challenging.ask(call, expires_at)
        if granted.notice is None:
            return Resent(accepted=False, reason=granted.denial, again_at=granted.again_at)
        if not self._is_active:
            # It was counted, and the challenge is over: nothing is sent for it.
            return Resent(accepted=False, reason=Denial.OVER)
        await self._deliver(granted.notice, granted.number)
        return Resent(accepted=True)

    async def _deliver(self, notice: NoticeRequest, number: int) -> None:
        await self._messages.deliver(notice, number)
        if not self._is_active:
            await self._messages.withdraw()  # it began after the others were withdrawn
        self._show()

    async def _close(self) -> Verified:
        """Answer everybody who still waits, and tell how it ended."""
        self._show()
        await workflow.wait_condition(workflow.all_handlers_finished)
        opening = self._opening or Opening()
        return Verified(
            challenge_id=self._challenge_id,
            state=self._state,
            reason=opening.refusal,
            again_at=opening.again_at,
            created_at=opening.created_at,
            deliveries=len(self._messages.told),
            delivered=self._messages.outcome,
            consumed_at=self._consumed_at,
            ended_at=workflow.now(),
        )
