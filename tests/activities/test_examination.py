"""Checks that go wrong in every way, beside one that does not."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from activities.examination import Check, examine, faults
from activities.providers.base import Finding, Level
from activities.providers.errors import Misconfigured, ReadFailed
from activities.settings import SettingsError
from activities.store.errors import Unmigrated
from workflows.policy.contract import ContractError

FINE = Finding(Level.OK, "ledger", "can be reached")
AT_ONCE = timedelta(seconds=0.5)


def raising(error: Exception) -> Callable[[], Awaitable[tuple[Finding, ...]]]:
    async def ask() -> tuple[Finding, ...]:
        raise error

    return ask


async def fine() -> tuple[Finding, ...]:
    return (FINE,)


@pytest.mark.parametrize(
    ("error", "level", "says"),
    [
        pytest.param(Misconfigured("HTTP 401: check the credentials"), Level.PROBLEM, "HTTP 401: ", id="key"),
        pytest.param(ReadFailed("connect timeout"), Level.PROBLEM, "(connect timeout): check", id="no way"),
        pytest.param(
            ReadFailed("HTTP 429", retry_after=timedelta(seconds=3)),
            Level.UNCHECKED,
            "asks us to wait (HTTP 429)",
            id="busy",
        ),
        pytest.param(
            Unmigrated("ledger: run: standby migrate"), Level.PROBLEM, "standby migrate", id="public"
        ),
        pytest.param(TimeoutError("of its own"), Level.PROBLEM, "broke (TimeoutError)", id="its own timeout"),
        pytest.param(
            ValueError("anna.secret@example.test"), Level.PROBLEM, "broke (ValueError)", id="unforeseen"
        ),
        pytest.param(
            ExceptionGroup("both", [KeyError("anna.secret")]), Level.PROBLEM, "broke (KeyError)", id="a group"
        ),
    ],
)
async def test_an_error_is_a_finding_and_stops_no_other_check(
    error: Exception, level: Level, says: str
) -> None:
    broken, other = await examine([Check("provider", raising(error)), Check("ledger", fine)])
    assert (broken.level, broken.about, says in broken.says) == (level, "provider", True)
    assert other == FINE
    assert "anna.secret" not in broken.says


@pytest.mark.parametrize(
    "error", [SettingsError("STANDBY_A: is wrong\nSTANDBY_B: too"), ContractError(["one", "two"])]
)
def test_each_mistake_is_a_finding(error: Exception) -> None:
    assert [each.says for each in faults("settings", error)] == str(error).splitlines()


async def test_a_check_that_never_ends_is_a_problem_and_holds_up_no_other() -> None:
    async def ask() -> tuple[Finding, ...]:
        await asyncio.Event().wait()
        raise AssertionError

    late, other = await examine([Check("temporal", ask), Check("ledger", fine)], AT_ONCE)
    assert (late.level, late.says.partition(":")[0]) == (Level.PROBLEM, "no answer within 0.5 s")
    assert other == FINE


async def test_checks_are_made_at_once_and_told_in_their_order() -> None:
    second_is_made = asyncio.Event()

    async def first() -> tuple[Finding, ...]:
        await second_is_made.wait()
        return (Finding(Level.OK, "first", "done"),)

    async def second() -> tuple[Finding, ...]:
        second_is_made.set()
        return (Finding(Level.OK, "second", "done"),)

    found = await examine([Check("first", first), Check("second", second)])
    assert [each.about for each in found] == ["first", "second"]


async def test_a_check_that_says_nothing_is_not_ok() -> None:
    async def ask() -> tuple[Finding, ...]:
        return ()

    (only,) = await examine([Check("provider", ask)])
    assert only.level is Level.UNCHECKED


async def test_what_a_provider_said_stays_one_line_without_addresses() -> None:
    async def ask() -> tuple[Finding, ...]:
        says = "domain\nexample.com\x1b[31m of anna.secret@example.test, +12025550142"
        return (Finding(Level.NOTE, "provider", says),)

    (only,) = await examine([Check("provider", ask)])
    assert only.says == "domain example.com [31m of [address], [number]"


async def test_a_call_off_is_no_finding() -> None:
    with pytest.raises(asyncio.CancelledError):
        await examine([Check("provider", raising(asyncio.CancelledError()))])  # type: ignore[arg-type]
