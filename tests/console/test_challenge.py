"""`standby show verification:ID`: the four facts, as somebody on call reads them."""

import json

import pytest

from activities.store.ledger import Ledger
from tests.console.shell import BAD, REACHED, Shell
from tests.store.challenge_facts import ID, link, opened, wrong
from tests.store.facts import after
from workflows.policy.keys import verification_id

NAME = verification_id(ID)
LABELS = (
    *("challenge created", "message 1 asked for", "message 1 transport"),
    *("challenge consumed", "expires"),
)


async def test_a_challenge_that_nobody_used_tells_what_was_asked_for_and_nothing_more(
    shell: Shell, ledger: Ledger, own: dict[str, str]
) -> None:
    await opened(ledger)
    said = await shell.run("show", NAME, **own)

    assert (said.code, said.err) == (REACHED, "")
    lines = said.out.splitlines()
    assert lines[0] == NAME
    assert lines[1] == "active: nobody has shown yet that the address is theirs"
    told = {name: line for name in LABELS for line in lines if line.startswith(name)}
    assert list(told) == list(LABELS)
    assert "2026-03-01 12:00:00Z" in told["challenge created"]
    assert "by a person" in told["message 1 asked for"]
    assert f"standby show signup_verification:{ID}:account-1" in told["message 1 transport"]
    assert "0 wrong codes" in told["challenge consumed"]


async def test_a_consumption_is_told_with_its_time_and_the_wrong_codes_before_it(
    shell: Shell, ledger: Ledger, own: dict[str, str]
) -> None:
    await opened(ledger)
    await ledger.challenges.consume(ID, wrong(), "first", at=after(seconds=30))
    await ledger.challenges.consume(ID, link(), "second", at=after(seconds=60))

    told = json.loads((await shell.run("show", NAME, "--json", **own)).out)
    page = (await shell.run("show", NAME, **own)).out

    assert (told["state"], told["consumed_at"], told["wrong_codes"]) == (
        "consumed",
        "2026-03-01T12:01:00Z",
        1,
    )
    assert "consumed: somebody has shown that the address is theirs" in page
    assert "1 wrong codes" in page


@pytest.mark.parametrize(
    ("command", "name", "says"),
    [
        ("show", "verification:no-such-one", "no such verification is on record"),
        ("show", "verification:short", "KEY: not a verification: it must read verification:challenge"),
        ("withdraw", "verification:no-such-one", "none is open; see: standby show verification:no-such-one"),
        ("withdraw", "verification:a b", "KEY: not a verification: it must read verification:challenge"),
    ],
)
async def test_a_name_that_leads_nowhere_is_one_line(
    shell: Shell, own: dict[str, str], command: str, name: str, says: str
) -> None:
    said = await shell.run(command, name, **own)

    assert (said.code, said.out) == (BAD, "")
    (line,) = said.err.splitlines()
    assert says in line
