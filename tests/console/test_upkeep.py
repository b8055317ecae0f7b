import base64
import shutil
import stat
from pathlib import Path

import pytest
from temporalio.api.common.v1 import Payload

from activities.codec import KEY_ID, Seal
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


async def test_a_key_is_added_before_it_is_used_so_that_every_process_can_open_what_any_of_them_seals(
    alone: Shell,
) -> None:
    """Two processes with a file each: at no step does one meet what it cannot open."""
    first, second = alone.folder / "made.toml", alone.folder / "copy.toml"
    await alone.run("key", "new", "made.toml")

    def copied() -> None:
        shutil.copy(first, second)

    copied()
    added = await alone.run("key", "add", "made.toml")
    assert await all_open(first, second) == {Keyring.load(second).current}
    copied()
    _, command = added.out.strip().split(": standby ")
    used = await alone.run(*command.split())

    old, new = Keyring.load(second), Keyring.load(first)
    assert (added.code, used.code) == (REACHED, REACHED)
    assert f"{new.current} seals from now on, 2 keys open" in used.out
    assert new.current != old.current
    assert await all_open(first, second) == {old.current, new.current}
    copied()
    assert await all_open(first, second) == {new.current}
    assert new.address == old.address
    for secret in (*new.payload.values(), new.address):
        assert base64.b64encode(secret).decode() not in added.out + used.out


async def all_open(*files: Path) -> set[str]:
    """Demand that each process opens what each seals, and return the ids of the keys that seal."""
    processes = [Seal(Keyring.load(each)) for each in files]
    plain = Payload(metadata={"encoding": b"json/plain"}, data=b'{"id":"user-1"}')
    sealed = [(await each.encode([plain]))[0] for each in processes]
    for each in processes:
        assert await each.decode(sealed) == [plain] * len(sealed)
    return {each.metadata[KEY_ID].decode() for each in sealed}


async def test_a_key_that_is_named_is_used_whichever_was_added_last(alone: Shell) -> None:
    """Going back is the same command."""
    await alone.run("key", "new", "made.toml")
    first = Keyring.load(alone.folder / "made.toml").current
    await alone.run("key", "rotate", "made.toml")
    said = await alone.run("key", "use", "made.toml", str(first))
    assert said.out.startswith(f"made.toml: {first} seals from now on, 2 keys open")
    assert Keyring.load(alone.folder / "made.toml").current == first


async def test_using_a_key_that_the_file_does_not_have_names_those_it_has(alone: Shell) -> None:
    await alone.run("key", "new", "made.toml")
    before = (alone.folder / "made.toml").read_bytes()
    said = await alone.run("key", "use", "made.toml", "another")
    assert (said.code, said.out) == (BAD, "")
    (known,) = Keyring.load(alone.folder / "made.toml").payload
    assert said.err == f"key file made.toml: has no key 'another'; it has {known}\n"
    assert (alone.folder / "made.toml").read_bytes() == before


@pytest.mark.parametrize("command", [("rotate", "none.toml"), ("add", "none.toml"), ("use", "none.toml")])
async def test_changing_a_file_that_is_not_there_is_bad_input(alone: Shell, command: tuple[str, ...]) -> None:
    said = await alone.run("key", *command)
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
