"""A provider's own list, brought into the ledger by hand."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from activities.gate import Gate
from activities.hosting import open_ledger
from activities.keyring import Keyring
from activities.settings import Settings, keyring
from console.exits import Exit
from tests.console.conftest import Town
from tests.console.shell import Shell
from tests.providers.fakes.api import running
from tests.providers.fakes.resend import TOKEN, FakeResend
from workflows.policy.words import Channel, SuppressionReason


@dataclass(frozen=True)
class Resend:
    """Resend with some people on its list, and how a deployment reaches it."""

    fake: FakeResend
    environ: dict[str, str]


@pytest.fixture
async def resend(request: pytest.FixtureRequest) -> AsyncIterator[Resend]:
    fake = FakeResend()
    name = request.node.name
    people = {f"{who}.{len(name)}@example.com": "complaint" for who in ("anna", "ben", "chi")}
    fake.suppressed = people | {"bounced@example.com": "bounce"}
    async with running(fake) as server:
        environ = {
            "STANDBY_RESEND_URL": server.url,
            "STANDBY_RESEND_API_KEY": TOKEN,
            "STANDBY_EMAIL_FROM": "notices@example.com",
        }
        yield Resend(fake, environ)


async def held(town: Town, address: str) -> frozenset[SuppressionReason]:
    settings = Settings.read(town.environ)
    keys: Keyring = keyring(settings)
    async with open_ledger(settings) as ledger:
        hashed = Gate(ledger, keys).hashed(Channel.EMAIL, address)
        return await ledger.suppressions.active(hashed, Channel.EMAIL)


async def test_a_list_is_read_whole_and_reading_it_again_changes_nothing(
    shell: Shell, town: Town, resend: Resend
) -> None:
    first = await shell.run("suppressions", "pull", "resend", **resend.environ)
    again = await shell.run("suppressions", "pull", "resend", **resend.environ)

    assert (first.code, first.out) == (Exit.OK, "resend email: 3 read, 3 new\n")
    assert (again.code, again.out) == (Exit.OK, "resend email: 3 read, 0 new\n")
    assert await held(town, next(iter(resend.fake.suppressed))) == {SuppressionReason.COMPLAINT}
    assert await held(town, "bounced@example.com") == frozenset()


async def test_an_address_that_is_none_is_counted_and_the_rest_is_read(shell: Shell, resend: Resend) -> None:
    resend.fake.suppressed = {"no address": "complaint", "dora@example.com": "complaint"}

    ran = await shell.run("suppressions", "pull", "resend", **resend.environ)

    assert ran.out == "resend email: 2 read, 1 new, 1 unusable\n"


async def test_a_list_that_cannot_be_read_is_one_line_that_says_how_far_it_came(
    shell: Shell, resend: Resend
) -> None:
    resend.fake.denies = True

    ran = await shell.run("suppressions", "pull", "resend", **resend.environ)

    assert ran.code == Exit.BAD_INPUT
    assert ran.err.startswith("resend email: HTTP 403: check the credentials")
    assert "0 read, 0 new; run it again" in ran.err
    assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "environ", "says"),
    [
        ("pigeon", {}, "PROVIDER: provider 'pigeon' is not known: choose one of "),
        ("sandbox", {}, "PROVIDER: sandbox has no list that can be read; these have: "),
        ("resend", {}, "STANDBY_RESEND_API_KEY: is not set"),
    ],
)
async def test_a_provider_that_cannot_be_asked_is_one_line(
    shell: Shell, name: str, environ: dict[str, str], says: str
) -> None:
    ran = await shell.run("suppressions", "pull", name, **environ)

    assert ran.code == Exit.BAD_INPUT
    assert ran.err.startswith(says)
    assert len(ran.err.splitlines()) == 1
