"""One notice on a ledger in PostgreSQL, end to end."""

import os
from collections.abc import Iterator

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from activities.store.database import new_engine
from sandbox.fates import Fate
from tests.endtoend.deployment import Town, send
from tests.endtoend.scenes import notice
from tests.postgres import REQUIRED, NoPostgresError, server
from workflows.policy.words import AttemptState, Channel, Outcome, Phase


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    try:
        with server() as url:
            yield url
    except NoPostgresError as missing:
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(str(missing))
        pytest.skip(str(missing))


@pytest.fixture
async def ledger_url(postgres: str) -> str:
    """Return a database of its own."""
    name = f"standby_endtoend_{os.getpid()}"
    engine = new_engine(postgres).execution_options(isolation_level="AUTOCOMMIT")
    async with engine.connect() as connection:
        await connection.execute(text(f"CREATE DATABASE {name}"))
    await engine.dispose()
    return make_url(postgres).set(database=name).render_as_string(hide_password=False)


async def test_a_bounced_email_leads_to_a_text_on_a_ledger_in_postgresql(town: Town, ledger_url: str) -> None:
    async with town.deployment(ledger_url=ledger_url) as manner, manner.worker() as client:
        request = notice("postgresql", Fate.BOUNCED, Fate.DELIVERED)
        left = await manner.ending(await send(client, manner, request))

    assert left.submissions == [("email", "accepted"), ("sms", "accepted")]
    assert (left.result.outcome, left.result.channel) == (Outcome.DELIVERED, Channel.SMS)
    assert (left.story.phase, left.story.outcome) == (Phase.CLOSED, Outcome.DELIVERED)
    assert left.attempt(Channel.EMAIL).state is AttemptState.FAILED
    assert left.attempt(Channel.SMS).state is AttemptState.CONFIRMED
