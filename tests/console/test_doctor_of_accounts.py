"""`standby doctor` against every provider's API, set up right and wrong: nobody is sent anything."""

import json
import shutil
from collections.abc import AsyncIterator

import pytest

from activities.providers.base import Level
from activities.providers.registry import PROVIDERS
from console.exits import Exit
from sandbox.config import Config
from sandbox.server import serve
from tests.activities.zone import NameServer, serving
from tests.console.shell import ROOT, Shell
from tests.providers.accounts import ACCOUNTS
from workflows.policy.words import Channel

SERVED = [
    pytest.param(name, channel, id=f"{name} {channel}")
    for name in ACCOUNTS
    for channel in PROVIDERS[name].CAPABILITIES
]


@pytest.fixture
async def reset(shell: Shell) -> AsyncIterator[Shell]:
    """A deployment of one kind, which goes by email and by text."""
    shutil.copytree(ROOT / "notices" / "password_reset", shell.folder / "notices" / "password_reset")
    async with serve(Config()) as sandbox:
        environ = {**shell.environ, "STANDBY_SANDBOX_URL": sandbox.url}
        yield Shell(environ, shell.folder, shell.capsys, shell.monkeypatch)


@pytest.fixture
async def dns() -> AsyncIterator[str]:
    """A name server that knows nothing: what DNS says is looked at elsewhere."""
    async with serving(NameServer({})) as named:
        yield f"{named.address[0]}:{named.address[1]}"


def test_every_provider_is_examined() -> None:
    assert set(ACCOUNTS) == set(PROVIDERS) - {"sandbox"}


@pytest.mark.parametrize(("name", "channel"), SERVED)
async def test_an_account_that_is_right_has_no_problem(
    reset: Shell, dns: str, name: str, channel: Channel
) -> None:
    account, fake = ACCOUNTS[name], ACCOUNTS[name].fake()
    async with account.open(name, fake) as variables:
        chosen = {f"STANDBY_{channel.upper()}": name}
        said = await reset.run("doctor", "--json", "--dns", dns, **variables, **chosen)

    findings = [each for each in json.loads(said.out)["findings"] if each["about"] == f"{name} {channel}"]
    levels = {each["level"] for each in findings}
    assert Level.OK in levels
    assert Level.PROBLEM not in levels, findings
    assert fake.submissions == 0


@pytest.mark.parametrize(("name", "channel"), SERVED)
async def test_an_account_that_is_wrong_is_a_problem_that_says_what_to_do(
    reset: Shell, dns: str, name: str, channel: Channel
) -> None:
    account, fake = ACCOUNTS[name], ACCOUNTS[name].fake()
    fake.denies = True
    async with account.open(name, fake) as variables:
        chosen = {f"STANDBY_{channel.upper()}": name}
        said = await reset.run("doctor", "--json", "--dns", dns, **variables, **chosen)

    assert said.code == Exit.FAILED
    problems = [
        each["says"]
        for each in json.loads(said.out)["findings"]
        if (each["level"], each["about"]) == (Level.PROBLEM, f"{name} {channel}")
    ]
    assert problems
    assert all("check" in each for each in problems), problems
    assert not any(secret in said.out for secret in account.variables.values() if "secret" in secret)
    assert fake.submissions == 0
