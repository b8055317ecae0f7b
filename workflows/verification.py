"""The workflow "Verification": the life of one challenge, which nothing but consuming it proves."""

import asyncio
from datetime import datetime

from temporalio import workflow

from workflows import challenging
from workflows.challenge_calls import Opening
from workflows.messages import Messages
from workflows.policy import verification_telling as telling
from workflows.policy.keys import challenge_of, verification_id
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
        self._challenge_id, self._refusal = _named(self._request, workflow.info().workflow_id)
        self._state = ChallengeState.REFUSED if self._refusal else ChallengeState.ACTIVE
        self._opening: Opening | None = None
        self._consumed_at: datetime | None = None
        self._turn = asyncio.Lock()
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
        await workflow.wait_condition(lambda: self._opening is not None or self._refusal is not None)
        expires_at = self._opening.expires_at if self._opening else None
        return Opened(challenge_id=self._challenge_id, refusal=self._refusal, expires_at=expires_at)

    @workflow.update
    async def consume(self, presented: Presented) -> Consumption:
        """Try a secret, by its digest: of all who ever try exactly one succeeds."""
        brought = Presented.model_validate(presented)
        update = workflow.current_update_info()
        await workflow.wait_condition(lambda: self._has_begun)
        async with self._turn:
            if update is None or not self._is_active:
                return NOT_CONSUMED
            tried = await challenging.consume(self._challenge_id, brought, update.id)
            if tried.consumed:
                self._consumed_at = tried.at
            self._settle(tried.state)
            if not tried.consumed:
                return NOT_CONSUMED
        return Consumption(consumed=True, result=tried.result, return_url=self._request.return_url)

    @workflow.update
    async def resend(self) -> Resent:
        """Send another message for the same challenge, because a person asked."""
        update = workflow.current_update_info()
        await workflow.wait_condition(lambda: self._has_begun)
        async with self._turn:
            if update is None or not self._is_active:
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

    def _settle(self, state: ChallengeState) -> None:
        """Move on from active, once."""
        if self._is_active:
            self._state = state
        self._show()

    def _show(self) -> None:
        workflow.set_current_details(telling.details(self.evidence()))

    async def _see_through(self) -> Verified:
        self._show()
        if self._refusal is None:
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
        opening = await challenging.open_challenge(self._request, self._challenge_id)
        if opening.notice is None:
            # Withdrawn meanwhile or not: there is no challenge.
            self._refusal, self._state = opening.refusal or "not opened", ChallengeState.REFUSED
            return
        self._opening = opening
        if self._is_active:
            await self._deliver(opening.notice)

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
        async with self._turn:
            if not self._is_active:
                return
            answer = await self._ask(unasked.ask(), is_automatic=True)
        if not answer.accepted:
            unasked.denied(workflow.now(), answer.again_at)

    async def _ask(self, asked_id: str, *, is_automatic: bool) -> Resent:
        granted = await challenging.ask(
            self._request, self._challenge_id, asked_id, is_automatic=is_automatic
        )
        if granted.notice is None:
            return Resent(accepted=False, reason=granted.denial, again_at=granted.again_at)
        if not self._is_active:
            # It was counted, and the challenge is over: nothing is sent for it.
            return Resent(accepted=False, reason=Denial.OVER)
        await self._deliver(granted.notice)
        return Resent(accepted=True)

    async def _deliver(self, notice: NoticeRequest) -> None:
        await self._messages.deliver(notice)
        if not self._is_active:
            await self._messages.withdraw()  # it began after the others were withdrawn
        self._show()

    async def _close(self) -> Verified:
        """Answer everybody who still waits, and tell how it ended."""
        self._show()
        await workflow.wait_condition(workflow.all_handlers_finished)
        return Verified(
            challenge_id=self._challenge_id,
            state=self._state,
            reason=self._refusal,
            created_at=self._opening.created_at if self._opening else None,
            deliveries=len(self._messages.told),
            delivered=self._messages.outcome,
            consumed_at=self._consumed_at,
            ended_at=workflow.now(),
        )


def _named(request: VerificationRequest, workflow_id: str) -> tuple[str, str | None]:
    """Return the challenge that a workflow is about, and why it is none; its id may leave it out."""
    try:
        challenge_id = challenge_of(workflow_id)
    except ValueError as error:
        return request.challenge_id or "", f"workflow id: {error}"
    if request.challenge_id not in {None, challenge_id}:
        return challenge_id, f"workflow id: must be {verification_id(request.challenge_id or '')}"
    return challenge_id, None
