"""Notices and verifications by what somebody on call looks for; nothing personal, and nothing left unsaid."""

import pytest

from activities.store.ledger import Ledger
from activities.store.notices import Terms
from tests.console.shell import BAD, REACHED, Shell
from tests.store.challenge_facts import challenge, elsewhere, opened
from tests.store.facts import DIGEST, EXPIRY, NOW, POLICY, after
from workflows.policy.models import NoticeRequest, Recipient, Result
from workflows.policy.plan import Rule
from workflows.policy.words import Outcome


async def admitted(ledger: Ledger, event: str, recipient: str = "user-1", *, kind: str = "reset") -> str:
    request = NoticeRequest(kind=kind, event_id=event, recipient=Recipient(id=recipient))
    await ledger.notices.admit(request, Terms(POLICY, DIGEST, EXPIRY, f"run-{event}"), at=NOW)
    return request.key


@pytest.fixture
async def listed(ledger: Ledger) -> dict[str, str]:
    """Three notices: one closed, one long due, one of another kind and person that is due far ahead."""
    closed, due = await admitted(ledger, "closed"), await admitted(ledger, "due")
    result = Result(key=closed, outcome=Outcome.EXPIRED, rule=Rule.EXPIRED, closed_at=NOW)
    await ledger.notices.close(result, (), at=NOW)
    later = await admitted(ledger, "later", "user 2", kind="digest")
    await ledger.notices.set_next(later, after(days=3650))
    return {"closed": closed, "due": due, "later": later}


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ((), ["closed", "due", "later"]),
        (("--phase", "closed"), ["closed"]),
        (("--outcome", "expired"), ["closed"]),
        (("--outcome", "delivered"), []),
        (("--kind", "digest"), ["later"]),
        (("--recipient", "user 2"), ["later"]),
        (("--recipient", "user-1"), ["closed", "due"]),
        (("--stuck",), ["due"]),
        (("--due-before", "1m"), ["due"]),
        (("--due-before", "2040-01-01T00:00:00Z"), ["due", "later"]),
        (("--since", "2099-01-01T00:00:00Z"), []),
    ],
)
async def test_only_what_is_asked_for_is_listed(
    shell: Shell, own: dict[str, str], listed: dict[str, str], asked: tuple[str, ...], names: list[str]
) -> None:
    said = await shell.run("list", *asked, "--json", **own)

    assert (said.code, said.err) == (REACHED, "")
    assert {each["key"] for each in said.objects} == {listed[name] for name in names}


async def test_a_table_names_each_notice_with_where_it_stands(
    shell: Shell, own: dict[str, str], listed: dict[str, str]
) -> None:
    said = await shell.run("list", **own)

    assert said.code == REACHED
    assert all(key in said.out for key in listed.values())
    assert "expired" in said.out


@pytest.mark.usefixtures("listed")
async def test_what_a_limit_leaves_out_is_counted(shell: Shell, own: dict[str, str]) -> None:
    said = await shell.run("list", "--limit", "1", **own)
    by_program = await shell.run("list", "--limit", "1", "--json", **own)

    assert "not listed: 2 older" in said.out
    assert len(by_program.objects) == 1
    assert "not listed: 2 older" in by_program.err


async def test_where_nothing_is_found_it_says_so(shell: Shell, own: dict[str, str], ledger: Ledger) -> None:
    del ledger
    said = await shell.run("list", "--stuck", **own)

    assert (said.code, said.out) == (REACHED, "no such notice is on record\n")


async def test_verifications_are_listed_by_their_state_and_account(
    shell: Shell, own: dict[str, str], ledger: Ledger
) -> None:
    for name in ("challenge-1", "challenge-2"):
        await opened(ledger, challenge(name, account=f"account of {name}"), to=elsewhere(name))

    every = await shell.run("list", "--verifications", "--json", **own)
    table = await shell.run("list", "--verifications", "--state", "active", **own)

    assert {each["key"] for each in every.objects} == {"verification:challenge-1", "verification:challenge-2"}
    assert "verification:challenge-1" in table.out


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (("--verifications", "--stuck"), "--stuck: does not go with --verifications"),
        (("--state", "active"), "--state: goes with --verifications"),
        (("--due-before", "soon"), "--due-before: must be a time"),
        (("--since", "tomorrow"), "--since: must be a time"),
    ],
)
async def test_what_cannot_be_asked_is_one_line_that_names_the_option(
    shell: Shell, own: dict[str, str], asked: tuple[str, ...], says: str
) -> None:
    said = await shell.run("list", *asked, **own)

    assert (said.code, said.out) == (BAD, "")
    assert says in said.err
