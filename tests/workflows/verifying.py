"""How tests put a verification, with its worlds, on an engine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count

from temporalio.client import Client, WorkflowHandle
from temporalio.worker import Worker

from tests.workflows.fakes import World
from tests.workflows.policies import SMS_FIRST
from tests.workflows.registry import RIGHT, Registry
from tests.workflows.stage import PATIENCE, soon
from workflows.hosting import FAILURES, WORKFLOWS
from workflows.policy.keys import notice_key, verification_id
from workflows.policy.verification import (
    Consumption,
    Destination,
    Facts,
    Presented,
    Resent,
    VerificationRequest,
    Verified,
)
from workflows.policy.words import Method, Outcome
from workflows.sandbox import RUNNER
from workflows.verification import Verification

_NUMBERS = count(1)

Handle = WorkflowHandle[Verification, Verified]
BY_LINK = Presented(link=RIGHT)
BACK = "https://shop.example/welcome"


def wanted(**changes: object) -> VerificationRequest:
    """Return a valid request, with some of it changed."""
    fields = {
        "account_id": "account-1",
        "purpose": "signup",
        "to": Destination(phone="+12025550182", email="anna@example.test"),
        "expires_at": datetime.now(UTC) + timedelta(minutes=10),
        "return_url": BACK,
        "method": Method.BOTH,
    }
    return VerificationRequest.model_validate(fields | changes)


@dataclass(frozen=True)
class Case:
    """One verification that runs, and its worlds."""

    client: Client
    handle: Handle
    registry: Registry
    world: World
    challenge_id: str

    def notice_key(self, number: int = 1) -> str:
        event = self.challenge_id if number == 1 else f"{self.challenge_id}.{number}"
        return notice_key("signup_verification", event, "account-1")

    async def consume(self, presented: Presented = BY_LINK, attempt: str | None = None) -> Consumption:
        return await soon(self.handle.execute_update(Verification.consume, presented, id=attempt))

    async def resend(self) -> Resent:
        return await soon(self.handle.execute_update(Verification.resend))

    async def facts(self) -> Facts:
        return await soon(self.handle.query(Verification.evidence))

    async def verified(self) -> Verified:
        return await soon(self.handle.result())

    async def ending(self, number: int = 1) -> Outcome:
        """Wait for the end of a message's notice."""
        async with asyncio.timeout(PATIENCE):
            while True:
                told = (await self.facts()).messages[number - 1 : number]
                if told and told[0].outcome:
                    return told[0].outcome
                await asyncio.sleep(0.05)

    async def opened(self) -> None:
        """Wait until the challenge is on record, and its first message on its way."""
        await soon(self.handle.execute_update(Verification.opened))


@asynccontextmanager
async def verifying(
    client: Client,
    registry: Registry | None = None,
    world: World | None = None,
    request: VerificationRequest | None = None,
) -> AsyncIterator[Case]:
    """Run a verification with a worker of its own."""
    number = next(_NUMBERS)
    registry, world = registry or Registry(), world or World(SMS_FIRST)
    queue, challenge_id = f"verifying-{number}", f"challenge-{number}"
    worker = Worker(
        client,
        task_queue=queue,
        workflows=WORKFLOWS,
        activities=[*world.activities, *registry.activities],
        workflow_runner=RUNNER,
        workflow_failure_exception_types=FAILURES,
    )
    async with worker:
        handle = await client.start_workflow(
            Verification.run,
            request or wanted(),
            id=verification_id(challenge_id),
            task_queue=queue,
        )
        yield Case(client, handle, registry, world, challenge_id)
