from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import OperationalError

from activities.store.database import new_engine, parsed, reading, writing
from activities.store.engine import open_engine
from activities.store.errors import DiskFull, ReadOnly, StoreError, Unreachable, explained, place
from activities.store.ledger import Ledger
from activities.store.migrate import migrate
from tests.postgres import PASSWORD
from tests.store.conftest import Files, Server
from tests.store.facts import EMAIL, KEY, admit

SECRET = "s3cret-word"


def content(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def is_one_line(error: StoreError) -> bool:
    return len(str(error).splitlines()) == 1 and not {SECRET, PASSWORD} & set(str(error).split())


@pytest.mark.parametrize(
    ("given", "driver"),
    [
        ("sqlite:///a.db", "sqlite+aiosqlite"),
        ("sqlite+aiosqlite:///a.db", "sqlite+aiosqlite"),
        ("postgres://host/name", "postgresql+psycopg"),
        ("postgresql://host/name", "postgresql+psycopg"),
        ("postgresql+psycopg://host/name", "postgresql+psycopg"),
    ],
)
def test_every_usual_name_of_a_database_gets_the_installed_driver(given: str, driver: str) -> None:
    assert parsed(given).drivername == driver


@pytest.mark.parametrize(
    "url",
    [
        "",
        SECRET,
        f"mysql://u:{SECRET}@h/d",
        f"postgresql://u:{SECRET}@h:port/d",
        "sqlite://",
        "sqlite:///:memory:",
        f"postgresql://u:p@{SECRET}@127.0.0.1:99999/x",
        f"postgresql://u:p@h/{SECRET}@127.0.0.1/x",
        f"postgresql://u:p@h?{SECRET}@127.0.0.1/x",
        f"postgresql://u@h/x?password=p@{SECRET}",
    ],
)
def test_a_url_of_no_use_is_one_line_that_does_not_repeat_it(url: str) -> None:
    with pytest.raises(StoreError, match=r"^STANDBY_DATABASE_URL: .*must read sqlite:///FILE or") as told:
        parsed(url)

    assert is_one_line(told.value)
    assert SECRET not in str(told.value)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://user:{SECRET}@127.0.0.1:1/name",
        f"postgresql://user@127.0.0.1:1/name?password={SECRET}",
        "sqlite:///file:/nowhere/at/all.db?uri=true",
        f"sqlite:///{Path(__file__)}",
    ],
)
async def test_a_ledger_that_cannot_be_reached_is_one_line_without_the_password(url: str) -> None:
    with pytest.raises(Unreachable, match=r"cannot be reached \(.+\); check STANDBY_DATABASE_URL$") as told:
        await open_engine(url)

    assert is_one_line(told.value)
    assert SECRET not in str(told.value)
    assert told.value.__cause__ is None


@pytest.mark.parametrize("name", ["gone.db", "a b?.db", "no folder/gone.db"])
async def test_a_file_that_is_not_there_is_not_made_by_opening_it(tmp_path: Path, name: str) -> None:
    url = URL.create("sqlite", database=str(tmp_path / name)).render_as_string()
    with pytest.raises(Unreachable, match=r"does not exist: run standby migrate, or correct STANDBY_DATA"):
        await open_engine(url)

    assert not any(content(tmp_path))


@pytest.mark.parametrize(
    "form", ["sqlite:///{}", "sqlite:///file:{}?uri=true", "sqlite:///file:{}?a=b&uri=1"]
)
async def test_a_file_that_goes_away_under_an_open_ledger_is_not_made_again(
    tmp_path: Path, form: str
) -> None:
    file = tmp_path / "led ger.db"
    await migrate(f"sqlite:///{file}")
    engine = await open_engine(form.format(file))
    await engine.dispose()
    for each in content(tmp_path):
        each.unlink()

    with pytest.raises(Unreachable):
        async with reading(engine):
            pass

    await engine.dispose()
    assert not any(content(tmp_path))


@pytest.mark.parametrize(
    "url", [f"postgresql://user:{SECRET}@host/name", f"postgresql://host/name?password={SECRET}"]
)
def test_a_driver_that_repeats_the_password_is_not_quoted(url: str) -> None:
    orig = psycopg.OperationalError(f"connection failed: no such option {SECRET}\nmore {SECRET}")

    told = explained(OperationalError("", {}, orig), make_url(url))

    assert str(told) == (
        "ledger: PostgreSQL host:5432/name cannot be reached (no such option ***); check STANDBY_DATABASE_URL"
    )


def test_an_at_sign_in_a_password_is_told_to_be_encoded() -> None:
    with pytest.raises(StoreError, match=r"more than one @; .*, with %40 for an @ in the password$"):
        parsed("postgresql://u:p@ss@127.0.0.1/x")
    assert parsed("postgresql://u:p%40ss@127.0.0.1/x").password == "p@ss"


@pytest.mark.parametrize("url", [f"postgresql://u:p@{SECRET}@h/x", f"postgresql://u:p@h/{SECRET}@x"])
def test_no_place_is_named_with_what_is_before_an_at_sign(url: str) -> None:
    assert SECRET not in place(make_url(url))


async def test_a_wrong_password_is_not_repeated(databases_of_postgres: Server) -> None:
    url = make_url(await databases_of_postgres.empty()).set(password=SECRET)

    with pytest.raises(Unreachable, match="password authentication failed") as told:
        await open_engine(url.render_as_string(hide_password=False))

    assert is_one_line(told.value)
    assert SECRET not in str(told.value)


async def test_a_missing_database_is_named(databases_of_postgres: Server) -> None:
    url = make_url(await databases_of_postgres.empty()).set(database="gone")

    with pytest.raises(Unreachable, match='"gone" does not exist') as told:
        await migrate(url.render_as_string(hide_password=False))

    assert PASSWORD not in str(told.value)


async def test_a_read_only_file_says_so(files: Files) -> None:
    path = (await files.migrated()).removeprefix("sqlite:///")
    engine = await open_engine(f"sqlite:///file:{path}?mode=ro&uri=true")

    with pytest.raises(ReadOnly, match="is read-only"):
        await admit(Ledger(engine))
    await engine.dispose()


async def test_a_read_only_server_says_so(databases_of_postgres: Server) -> None:
    url = make_url(await databases_of_postgres.migrated())
    standby = url.update_query_dict({"options": "-c default_transaction_read_only=on"})
    engine = await open_engine(standby.render_as_string(hide_password=False))

    with pytest.raises(ReadOnly, match="is read-only"):
        await admit(Ledger(engine))
    await engine.dispose()


async def test_a_full_disk_says_so_and_leaves_the_ledger_whole(files: Files) -> None:
    engine = await open_engine(await files.migrated())
    ledger = Ledger(engine)
    event.listen(engine.sync_engine, "begin", _allow_no_more_pages)

    with pytest.raises(DiskFull, match="has no room left"):
        await _fill(ledger)

    story = await ledger.story(KEY)
    assert story is not None
    assert story.notice.policy_digest == "digest-0"
    await engine.dispose()


async def _fill(ledger: Ledger) -> None:
    for number in range(1000):
        await admit(ledger, digest=f"digest-{number}")


def _allow_no_more_pages(connection: Connection) -> None:
    connection.exec_driver_sql("PRAGMA max_page_count = 1")  # SQLite takes it for the present size


async def test_a_refused_statement_does_not_repeat_its_values(url: str) -> None:
    engine = new_engine(url)
    with pytest.raises(StoreError, match="refused a statement") as told:
        async with writing(engine) as connection:
            await connection.execute(
                text("INSERT INTO observations (attempt_key) VALUES (:key)"), {"key": SECRET}
            )
    await engine.dispose()

    assert is_one_line(told.value)
    assert SECRET not in str(told.value)
    assert EMAIL not in str(told.value)
