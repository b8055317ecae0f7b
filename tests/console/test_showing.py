import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from socket import create_server
from typing import Any

import pytest

from activities.connect import connect
from activities.keyring import Keyring
from activities.store.ledger import Ledger
from client.starting import begin
from tests.console.conftest import DESERTED, REFUSAL, REFUSING, SILENT, Town
from tests.console.shell import BAD, REACHED, UNREACHABLE, Shell, document, key
from tests.store import facts
from tests.workflows.fakes import World
from tests.workflows.policies import EMAIL_ONLY
from tests.workflows.stage import worker
from workflows import calls
from workflows.policy import contract, state
from workflows.policy.models import Result
from workflows.policy.plan import Rule
from workflows.policy.progress import Progress
from workflows.policy.words import AttemptState, Channel, Outcome, Source, Status

KEYS = [
    *("key", "kind", "phase", "channel", "outcome", "expires_at", "next_at"),
    *("attempts", "observations", "decisions", "pruned_at"),
]


async def show(shell: Shell, notice: str, **changed: str) -> dict[str, Any]:
    """Return the story as a program reads it; only notes go to stderr."""
    said = await shell.run("show", notice, "--json", **changed)
    assert said.code == REACHED
    assert all(line.startswith("note: ") for line in said.err.splitlines())
    told: dict[str, Any] = json.loads(said.out)
    assert list(told) == KEYS
    return {**told, "notes": said.err}


def decision(number: int, rule: Rule, action: str, channel: Channel) -> calls.Decision:
    return calls.Decision(
        number=number,
        rule=rule,
        action=action,
        channel=channel,
        at=facts.after(seconds=number),
        progress=Progress.begin(facts.KEY, facts.POLICY.route, facts.EXPIRY),
        policy_digest=facts.DIGEST,
    )


async def open_notice(ledger: Ledger) -> None:
    """Put a notice on record whose email is out and whose next read is due at a known time."""
    await facts.admit(ledger)
    await ledger.decisions.put(
        "run-1", decision(1, Rule.FIRST, "send", Channel.EMAIL), answer="yes", reason=None, at=facts.NOW
    )
    await facts.claim(ledger)
    sent = facts.report(Status.PENDING, source=Source.SEND)
    await ledger.evidence.observe(sent, at=facts.NOW, next_at=facts.after(seconds=15))


async def closed_notice(ledger: Ledger) -> None:
    """Close it as delivered by email; one report is refused, and one comes late."""
    await open_notice(ledger)
    delivered = facts.report(Status.DELIVERED, is_final=True, at=facts.after(seconds=15))
    await ledger.evidence.observe(delivered, at=delivered.at)
    bounced = facts.report(Status.INVALID_RECIPIENT, source=Source.CALLBACK, at=facts.after(seconds=20))
    await ledger.evidence.observe(bounced, at=bounced.at)
    result = Result(
        key=facts.KEY,
        outcome=Outcome.DELIVERED,
        channel=Channel.EMAIL,
        rule=Rule.SETTLED,
        closed_at=facts.after(seconds=21),
    )
    await ledger.notices.close(result, (), at=result.closed_at)
    late = facts.report(Status.PENDING, source=Source.CALLBACK, event_id="late", at=facts.after(minutes=5))
    await ledger.evidence.observe(late, at=late.at)


async def test_a_closed_notice_is_told_when_no_engine_knows_it(
    alone: Shell, ledger: Ledger, own: dict[str, str]
) -> None:
    await closed_notice(ledger)
    told = await show(alone, facts.KEY, **own)
    assert (told["phase"], told["outcome"], told["channel"]) == ("closed", "delivered", "email")
    assert told["next_at"] is None
    assert [(each["state"], each["status"]) for each in told["attempts"]] == [("confirmed", "delivered")]
    assert [each["verdict"] for each in told["observations"]] == ["applied", "applied", "refused", "late"]
    assert [(each["rule"], each["answer"]) for each in told["decisions"]] == [("first", "yes")]
    assert told["notes"] == ""


async def test_hashes_of_addresses_are_not_shown(shell: Shell, ledger: Ledger, own: dict[str, str]) -> None:
    await closed_notice(ledger)
    for form in ((), ("--json",)):
        assert facts.EMAIL_HASH not in (await shell.run("show", facts.KEY, *form, **own)).out


async def test_the_page_tells_it_all_in_80_columns(shell: Shell, ledger: Ledger, own: dict[str, str]) -> None:
    await closed_notice(ledger)
    said = await shell.run("show", facts.KEY, **own)
    assert said.code == REACHED
    assert all(len(line) <= 80 and line == line.rstrip() for line in said.out.splitlines())
    assert "\x1b" not in said.out
    flat = " ".join(said.out.split())
    for told in (
        f"{facts.KEY} closed: delivered on email (the evidence asked for is there)",
        "email confirmed delivered, final",
        "email is id-1 at sandbox",
        'email poll: delivered, final ("delivered")',
        f"refused: {state.TABLE[AttemptState.CONFIRMED][Status.INVALID_RECIPIENT, False].reason}",
        "late: ",
        "send email: nothing was sent yet; the check said yes",
        "2026-03-01 12:00:15Z",
        "told by the ledger alone: the engine has it no longer",
    ):
        assert told in flat


async def test_a_closed_notice_is_told_by_the_ledger_alone_where_no_engine_answers(
    alone: Shell, ledger: Ledger, own: dict[str, str]
) -> None:
    await closed_notice(ledger)
    said = await alone.run("show", facts.KEY, **own)

    assert (said.code, said.err) == (REACHED, "")
    assert "told by  the ledger alone: no engine answers" in said.out


async def test_an_attempt_key_shows_its_notice(shell: Shell, ledger: Ledger, own: dict[str, str]) -> None:
    await closed_notice(ledger)
    assert (await show(shell, facts.EMAIL, **own))["key"] == facts.KEY


async def test_an_open_notice_is_told_from_the_ledger_alone_where_no_engine_answers(
    alone: Shell, ledger: Ledger, own: dict[str, str]
) -> None:
    await open_notice(ledger)
    told = await show(alone, facts.KEY, **own)
    assert told["next_at"] == "2026-03-01T12:00:15Z"
    assert f"no Temporal engine at {alone.environ['TEMPORAL_ADDRESS']}" in told["notes"]


@pytest.fixture
def deaf() -> Iterator[str]:
    """An address that takes connections and never answers."""
    with create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


async def test_an_engine_that_never_answers_does_not_hang_it(
    shell: Shell, ledger: Ledger, own: dict[str, str], deaf: str
) -> None:
    await open_notice(ledger)
    told = await show(shell, facts.KEY, **{**own, "TEMPORAL_ADDRESS": deaf})
    assert "no answer in time" in told["notes"]


async def test_an_open_notice_without_a_run_says_that_nothing_more_happens(
    shell: Shell, ledger: Ledger, own: dict[str, str]
) -> None:
    await open_notice(ledger)
    told = await show(shell, facts.KEY, **own)
    assert (told["outcome"], told["next_at"]) == (None, None)
    assert "the engine knows no run of it" in told["notes"]


async def test_a_running_notice_says_what_is_next_and_when(shell: Shell, town: Town) -> None:
    begun = await begin(town.client, contract.validate(document("showing-1")), task_queue=SILENT)
    told = await show(shell, begun.handle.id)
    while told["phase"] != "awaiting":
        told = await show(shell, begun.handle.id)
    assert told["channel"] == "email"
    assert told["next_at"] < told["expires_at"]
    page = await shell.run("show", begun.handle.id)
    assert "awaiting on email" in page.out
    assert "wait until the next poll" in page.out


async def test_without_a_worker_it_says_so_and_does_not_hang(shell: Shell, town: Town) -> None:
    begun = await begin(town.client, contract.validate(document("showing-2")), task_queue=DESERTED)
    told = await show(shell, begun.handle.id)
    assert (told["phase"], told["kind"], told["attempts"]) == ("queued", "password_reset", [])
    assert "no worker answers" in told["notes"]


async def test_a_refused_notice_says_why(shell: Shell) -> None:
    file = shell.file(document("showing-3"))
    await shell.run("send", file, "--wait", STANDBY_TASK_QUEUE=REFUSING)
    told = await show(shell, key("showing-3"))
    assert (told["phase"], told["outcome"]) == ("closed", "refused")
    assert [(each["action"], each["reason"]) for each in told["decisions"]] == [("close", REFUSAL)]
    assert f"closed: refused ({REFUSAL})" in (await shell.run("show", key("showing-3"))).out


async def test_a_run_that_ended_without_a_result_is_noted(shell: Shell, town: Town) -> None:
    begun = await begin(town.client, contract.validate(document("showing-4")), task_queue=DESERTED)
    await begun.handle.terminate()
    assert "its run has ended without a result" in (await show(shell, begun.handle.id))["notes"]
    page = (await shell.run("show", begun.handle.id)).out
    assert "queued, and its run has ended without a result: " in page.splitlines()[1]
    assert "next nothing" in " ".join(page.split())


async def test_a_worker_with_other_keys_is_told_from_no_worker(shell: Shell, town: Town) -> None:
    begun = await begin(town.client, contract.validate(document("showing-6")), task_queue="locked-out")
    stranger = await connect(Keyring.create(shell.folder / "other.toml"), environ=town.environ)
    async with worker(stranger, World(EMAIL_ONLY), "locked-out"):
        said = ""
        async with asyncio.timeout(60):
            while "cannot go on" not in said:
                # The worker of this process logs its trouble to the same stderr.
                said = (await shell.run("show", begun.handle.id)).err
    (note,) = [line for line in said.splitlines() if line.startswith("note: ")]
    assert note.startswith("note: it runs, and a worker answers but cannot go on: no key ")


@pytest.mark.parametrize(
    ("notice", "says"),
    [
        pytest.param(
            "password_reset:nobody:user-1", "no such notice; start one with: standby send", id="unknown"
        ),
        pytest.param(
            "password_reset", "KEY: not a notice key: it must read kind:event:recipient", id="no key"
        ),
    ],
)
async def test_an_unknown_key_is_one_line(shell: Shell, notice: str, says: str) -> None:
    said = await shell.run("show", notice)
    assert (said.code, said.out) == (BAD, "")
    (line,) = said.err.splitlines()
    assert says in line


async def test_a_ledger_that_is_not_migrated_says_what_to_do(alone: Shell, tmp_path: Path) -> None:
    said = await alone.run("show", facts.KEY, STANDBY_DATABASE_URL=f"sqlite:///{tmp_path / 'new.db'}")
    assert said.code == UNREACHABLE
    assert "standby migrate" in said.err


async def test_a_withdrawn_notice_closes_and_cannot_be_withdrawn_again(shell: Shell, town: Town) -> None:
    begun = await begin(town.client, contract.validate(document("showing-5")), task_queue=SILENT)
    said = await shell.run("withdraw", begun.handle.id)
    assert (said.code, said.err) == (REACHED, "")
    assert (await begun.handle.result()).outcome is Outcome.WITHDRAWN
    again = await shell.run("withdraw", begun.handle.id)
    assert again.code == BAD
    assert f"standby show {begun.handle.id}" in again.err
