"""A whole deployment with its receiver, and what people and backends do with verifications."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx

from activities.hosting import open_ledger
from activities.store.ledger import Ledger
from console.engine import EngineAt, free_port
from console.stack import API_KEY, Stack, Wanted, running
from receiver.serving import Address, serving
from sandbox.fates import Fate
from tests.endtoend.scenes import until
from tests.endtoend.shop import Shop, wanted

QUICK = 1 / 20
CALM = 1 / 5
"""The email follows a silent text after fifteen seconds, and another message may be asked for after six."""
_LINK = re.compile(r"http://\S+/v/[\w-]+")
_CODE = re.compile(r"\b\d{6}\b")


_PEOPLE = count(10)


def number(fate: Fate) -> str:
    """Return the number of somebody new: limits count by number, and its last digits are its fate."""
    known = fate.number()
    return f"{known[:-4]}{next(_PEOPLE)}{known[-2:]}"


@dataclass(frozen=True)
class House:
    """A deployment with a shop beside it."""

    home: Path
    stack: Stack
    ledger: Ledger
    http: httpx.AsyncClient
    shop: Shop

    async def begin(self, account: str, phone: str, **changes: object) -> str:
        """Ask for a verification, and return its id."""
        answer = await self.http.post("/verifications", json=wanted(account, phone, **changes))  # type: ignore[arg-type]
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def told(self, challenge_id: str) -> dict[str, Any]:
        answer = await self.http.get(f"/verifications/{challenge_id}")
        facts: dict[str, Any] = answer.json()
        return facts

    async def messages(self, challenge_id: str) -> list[dict[str, str]]:
        """Return what the provider accepted for a challenge, in order."""
        async with httpx.AsyncClient(trust_env=False) as http:
            rows: list[dict[str, str]] = (await http.get(f"{self.stack.sandbox.url}/inbox.json")).json()
        mine = [each for each in rows if each["key"].startswith(f"signup_verification:{challenge_id}")]
        return sorted(mine, key=lambda each: str(each["at"]))

    async def message(self, challenge_id: str, number: int = 1) -> str:
        """Wait for the n-th message of a challenge, and return its text."""

        async def is_there() -> bool:
            return len(await self.messages(challenge_id)) >= number

        await until(is_there)
        return (await self.messages(challenge_id))[number - 1]["body"]

    async def link(self, challenge_id: str, number: int = 1) -> str:
        found = _LINK.search(await self.message(challenge_id, number))
        assert found
        return found[0]

    async def code(self, challenge_id: str) -> str:
        found = _CODE.search(await self.message(challenge_id))
        assert found
        return found[0]

    async def is_over(self, challenge_id: str) -> bool:
        """Whether a verification and each of its notices have closed."""
        facts = await self.told(challenge_id)
        return bool(facts["ended_at"]) and all(each["outcome"] for each in facts["deliveries"])


@asynccontextmanager
async def housed(
    home: Path, environ: Mapping[str, str] = MappingProxyType({}), scale: float = QUICK
) -> AsyncIterator[House]:
    """Run a deployment and a shop for the block."""
    shop_at, engine = Address(port=free_port()), EngineAt(free_port(), free_port())
    given = {"STANDBY_RETURN_URLS": shop_at.url, **environ}
    wanted_stack = Wanted(home, engine, scale=scale, receiver_port=free_port(), environ=given)
    async with running(wanted_stack) as stack, open_ledger(stack.settings) as ledger:
        bearer = {"Authorization": f"Bearer {(home / API_KEY).read_text().strip()}"}
        async with httpx.AsyncClient(
            base_url=stack.settings.public_url or "", headers=bearer, trust_env=False
        ) as http:
            shop = Shop(http, shop_at.url)
            async with serving(shop.app(), shop_at):
                yield House(home, stack, ledger, http, shop)
