"""A signed token is good for one body, as often as that comes."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.providers.mailgun import OLDEST
from activities.providers.signatures import TOLERANCE
from activities.store.database import reading
from activities.store.ledger import Ledger
from activities.store.tables import tokens
from activities.store.tokens import KEPT
from tests.store.challenge_facts import digest
from tests.store.facts import NOW, after

TOKEN = "f0e1d2c3b4a5968778695a4b3c2d1e0f"
BODY, ANOTHER = digest("body"), digest("another body")


async def number_of_tokens(engine: AsyncEngine) -> int:
    async with reading(engine) as connection:
        return len((await connection.execute(select(tokens.c.token))).all())


async def test_a_token_is_good_for_one_body(ledger: Ledger) -> None:
    take = ledger.tokens.take

    assert await take("mailgun", TOKEN, BODY, at=NOW)
    assert await take("mailgun", TOKEN, BODY, at=after(minutes=1))
    assert not await take("mailgun", TOKEN, ANOTHER, at=after(minutes=1))
    assert await take("mailgun", TOKEN, BODY, at=after(minutes=2))


async def test_another_token_and_another_provider_are_free(ledger: Ledger) -> None:
    take = ledger.tokens.take
    await take("mailgun", TOKEN, BODY, at=NOW)

    assert await take("mailgun", TOKEN + "0", ANOTHER, at=NOW)
    assert await take("another", TOKEN, ANOTHER, at=NOW)


async def test_of_two_bodies_that_race_for_a_token_one_has_it(ledgers: tuple[Ledger, Ledger]) -> None:
    bodies = (BODY, ANOTHER) * 10

    took = await asyncio.gather(
        *[ledgers[n % 4 // 2].tokens.take("mailgun", TOKEN, body, at=NOW) for n, body in enumerate(bodies)]
    )

    assert {took[0::2].count(True), took[1::2].count(True)} == {0, 10}


async def test_a_token_goes_when_no_signature_with_it_could_be_believed(
    engine: AsyncEngine, ledger: Ledger
) -> None:
    assert KEPT > OLDEST + TOLERANCE  # it may be stamped ahead
    await ledger.tokens.take("mailgun", TOKEN, BODY, at=NOW)

    await ledger.tokens.take("mailgun", "second", BODY, at=NOW + KEPT)
    assert await number_of_tokens(engine) == 2
    await ledger.tokens.take("mailgun", "third", BODY, at=NOW + KEPT + timedelta(microseconds=1))
    assert await number_of_tokens(engine) == 2
    assert await ledger.tokens.take("mailgun", TOKEN, ANOTHER, at=NOW + KEPT)


@pytest.mark.parametrize("token", ["", "\0", "\ud800", "x" * 100_000], ids=["empty", "nul", "half", "long"])
async def test_a_token_may_be_any_text(ledger: Ledger, token: str) -> None:
    assert await ledger.tokens.take("mailgun", token, BODY, at=NOW)
    assert not await ledger.tokens.take("mailgun", token, ANOTHER, at=NOW)
