"""Who is not written to, kept by hand: addresses come by standard input, and leave no trace but a hash."""

import csv
from dataclasses import replace

import pytest

from activities.keyring import Keyring
from tests.console.shell import ADDRESS, BAD, NUMBER, REACHED, Shell

EMAIL = ("--channel", "email")
ADDED = (*EMAIL, "--reason", "invalid_recipient")
LIFTED = (*EMAIL, "--by", "anna", "--why", "the mailbox is back")


async def test_an_address_is_added_checked_and_lifted_by_its_hash(shell: Shell, own: dict[str, str]) -> None:
    stdin = f"{ADDRESS}\n"
    before = await shell.run("suppressions", "check", stdin=stdin, **own)
    added = await shell.run("suppressions", "add", *ADDED, stdin=stdin, **own)
    again = await shell.run("suppressions", "add", *ADDED, stdin=stdin, **own)
    during = await shell.run("suppressions", "check", "--json", stdin=stdin, **own)
    lifted = await shell.run("suppressions", "lift", *LIFTED, stdin=stdin, **own)
    after = await shell.run("suppressions", "check", "--json", stdin=stdin, **own)
    listed = await shell.run("suppressions", "list", "--lifted", **own)

    assert [each.code for each in (before, added, again, during, lifted, after, listed)] == [REACHED] * 7
    assert "(as before)" in again.out
    assert "(as before)" not in added.out
    assert [each.objects[0]["suppressed"] for each in (during, after)] == [True, False]
    assert "anna" in listed.out
    assert "the mailbox is back" in listed.out


async def test_what_people_chose_themselves_is_lifted_only_where_that_is_said(
    shell: Shell, own: dict[str, str]
) -> None:
    stdin = f"{NUMBER}\n"
    who = ("--channel", "sms", "--by", "anna", "--why", "asked for by letter")
    await shell.run("suppressions", "add", "--channel", "sms", "--reason", "stopped", stdin=stdin, **own)

    refused = await shell.run("suppressions", "lift", *who, stdin=stdin, **own)
    still = await shell.run("suppressions", "check", "--json", stdin=stdin, **own)
    lifted = await shell.run("suppressions", "lift", *who, "--although-they-chose", stdin=stdin, **own)
    after = await shell.run("suppressions", "check", "--json", stdin=stdin, **own)

    assert refused.code == BAD
    assert "--although-they-chose" in refused.err
    assert still.objects[0]["suppressed"]
    assert lifted.code == REACHED
    assert not after.objects[0]["suppressed"]


@pytest.mark.parametrize("command", [("check",), ("add", *ADDED), ("lift", *LIFTED)])
async def test_an_address_is_never_an_argument(
    shell: Shell, own: dict[str, str], command: tuple[str, ...]
) -> None:
    said = await shell.run("suppressions", *command, ADDRESS, **own)

    assert (said.code, said.out) == (BAD, "")
    assert "an address is never an argument" in said.err


async def test_of_several_addresses_all_are_taken_or_none(shell: Shell, own: dict[str, str]) -> None:
    said = await shell.run("suppressions", "add", *ADDED, stdin=f"{ADDRESS}\nnot one\n", **own)
    listed = await shell.run("suppressions", "list", "--json", **own)

    assert said.code == BAD
    assert "line 2" in said.err
    assert listed.out == ""


async def exported(shell: Shell, own: dict[str, str]) -> list[list[str]]:
    """Suppress an address, write the list to a file, and return its rows."""
    await shell.run("suppressions", "add", *ADDED, stdin=f"{ADDRESS}\n", **own)
    said = await shell.run("suppressions", "export", "list.csv", **own)
    assert said.code == REACHED
    text = (shell.folder / "list.csv").read_text()
    assert ADDRESS not in text
    return list(csv.reader(text.splitlines()))


def write(shell: Shell, rows: list[list[str]]) -> None:
    with (shell.folder / "list.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)


async def test_a_list_is_moved_to_another_ledger_and_moving_it_again_changes_nothing(
    shell: Shell, own: dict[str, str], town: object
) -> None:
    del town
    rows = await exported(shell, own)
    other = {"STANDBY_DATABASE_URL": f"sqlite:///{shell.folder / 'other.db'}"}
    await shell.run("migrate", **other)

    first = await shell.run("suppressions", "import", "list.csv", **other)
    again = await shell.run("suppressions", "import", "list.csv", **other)
    checked = await shell.run("suppressions", "check", "--json", stdin=f"{ADDRESS}\n", **other)

    assert len(rows) == 2
    assert (first.out, again.out) == ("list.csv: 1 read, 1 new\n", "list.csv: 1 read, 0 new\n")
    assert checked.objects[0]["suppressed"]


async def test_a_list_of_another_address_key_is_refused(shell: Shell, own: dict[str, str]) -> None:
    await exported(shell, own)
    Keyring.create(shell.folder / "stranger.toml")
    stranger = replace(
        shell, environ={**shell.environ, "STANDBY_KEY_FILE": str(shell.folder / "stranger.toml")}
    )

    said = await stranger.run("suppressions", "import", "list.csv", **own)

    assert (said.code, said.out) == (BAD, "")
    assert "made with another address key" in said.err


@pytest.mark.parametrize("column", range(3))
async def test_a_malformed_line_is_named_and_nothing_is_taken(
    shell: Shell, own: dict[str, str], column: int
) -> None:
    head, row = await exported(shell, own)
    broken = [*row[:column], "=cmd()", *row[column + 1 :]]
    write(shell, [head, row, broken])
    other = {"STANDBY_DATABASE_URL": f"sqlite:///{shell.folder / 'other.db'}"}
    await shell.run("migrate", **other)

    said = await shell.run("suppressions", "import", "list.csv", **other)
    listed = await shell.run("suppressions", "list", "--json", **other)

    assert said.code == BAD
    assert "line 3" in said.err
    assert "=cmd" not in said.err
    assert listed.out == ""
