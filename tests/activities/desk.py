"""A worker's part in verifications, and the wish that every test of it begins with."""

from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from temporalio.testing import ActivityEnvironment

from activities.admission import DEPLOYED_BY
from activities.catalogue import Catalogue
from activities.challenge import Secrets, Seed, derive, digests
from activities.challenging import LedgerChallenging
from activities.keyring import Keyring
from activities.settings import Settings
from activities.store.challenge_rows import ChallengeRow, DeliveryRow
from activities.store.ledger import Ledger
from tests.activities.given import KEYRING, NOW, SHIPPED, after, engine
from workflows.challenge_calls import (
    Ask,
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
from workflows.policy.controls import Control, Switch
from workflows.policy.terms import Policy
from workflows.policy.verification import Destination, Presented, VerificationRequest
from workflows.policy.words import ChallengeState, Method

KIND = SHIPPED.get("signup_verification")
RETURN = "https://shop.example/welcome"
SETTINGS = Settings(public_url="https://verify.example", return_urls=(RETURN,))
ID = "challenge-0001"
SOON, LATE = after(minutes=1), after(minutes=9)
PHONE, ABROAD = "+12025550182", "+4915112345678"
BOTH = Destination(email="Ana@example.test", phone=PHONE)
EMAIL_ONLY, PHONE_ONLY = Destination(email="ana@example.test"), Destination(phone=PHONE)


def wish(**changes: object) -> VerificationRequest:
    facts = {"account_id": "acc 1", "purpose": "signup", "to": BOTH, "method": Method.BOTH}
    return VerificationRequest.model_validate({**facts, "expires_at": after(minutes=10), **changes})


@dataclass(frozen=True)
class Desk:
    """A worker's part in verifications."""

    ledger: Ledger
    catalogue: Catalogue = SHIPPED
    keyring: Keyring = KEYRING
    settings: Settings = SETTINGS

    @property
    def part(self) -> LedgerChallenging:
        return LedgerChallenging(self.catalogue, self.ledger, self.keyring, self.settings)

    async def open(
        self,
        request: VerificationRequest | None = None,
        name: str = ID,
        *,
        chain: str = "chain-1",
        at: datetime = NOW,
        attempt: int = DEPLOYED_BY,
    ) -> Opening:
        call = Open(request=request or wish(), challenge_id=name, chain=chain)
        return await on_try(attempt, at).run(self.part.open, call)

    async def ask(
        self,
        asked_id: str = "ask-1",
        *,
        request: VerificationRequest | None = None,
        at: datetime = SOON,
        automatic: bool = False,
        name: str = ID,
        attempt: int = 1,
    ) -> Granted:
        call = Ask(request=request or wish(), challenge_id=name, asked_id=asked_id, is_automatic=automatic)
        return await on_try(attempt, at).run(self.part.ask, call)

    async def seek(self, *, attempt: int = 1) -> Sought:
        _, message = await self.record()
        return await on_try(attempt, SOON).run(self.part.seek, Seek(notice_key=message.notice_key))

    async def consume(
        self,
        presented: Presented,
        attempt_id: str = "try-1",
        *,
        at: datetime = SOON,
        name: str = ID,
    ) -> Tried:
        call = Consume(challenge_id=name, presented=presented, attempt_id=attempt_id)
        return await engine(at).run(self.part.consume, call)

    async def end(self, state: ChallengeState, *, at: datetime = LATE) -> Ended:
        return await engine(at).run(self.part.end, End(challenge_id=ID, state=state))

    async def record(self, name: str = ID) -> tuple[ChallengeRow, DeliveryRow]:
        found = await self.ledger.challenges.of_message(name)
        assert found is not None
        return found

    async def secrets(self) -> Secrets:
        """Return what the person is sent."""
        row, _ = await self.record()
        return derive(self.keyring, Seed(row.key_id, row.nonce), digits=row.code_digits)

    async def right(self) -> Presented:
        return digests(self.keyring, ID, await self.secrets())

    async def set(self, switch: Switch, *, on: bool) -> None:
        await self.ledger.controls.put(switch, Control(on=on), by="ops", why="test", at=NOW)


def on_try(attempt: int, at: datetime) -> ActivityEnvironment:
    env = engine(at)
    env.info = replace(env.info, attempt=attempt)
    return env


def edited(**changes: object) -> Catalogue:
    """Return the shipped kinds as they are once somebody has edited the terms of the challenge."""
    assert KIND.policy.challenge is not None
    terms = KIND.policy.challenge.model_copy(update=changes)
    return with_policy(KIND.policy.model_copy(update={"challenge": terms}))


def with_policy(policy: Policy) -> Catalogue:
    kind = replace(KIND, policy=policy, digest="edited")
    return Catalogue(MappingProxyType({**SHIPPED.kinds, KIND.name: kind}))


WITHOUT = Catalogue(MappingProxyType({"password_reset": SHIPPED.get("password_reset")}))
"""What a worker of yesterday knows."""
