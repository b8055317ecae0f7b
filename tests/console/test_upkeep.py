import base64
import stat

from activities.keyring import Keyring
from tests.console.shell import BAD, REACHED, UNREACHABLE, Shell


async def test_a_key_file_is_made_once_and_only_its_owner_reads_it(alone: Shell) -> None:
    made = await alone.run("key", "new", "made.toml")
    assert (made.code, made.err) == (REACHED, "")
    file = alone.folder / "made.toml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.read_bytes()
    again = await alone.run("key", "new", "made.toml")
    assert (again.code, again.out) == (BAD, "")
    assert "standby key rotate made.toml" in again.err
    assert file.read_bytes() == before


async def test_rotating_adds_a_key_and_shows_none(alone: Shell) -> None:
    await alone.run("key", "new", "made.toml")
    file = alone.folder / "made.toml"
    old = Keyring.load(file)
    said = await alone.run("key", "rotate", "made.toml")
    new = Keyring.load(file)
    assert said.code == REACHED
    assert f"{new.current} seals from now on, 2 keys open" in said.out
    assert new.payload.items() > old.payload.items()
    for secret in (*new.payload.values(), new.address):
        assert base64.b64encode(secret).decode() not in said.out


async def test_rotating_a_file_that_is_not_there_is_bad_input(alone: Shell) -> None:
    said = await alone.run("key", "rotate", "none.toml")
    assert (said.code, said.out) == (BAD, "")
    assert "key file none.toml: does not exist" in said.err


async def test_migrating_says_from_what_to_what_and_is_done_once(alone: Shell) -> None:
    url = {"STANDBY_DATABASE_URL": "sqlite:///new.db"}
    first = await alone.run("migrate", **url)
    assert (first.code, first.err) == (REACHED, "")
    assert first.out.startswith("SQLite file new.db: empty -> ")
    version = first.out.split()[-1]
    again = await alone.run("migrate", **url)
    assert again.out == f"SQLite file new.db: {version} already, nothing to do\n"


async def test_a_ledger_that_cannot_be_reached_is_one_line_without_its_password(alone: Shell) -> None:
    url = "postgresql://standby:hunter2@127.0.0.1:9/standby"
    said = await alone.run("migrate", STANDBY_DATABASE_URL=url)
    assert (said.code, said.out) == (UNREACHABLE, "")
    (line,) = said.err.splitlines()
    assert "127.0.0.1:9/standby" in line
    assert "hunter2" not in line
