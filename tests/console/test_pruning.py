"""`standby prune`: counted before it is done, and done in one command."""

from datetime import UTC, datetime, timedelta

import pytest

from activities.store.ledger import Ledger
from tests.console.shell import BAD, REACHED, Shell
from tests.store import facts
from workflows.policy.models import Result
from workflows.policy.plan import Rule
from workflows.policy.words import Channel, Outcome


@pytest.fixture
async def closed(ledger: Ledger) -> None:
    """A notice that closed a hundred days ago."""
    at = datetime.now(UTC) - timedelta(days=100)
    await facts.admit(ledger, at=at)
    await facts.claim(ledger, at=at)
    result = Result(
        key=facts.KEY, outcome=Outcome.UNKNOWN, channel=Channel.EMAIL, rule=Rule.CUTOFF, closed_at=at
    )
    await ledger.notices.close(result, (), at=at)


@pytest.mark.usefixtures("closed")
async def test_what_would_go_is_counted_before_anything_goes(shell: Shell, own: dict[str, str]) -> None:
    counted = await shell.run("prune", "--older-than", "90d", "--dry-run", **own)
    kept = await shell.run("prune", "--older-than", "120d", **own)
    done = await shell.run("prune", "--older-than", "90d", **own)
    again = await shell.run("prune", **own, STANDBY_KEEP_EVIDENCE="90d")

    assert [each.code for each in (counted, kept, done, again)] == [REACHED] * 4
    assert counted.out == "closed more than 90d ago: 1 notices and 0 verifications could be pruned\n"
    assert kept.out == "closed more than 120d ago: 0 notices and 0 verifications pruned\n"
    assert done.out == "closed more than 90d ago: 1 notices and 0 verifications pruned\n"
    assert again.out == "closed more than 90d ago: 0 notices and 0 verifications pruned\n"


@pytest.mark.usefixtures("closed")
async def test_what_was_pruned_still_tells_how_it_ended(shell: Shell, own: dict[str, str]) -> None:
    await shell.run("prune", "--older-than", "90d", **own)

    said = await shell.run("show", facts.KEY, **own)

    assert said.code == REACHED
    assert "closed: unknown on email" in said.out
    assert "its evidence was pruned" in said.out


@pytest.mark.parametrize(
    ("age", "says"),
    [
        ((), "set STANDBY_KEEP_EVIDENCE"),
        (("--older-than", "soon"), "must be a span such as 90d"),
        (("--older-than", "71h"), "must be at least 3d"),
    ],
)
async def test_how_long_evidence_is_kept_must_be_said(
    shell: Shell, own: dict[str, str], age: tuple[str, ...], says: str
) -> None:
    said = await shell.run("prune", *age, **own)

    assert (said.code, said.out) == (BAD, "")
    assert says in said.err
