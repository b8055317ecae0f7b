"""`standby controls`: what somebody on call reads and types at night."""

import getpass
import json
from dataclasses import replace

import pytest

from activities.store.ledger import Ledger
from console.controls import MEANS, OTHERWISE
from tests.console.shell import BAD, REACHED, UNREACHABLE, Shell
from tests.store.facts import after
from workflows.policy.controls import Control, Switch

COME_AS = {each: "off" if each in {"automatic_resend", "observe"} else "on" for each in Switch}


@pytest.fixture
def shell(shell: Shell, own: dict[str, str]) -> Shell:
    """A shell on a ledger in which nobody has set anything."""
    return replace(shell, environ={**shell.environ, **own})


async def board(shell: Shell) -> dict[str, dict[str, object]]:
    said = await shell.run("controls", "--json")
    return {each["name"]: each for each in json.loads(said.out)}


async def test_every_control_is_listed_with_what_it_means_though_nobody_ever_set_it(shell: Shell) -> None:
    said = await shell.run("controls")

    assert (said.code, said.err) == (REACHED, "")
    lines = {line.split()[0]: line for line in said.out.splitlines()[1:]}
    assert list(lines) == list(Switch)
    assert {name: line.split()[1] for name, line in lines.items()} == COME_AS
    assert all(
        line.rstrip().endswith("never") and MEANS[Switch(name)] in line for name, line in lines.items()
    )
    assert [each["while_on"] for each in (await board(shell)).values()] == list(MEANS.values())


@pytest.mark.parametrize(("value", "is_shown"), [("off", "off"), ("25%", "25%"), ("on", "on"), ("0%", "off")])
async def test_a_setting_is_shown_with_who_and_when_and_why(shell: Shell, value: str, is_shown: str) -> None:
    said = await shell.run("controls", "set", "resend", value, "--why", f"a test [{value}]", "--by", "ops")
    listed = (await board(shell))["resend"]

    assert said.code == REACHED
    assert said.out.startswith(f"resend: {is_shown}")
    assert (listed["set_to"], listed["changed_by"], listed["why"]) == (is_shown, "ops", f"a test [{value}]")
    assert f"a test [{value}]" in (await shell.run("controls")).out


async def test_a_change_says_what_was_before_and_a_repetition_that_nothing_changed(shell: Shell) -> None:
    await shell.run("controls", "set", "fallback", "on", "--why", "known")
    changed = await shell.run("controls", "set", "fallback", "10%", "--why", "cohort")
    same = await shell.run("controls", "set", "fallback", "10%", "--why", "cohort")

    assert changed.out.startswith("fallback: 10% (was on); ")
    assert same.out.startswith("fallback: 10% (as before); ")


@pytest.mark.parametrize("switch", Switch)
@pytest.mark.parametrize("value", ["on", "off", "10%"])
async def test_a_setting_says_what_it_brings_about_for_whom(shell: Shell, switch: Switch, value: str) -> None:
    said = await shell.run("controls", "set", switch, value, "--why", "x")

    _, _, effect = said.out.rstrip().partition("; from the next effect on: ")
    assert (
        effect
        == {
            "on": MEANS[switch],
            "off": OTHERWISE[switch],
            "10%": f"for 10% of the notices, {MEANS[switch]}; for all others, {OTHERWISE[switch]}",
        }[value]
    )


async def test_a_program_is_told_what_it_has_set_and_what_was_before(shell: Shell) -> None:
    arguments = ("dispatch", "25%", "--why", "cohort", "--by", "ops", "--json")
    said = await shell.run("controls", "set", *arguments)

    told = json.loads(said.out)
    assert (told["name"], told["set_to"], told["was"]) == ("dispatch", "25%", "on")
    assert (told["changed_by"], told["why"]) == ("ops", "cohort")
    (logged,) = json.loads((await shell.run("controls", "log", "--json")).out)
    assert told == {**logged, "was": "on"}


async def test_an_account_without_a_name_must_say_who_it_is(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.setattr(getpass, "getuser", nameless)
    said = await shell.run("controls", "set", "dispatch", "off", "--why", "x")
    named = await shell.run("controls", "set", "dispatch", "off", "--why", "x", "--by", "ops")

    assert (said.code, named.code) == (BAD, REACHED)
    assert said.err == "--by: say who you are, for your account here has no name\n"


async def test_the_account_at_the_terminal_is_on_record_where_nobody_else_is_named(shell: Shell) -> None:
    await shell.run("controls", "set", "automatic_resend", "off", "--why", "as it comes")

    assert (await board(shell))["automatic_resend"]["changed_by"] == getpass.getuser()


async def test_the_log_lists_settings_newest_first(shell: Shell) -> None:
    for why in ("first", "second"):
        await shell.run("controls", "set", "reconcile", "on", "--why", why)
    said = await shell.run("controls", "log", "--last", "2", "--json")

    assert [each["why"] for each in json.loads(said.out)] == ["second", "first"]
    assert "second" in (await shell.run("controls", "log")).out
    assert "first" not in (await shell.run("controls", "log", "--last", "1")).out


@pytest.mark.parametrize(
    ("arguments", "listed", "left_out"), [((), 20, 3), (("--last", "22"), 22, 1), (("--all",), 23, 0)]
)
async def test_a_log_that_is_cut_short_says_by_how_much_and_how_to_see_the_rest(
    shell: Shell, ledger: Ledger, arguments: tuple[str, ...], listed: int, left_out: int
) -> None:
    for number in range(23):
        await ledger.controls.put(
            Switch.DISPATCH, Control(), by="ops", why=f"because {number}", at=after(seconds=number)
        )

    page = (await shell.run("controls", "log", *arguments)).out.splitlines()
    program = await shell.run("controls", "log", "--json", *arguments)

    told = f"not listed: {left_out} earlier; to see them: standby controls log --all"
    assert sum(" because " in line for line in page) == len(json.loads(program.out)) == listed
    assert (told in page, program.err.rstrip() == told) == (bool(left_out), bool(left_out))


async def test_a_log_of_nothing_says_so(shell: Shell) -> None:
    assert (await shell.run("controls", "log")).out.startswith("nothing was ever set")
    assert json.loads((await shell.run("controls", "log", "--json")).out) == []


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("dispach", "on", "--why", "x"), "NAME: must be one of dispatch, fallback, reconcile"),
        (("dispatch", "maybe", "--why", "x"), "value: must be on, off, or a share from 0% to 100%"),
        (("dispatch", "101%", "--why", "x"), "value: must be on, off, or a share from 0% to 100%"),
        (("dispatch", "50", "--why", "x"), "value: must be on, off, or a share from 0% to 100%"),
        (("dispatch", "on", "--why", "  "), "--why: must be one line of 1 to 200 characters"),
        (("dispatch", "on", "--why", "two\nlines"), "--why: must be one line of 1 to 200 characters"),
        (("dispatch", "on", "--why", "x", "--by", "y" * 201), "--by: must be one line of 1 to 200"),
    ],
)
async def test_a_mistake_sets_nothing_and_says_what_is_allowed(
    shell: Shell, arguments: tuple[str, ...], line: str
) -> None:
    before = await board(shell)
    said = await shell.run("controls", "set", *arguments)

    assert (said.code, said.out) == (BAD, "")
    assert said.err.startswith(line)
    assert await board(shell) == before


async def test_a_reason_is_required(shell: Shell) -> None:
    said = await shell.run("controls", "set", "dispatch", "off")

    assert said.code == BAD
    assert "--why" in said.err


async def test_without_a_ledger_there_is_nothing_to_read_or_set(alone: Shell) -> None:
    for arguments in (
        ("controls",),
        ("controls", "set", "dispatch", "off", "--why", "x"),
        ("controls", "log"),
    ):
        assert (await alone.run(*arguments)).code == UNREACHABLE
