"""`standby observe-report`: what would have been sent, beside what became known of it all the same."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from activities.observing import OBSERVER
from activities.store.ledger import Ledger
from activities.store.notices import Terms
from tests.console.shell import BAD, REACHED, UNREACHABLE, Shell, document
from tests.store.challenge_facts import challenge, code, elsewhere, opened
from tests.store.facts import DIGEST, EMAIL_HASH, EXPIRY, NOW, POLICY, SMS_HASH, report
from workflows.policy.keys import attempt_key
from workflows.policy.models import NoticeRequest, Recipient
from workflows.policy.verification import KIND
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


async def carried(ledger: Ledger, challenge_id: str) -> None:
    """Put a text on record that would have carried a challenge."""
    await opened(ledger, challenge(challenge_id, account=challenge_id), to=elsewhere(challenge_id))
    request = NoticeRequest(kind=KIND, event_id=challenge_id, recipient=Recipient(id=challenge_id))
    await ledger.notices.admit(request, Terms(POLICY, DIGEST, EXPIRY, "run-1"), at=NOW)
    key = attempt_key(request.key, Channel.SMS)
    await ledger.attempts.claim(key, provider=OBSERVER, address_hash=SMS_HASH, at=NOW)


async def stray(ledger: Ledger, provider: str, event: str) -> None:
    """Keep a report aside that names a message of nobody."""
    told = report(Status.DELIVERED, source=Source.CALLBACK)
    at = datetime.now(UTC) - OLD
    await ledger.strays.put(provider, told, provider_id=f"of-{event}", event_id=event, at=at)


async def report_of(shell: Shell, own: dict[str, str]) -> list[dict[str, Any]]:
    """Return the report as a program reads it."""
    told: list[dict[str, Any]] = json.loads((await shell.run("observe-report", "--json", **own)).out)
    return told


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


async def test_challenges_that_were_consumed_stand_beside_what_would_have_been_sent(
    shell: Shell, own: dict[str, str], ledger: Ledger
) -> None:
    for name in ("used", "open", "other"):
        await carried(ledger, name)
    await ledger.challenges.consume("used", code("used"), "try-1", at=NOW)
    await observed(ledger, "reset")

    said = await shell.run("observe-report", **own)
    lines = {each.split()[0]: each.split() for each in said.out.splitlines()}
    told = {each["kind"]: each for each in await report_of(shell, own)}

    assert lines[KIND][1:3] == ["sms", "3"]
    assert lines[KIND][-3:] == ["1", "of", "3"]
    assert lines["password_reset"][-1] == "-"
    assert said.out.count("consumed: of the challenges they would have carried") == 1
    assert (told[KIND]["would_have_sent"], told[KIND]["challenges"], told[KIND]["consumed"]) == (3, 3, 1)
    assert (told["password_reset"]["challenges"], told["password_reset"]["consumed"]) == (None, None)


async def test_reports_that_fit_no_message_are_counted_by_provider(
    shell: Shell, own: dict[str, str], ledger: Ledger
) -> None:
    for provider, event in (("twilio", "a"), ("twilio", "b"), ("sandbox", "a")):
        await stray(ledger, provider, event)

    said = await shell.run("observe-report", **own)

    assert said.out.splitlines()[-1].startswith(
        "kept aside, for 7d: 3 reports fit no message on record"
        " (sandbox 1, last 3 days ago, twilio 2, last 3 days ago): "
    )
    assert await report_of(shell, own) == []


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
