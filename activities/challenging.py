"""Keeps challenges: made once, consumed once, and every message for them counted.

An error of the ledger, and a kind or a key that this worker has not got, are raised, and the engine tries
again; until then nothing is sent and nothing is consumed.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from typing_extensions import override

from activities import opening
from activities.admission import left_to_others
from activities.catalogue import Catalogue, UnknownKind
from activities.clock import EngineClock
from activities.keyring import Keyring
from activities.metrics import NOTHING, OTHER_KIND, Meters
from activities.minting import Mint
from activities.opening import Door, RefusedError, Wanted
from activities.settings import Settings
from activities.store.challenge_rows import ChallengeRow, DeliveryRow
from activities.store.challenges import Duplicate
from activities.store.errors import Missing
from activities.store.ledger import Ledger
from activities.transitions import tried
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
from workflows.policy.terms import ChallengeTerms
from workflows.policy.verification import Denial
from workflows.policy.words import ChallengeState

DUPLICATE: Final = (
    "duplicate: a verification with this challenge_id is on record already; an id is used once, for ever"
)

BEGUN_BY: Final = 4
"""Tries, over seven seconds, by which a notice that was begun a moment ago is on record."""


@dataclass(frozen=True, slots=True)
class LedgerChallenging(Challenging):
    """Decides on fresh facts, and writes what follows in the same transaction."""

    catalogue: Catalogue
    ledger: Ledger
    keyring: Keyring
    settings: Settings
    meters: Meters = NOTHING

    @override
    @activity.defn(name="open_challenge")
    async def open(self, call: Open) -> Opening:
        answer = await self._judge(call, EngineClock().now())
        if answer.refusal is not None:
            self._count(call.request.kind, ChallengeState.REFUSED)
        return answer

    async def _judge(self, call: Open, now: datetime) -> Opening:
        # The first opening holds, whatever the kind's files say since.
        standing = await self.ledger.challenges.of_message(call.challenge_id)
        if standing is not None:
            return self._opened(call, *standing)
        try:
            wanted = Door(self.catalogue, self.settings).judge(call, now)
        except UnknownKind as error:
            return Opening(refusal=left_to_others(error))
        except RefusedError as error:
            return Opening(refusal=str(error))
        return await self._put_on_record(call, wanted, now)

    @override
    @activity.defn(name="ask_for_message")
    async def ask(self, call: Ask) -> Granted:
        answer = await self._grant(call, EngineClock().now())
        if answer.denial is not None:
            self._count(call.request.kind, "denied")
        return answer

    async def _grant(self, call: Ask, now: datetime) -> Granted:
        terms = self._terms(call.request.kind)
        if terms is None:
            return Granted(denial=Denial.UNKNOWN_KIND)
        row, first = await self._found(call.challenge_id)
        open_to = opening.still_open(first, call.request, terms)
        if open_to is None:
            return Granted(denial=Denial.SWITCHED_OFF)
        controls = await self.ledger.controls.read()
        answer = await self.ledger.challenges.ask(
            call.challenge_id,
            call.asked_id,
            terms,
            controls.automatic_resend if call.is_automatic else controls.resend,
            is_automatic=call.is_automatic,
            at=now,
        )
        if not isinstance(answer, DeliveryRow):
            denial, again_at = answer
            return Granted(denial=denial, again_at=again_at)
        if answer.asked_at == now:
            # A retry gets the message of its first run, which was asked for then.
            self._count(call.request.kind, "resent")
        notice = opening.message(open_to, answer, row.expires_at)
        return Granted(notice=notice, number=answer.number)

    @override
    @activity.defn(name="seek_message")
    async def seek(self, call: Seek) -> Sought:
        # Only what carries the challenge to where it was asked for is ever admitted under its key.
        is_ours = await self.ledger.notices.terms(call.notice_key) is not None
        if not is_ours and activity.info().attempt < BEGUN_BY:
            raise ApplicationError("not yet on record", category=ApplicationErrorCategory.BENIGN)
        return Sought(is_ours=is_ours)

    @override
    @activity.defn(name="consume_challenge")
    async def consume(self, call: Consume) -> Tried:
        now = EngineClock().now()
        row = await self.ledger.challenges.find(call.challenge_id)
        if row is None:
            return Tried(consumed=False, state=ChallengeState.REFUSED, at=now)
        # Before anything is consumed, so that whoever succeeds is told so.
        result = Mint(self.keyring).result(row)
        trial = await self.ledger.challenges.consume(
            call.challenge_id, call.presented, call.attempt_id, at=now
        )
        if trial is None:
            raise _missing(call.challenge_id)
        tried(self.meters, row.kind, trial)
        return Tried(
            consumed=trial.consumed, state=trial.state, result=result if trial.consumed else None, at=now
        )

    @override
    @activity.defn(name="end_challenge")
    async def end(self, call: End) -> Ended:
        now = EngineClock().now()
        row = await self.ledger.challenges.end(call.challenge_id, call.state, at=now)
        if row is None:
            return Ended(state=call.state)
        if row.ended_at == now:
            self._count(row.kind, row.state)
        return Ended(state=row.state, consumed_at=row.consumed_at)

    async def _put_on_record(self, call: Open, wanted: Wanted, now: datetime) -> Opening:
        mint = Mint(self.keyring)
        made = mint.challenge(call, wanted, now)
        answer = await self.ledger.challenges.open(made, mint.destinations(wanted), wanted.terms, at=now)
        match answer:
            case ChallengeRow():
                if answer is made:
                    self._count(made.kind, "opened")
                return self._opened(call, *await self._found(call.challenge_id))
            case Duplicate():
                return Opening(refusal=DUPLICATE)
            case denial, again_at:
                return Opening(refusal=denial.value, again_at=again_at)

    def _opened(self, call: Open, row: ChallengeRow, first: DeliveryRow) -> Opening:
        """Answer for a challenge on record: a retry and a reset go on, anyone else is too late."""
        if row.chain != call.chain:
            return Opening(refusal=DUPLICATE)
        kept = {"code_digits": row.code_digits, "wrong_codes": row.wrong_codes}
        return Opening(
            terms=(self._terms(call.request.kind) or ChallengeTerms()).model_copy(update=kept),
            expires_at=row.expires_at,
            created_at=row.created_at,
            notice=opening.message(call.request, first, row.expires_at),
        )

    def _count(self, kind: str, event: str) -> None:
        self.meters.challenges.add(kind if kind in self.catalogue.kinds else OTHER_KIND, event)

    async def _found(self, challenge_id: str) -> tuple[ChallengeRow, DeliveryRow]:
        """Return a challenge and its first message, whose event has the challenge's id; raises Missing."""
        found = await self.ledger.challenges.of_message(challenge_id)
        if found is None:
            raise _missing(challenge_id)
        return found

    def _terms(self, name: str) -> ChallengeTerms | None:
        """Return the terms of today; None where no worker has any, ApplicationError while another may."""
        try:
            terms = self.catalogue.get(name).policy.challenge
        except UnknownKind as error:
            left_to_others(error)
            return None
        if terms is None:
            left_to_others(UnknownKind(opening.NO_CHALLENGE))
        return terms


def _missing(challenge_id: str) -> Missing:
    return Missing(f"ledger: there is no verification {challenge_id}")
