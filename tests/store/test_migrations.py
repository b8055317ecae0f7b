import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

import activities.store
from activities.store.database import new_engine, reading, writing
from activities.store.engine import open_engine
from activities.store.errors import StoreError, Unmigrated
from activities.store.ledger import Ledger
from activities.store.migrate import Migration, _config, is_current, migrate
from activities.store.schema import metadata
from tests.store.challenge_facts import challenge, opened
from tests.store.conftest import Databases
from tests.store.facts import NOW, admit, report
from workflows.policy.controls import Control, Controls
from workflows.policy.keys import attempt_digest
from workflows.policy.words import Status

ROOT = Path(__file__).parents[2]
SCRIPTS = ScriptDirectory(str(Path(activities.store.__file__).parent / "migrations"))
HEAD = SCRIPTS.get_current_head()


async def test_a_new_ledger_is_migrated_and_a_migrated_one_is_left_alone(databases: Databases) -> None:
    url = await databases.empty()

    assert await migrate(url) == Migration(None, str(HEAD))
    assert await migrate(url) == Migration(str(HEAD), str(HEAD))


async def test_migrations_in_one_process_take_turns(databases: Databases) -> None:
    url, other = await databases.empty(), await databases.empty()

    done = await asyncio.gather(*[migrate(each) for each in (url, other) * 2])

    assert sorted(each.changed for each in done) == [False, False, True, True]


_MIGRATE = """
import asyncio, sys
from activities.store.migrate import migrate
input()
print(asyncio.run(migrate(sys.argv[1])).changed)
"""


async def test_migrations_in_two_processes_take_turns(databases: Databases) -> None:
    url = await databases.empty()
    started = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", _MIGRATE, url, cwd=ROOT, stdin=PIPE, stdout=PIPE, stderr=PIPE
        )
        for _ in range(2)
    ]

    said = await asyncio.gather(*[each.communicate(b"go\n") for each in started])

    assert sorted(said) == [(b"False\n", b""), (b"True\n", b"")]


async def test_a_migration_that_dies_leaves_the_ledger_empty(databases: Databases) -> None:
    url = await databases.empty()
    engine = new_engine(url)
    async with writing(engine) as connection:
        await connection.execute(text("CREATE TABLE decisions (in_the_way INTEGER)"))

    with pytest.raises(Exception, match="refused a statement"):
        await migrate(url)

    async with writing(engine) as connection:
        await connection.execute(text("DROP TABLE decisions"))
    await engine.dispose()
    assert await migrate(url) == Migration(None, str(HEAD))


async def test_the_migrations_make_the_tables_that_the_code_uses(engine: AsyncEngine) -> None:
    def differences(connection: Connection) -> list[Any]:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return list(compare_metadata(context, metadata))

    async with reading(engine) as connection:
        assert await connection.run_sync(differences) == []


async def test_a_ledger_without_tables_is_not_current(databases: Databases) -> None:
    engine = new_engine(await databases.empty())

    assert not await is_current(engine)
    await engine.dispose()


async def test_a_ledger_without_tables_cannot_be_opened(databases: Databases) -> None:
    with pytest.raises(Unmigrated, match=r"has not been migrated; run: standby migrate$"):
        await open_engine(await databases.empty())


async def test_a_statement_on_a_ledger_without_tables_says_what_to_run(databases: Databases) -> None:
    engine = new_engine(await databases.empty())

    with pytest.raises(Unmigrated, match="run: standby migrate"):
        await admit(Ledger(engine))
    await engine.dispose()


async def test_a_newer_ledger_serves_older_code_and_is_left_as_it_is(databases: Databases) -> None:
    url = await databases.empty()
    await migrate(url)
    engine = await open_engine(url)
    async with writing(engine) as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))

    assert await is_current(engine)
    assert await migrate(url) == Migration("9999", "9999")
    await engine.dispose()


async def older(engine: AsyncEngine, revision: str, statements: str) -> None:
    """Make a ledger as an older release left it, with rows."""

    def upgrade(connection: Connection) -> None:
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)

    async with writing(engine) as connection:
        await connection.run_sync(upgrade)
        for statement in statements.split(";"):
            await connection.exec_driver_sql(statement)


async def test_attempts_of_an_older_ledger_are_named_by_their_digests(databases: Databases) -> None:
    url = await databases.empty()
    engine = new_engine(url)
    await older(engine, "0001", _OLDER)

    assert await migrate(url) == Migration("0001", str(HEAD))

    found = Ledger(engine).attempts.whose("sandbox", digest=attempt_digest("k:e:u:email:1"), provider_id=None)
    assert await found == "k:e:u:email:1"
    await engine.dispose()


_OLDER = """
INSERT INTO policies (digest, terms) VALUES ('d', '{}');
INSERT INTO notices (key, kind, event_id, recipient_id, chain, policy_digest, route, phase, expires_at, reads,
created_at, version) VALUES ('k:e:u', 'k', 'e', 'u', 'c', 'd', '[]', 'queued', '2026-01-01T00:00:00Z', 0,
'2026-01-01T00:00:00Z', 0);
INSERT INTO attempts (key, notice_key, channel, number, provider, state, is_final, dispatches, version)
VALUES ('k:e:u:email:1', 'k:e:u', 'email', 1, 'sandbox', 'ambiguous', FALSE, 1, 1)
"""


async def test_a_ledger_from_before_verifications_keeps_its_rows_and_takes_new_ones(
    databases: Databases,
) -> None:
    url = await databases.empty()
    engine = new_engine(url)
    await older(engine, "0002", _OLDER + _SET)

    assert await migrate(url) == Migration("0002", str(HEAD))

    ledger = Ledger(engine)
    assert await ledger.controls.read() == Controls(dispatch=Control(percent=10))
    story = await ledger.story("k:e:u")
    assert story is not None
    assert [each.key for each in story.attempts] == ["k:e:u:email:1"]
    assert await opened(ledger) == challenge()
    seen = report(Status.PENDING, key="k:e:u:email:1")
    assert await ledger.strays.put("sandbox", seen, provider_id="id-1", event_id="event-1", at=NOW)
    assert await ledger.tokens.take("mailgun", "token", "body", at=NOW)
    await engine.dispose()


_SET = """;
INSERT INTO controls (name, is_on, percent, changed_at, changed_by, why)
VALUES ('dispatch', TRUE, 10, '2026-01-01T00:00:00Z', 'ops', 'canary')
"""


@pytest.mark.parametrize(
    "statement", ["UPDATE control_changes SET why = 'other'", "DELETE FROM control_changes"]
)
async def test_the_history_of_controls_is_not_rewritten(engine: AsyncEngine, statement: str) -> None:
    async with writing(engine) as connection:
        await connection.execute(text(_CHANGED))

    with pytest.raises(StoreError, match="refused a statement"):
        async with writing(engine) as connection:
            await connection.execute(text(statement))

    async with reading(engine) as connection:
        assert (await connection.execute(text("SELECT why FROM control_changes"))).scalars().all() == ["why"]


_CHANGED = """
INSERT INTO control_changes (name, is_on, percent, changed_at, changed_by, why)
VALUES ('dispatch', TRUE, 10, '2026-01-01 00:00:00+00:00', 'ops', 'why')
"""


def test_revisions_are_numbered_in_order() -> None:
    revisions = [each.revision for each in SCRIPTS.walk_revisions()]

    assert revisions == [f"{number:04}" for number in range(len(revisions), 0, -1)]
