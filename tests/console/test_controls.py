"""`standby controls` and `standby observe-report`: what somebody on call reads and types at night."""

import getpass
import json

import pytest

from tests.console.shell import BAD, REACHED, UNREACHABLE, Shell
from workflows.policy.controls import Switch


async def board(shell: Shell) -> dict[str, dict[str, object]]:
    said = await shell.run("controls", "--json")
    return {each["name"]: each for each in json.loads(said.out)}


async def test_every_control_is_listed_with_what_it_means_though_nobody_ever_set_it(shell: Shell) -> None:
    said = await shell.run("controls")

    assert (said.code, said.err) == (REACHED, "")
    lines = {line.split()[0]: line for line in said.out.splitlines()[1:]}
    assert list(lines) == list(Switch)
    assert {line.split()[1] for line in lines.values()} <= {"on", "off", "25%", "10%"}


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
    await shell.run("controls", "set", "fallback", "on", "--why", "over")

    assert changed.out.startswith("fallback: 10% (was on)")
    assert same.out.startswith("fallback: 10% as before")


async def test_the_account_at_the_terminal_is_on_record_where_nobody_else_is_named(shell: Shell) -> None:
    await shell.run("controls", "set", "automatic_resend", "off", "--why", "as it comes")

    assert (await board(shell))["automatic_resend"]["changed_by"] == getpass.getuser()


async def test_the_log_lists_settings_newest_first(shell: Shell) -> None:
    for why in ("first", "second"):
        await shell.run("controls", "set", "reconcile", "on", "--why", why)
    said = await shell.run("controls", "log", "--last", "2", "--json")

    assert [each["why"] for each in json.loads(said.out)] == ["second", "first"]
    assert "second" in (await shell.run("controls", "log")).out


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
        ("observe-report",),
    ):
        assert (await alone.run(*arguments)).code == UNREACHABLE


async def test_a_report_of_nothing_says_how_observing_begins(shell: Shell) -> None:
    said = await shell.run("observe-report", "--since", "2d")

    assert said.code == REACHED
    assert "standby controls set observe on --why" in said.out
    assert json.loads((await shell.run("observe-report", "--json")).out) == []


@pytest.mark.parametrize("since", ["yesterday", "2", "-1d", ""])
async def test_a_stretch_that_is_no_duration_is_bad_input(shell: Shell, since: str) -> None:
    said = await shell.run("observe-report", "--since", since)

    assert (said.code, said.out) == (BAD, "")
    assert said.err.startswith("--since: must be a duration")
