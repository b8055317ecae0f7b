"""`standby observe-report`: what would have been sent, beside what became known of it all the same."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from activities.observing import OBSERVER
from activities.store.ledger import Ledger
from activities.store.notices import Terms
from tests.console.shell import BAD, REACHED, UNREACHABLE, Shell, document
from tests.store.facts import DIGEST, EMAIL_HASH, POLICY, report
from workflows.policy.keys import attempt_key
from workflows.policy.models import NoticeRequest
from workflows.policy.words import Channel, Source, Status

FRESH, OLD = timedelta(minutes=1), timedelta(days=3)


async def observed(ledger: Ledger, name: str, *, came: Status | None = None, age: timedelta = FRESH) -> None:
    """Put an email on record that would have been sent so long ago, and what a callback said of it."""
    # The command counts back from the host's clock.
    request, at = NoticeRequest.model_validate(document(name)), datetime.now(UTC) - age
    await ledger.notices.admit(request, Terms(POLICY, DIGEST, at + timedelta(hours=1), "run-1"), at=at)
    key = attempt_key(request.key, Channel.EMAIL)
    await ledger.attempts.claim(key, provider=OBSERVER, address_hash=EMAIL_HASH, at=at)
    if came is not None:
        told = report(came, key=key, source=Source.CALLBACK, is_final=came is Status.DELIVERED)
        await ledger.evidence.observe(told, at=at)


async def test_every_count_stands_beside_what_it_is_a_part_of(
    shell: Shell, own: dict[str, str], ledger: Ledger
) -> None:
    for name, came in (("a", Status.DELIVERED), ("b", Status.DELIVERED), ("c", Status.ACCEPTED), ("d", None)):
        await observed(ledger, name, came=came)

    said = await shell.run("observe-report", **own)

    heading, line, remark = said.out.splitlines()
    assert (said.code, said.err) == (REACHED, "")
    assert heading.split("  ")[0] == "kind"
    assert line.split() == ["password_reset", "email", "4", "1", "2", "0", "1", "-"]
    assert remark == "accepted to silent: what callbacks said, each of what would have been sent"


async def test_a_program_gets_every_count_by_name(shell: Shell, own: dict[str, str], ledger: Ledger) -> None:
    await observed(ledger, "a", came=Status.DELIVERED)

    said = await shell.run("observe-report", "--json", **own)

    assert json.loads(said.out) == [
        {
            "kind": "password_reset",
            "channel": "email",
            "would_have_sent": 1,
            "accepted": 0,
            "delivered": 1,
            "failed": 0,
            "silent": 0,
            "challenges": None,
            "consumed": None,
        }
    ]


@pytest.mark.parametrize(("since", "counts"), [("2d", 1), ("4d", 2), ("100h", 2), ("2h", 1), ("30s", 0)])
async def test_a_report_goes_back_as_far_as_it_is_asked(
    shell: Shell, own: dict[str, str], ledger: Ledger, since: str, counts: int
) -> None:
    await observed(ledger, "fresh")
    await observed(ledger, "old", age=OLD)

    said = await shell.run("observe-report", "--since", since, "--json", **own)

    assert sum(line["would_have_sent"] for line in json.loads(said.out)) == counts


async def test_a_report_of_nothing_says_how_observing_begins(shell: Shell, own: dict[str, str]) -> None:
    said = await shell.run("observe-report", "--since", "2d", **own)

    assert said.code == REACHED
    assert "standby controls set observe on --why" in said.out
    assert json.loads((await shell.run("observe-report", "--json", **own)).out) == []


@pytest.mark.parametrize("since", ["yesterday", "2", "-1d", ""])
async def test_a_stretch_that_is_no_duration_is_bad_input(shell: Shell, since: str) -> None:
    said = await shell.run("observe-report", "--since", since)

    assert (said.code, said.out) == (BAD, "")
    assert said.err.startswith("--since: must be a duration")


async def test_without_a_ledger_there_is_no_report(alone: Shell) -> None:
    assert (await alone.run("observe-report")).code == UNREACHABLE
