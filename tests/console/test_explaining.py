import json

import pytest

from activities.store.ledger import Ledger
from tests.console.shell import BAD, REACHED, ROOT, Shell
from tests.store import facts
from workflows import calls
from workflows.policy import policy_file
from workflows.policy.controls import Control, Switch
from workflows.policy.models import Result
from workflows.policy.plan import Rule
from workflows.policy.progress import Progress
from workflows.policy.words import Channel, Outcome, Source, Status

DIGEST = policy_file.digest(facts.POLICY)
DIFFERENT = 1


async def live(ledger: Ledger, *, rule: Rule = Rule.FIRST) -> None:
    """Put a notice on record whose email is out, by a decision of that rule."""
    await facts.admit(ledger, digest=DIGEST)
    decision = calls.Decision(
        number=1,
        rule=rule,
        action="send",
        channel=Channel.EMAIL,
        at=facts.NOW,
        progress=Progress.begin(facts.KEY, facts.POLICY.route, facts.EXPIRY),
        policy_digest=DIGEST,
    )
    await ledger.decisions.put("run-1", decision, answer="yes", reason=None, at=facts.NOW)
    await facts.claim(ledger)
    await ledger.evidence.observe(facts.report(Status.PENDING, source=Source.SEND), at=facts.NOW)


async def pruned(ledger: Ledger) -> None:
    """Let a notice close, and delete its evidence."""
    await live(ledger)
    result = Result(key=facts.KEY, outcome=Outcome.UNKNOWN, rule="cutoff", closed_at=facts.after(minutes=9))
    await ledger.notices.close(result, (), at=result.closed_at)
    await ledger.retention.prune(facts.after(days=1), at=facts.after(days=90))


async def test_all_is_the_same_without_an_engine(alone: Shell, ledger: Ledger, own: dict[str, str]) -> None:
    await live(ledger)
    said = await alone.run("explain", facts.KEY, **own)
    assert (said.code, said.err) == (REACHED, "")
    flat = " ".join(said.out.split())
    for told in (
        "all the same, computed again by today's code: 1 decision, 1 check, 1 report, 1 attempt",
        f"terms {DIGEST}; the kinds are not at hand here (STANDBY_NOTICES)",
        "2026-03-01 12:00:00Z decision send email (first): same",
        "email check yes: same",
        "email attempt submitted, pending: same",
    ):
        assert told in flat


async def test_the_page_fits_into_80_columns(alone: Shell, ledger: Ledger, own: dict[str, str]) -> None:
    await live(ledger, rule=Rule.UNRESOLVED)
    said = await alone.run("explain", facts.KEY, **own)
    assert all(len(line) <= 80 and line == line.rstrip() for line in said.out.splitlines())


async def test_a_difference_is_told_with_its_reason_and_an_exit_code(
    alone: Shell, ledger: Ledger, own: dict[str, str]
) -> None:
    await live(ledger, rule=Rule.UNRESOLVED)
    await ledger.controls.put(Switch.DISPATCH, Control(on=False), by="ops", why="w", at=facts.after(hours=-1))
    said = await alone.run("explain", facts.KEY, **own)
    assert said.code == DIFFERENT
    flat = " ".join(said.out.split())
    assert "2 of these differ by today's code" in flat
    assert (
        "decision: different: recorded send email (unresolved), today send email (first)"
        " because the rule first says: nothing was sent yet" in flat
    )
    assert (
        "email check: different: recorded yes, today held, dispatch_off"
        " because the control dispatch was off since 2026-03-01 11:00:00Z" in flat
    )


async def test_a_program_reads_the_same_as_json(alone: Shell, ledger: Ledger, own: dict[str, str]) -> None:
    await live(ledger, rule=Rule.UNRESOLVED)
    said = await alone.run("explain", facts.KEY, "--json", **own)
    told = json.loads(said.out)
    assert (said.code, told["same"]) == (DIFFERENT, False)
    assert [(each["item"], each["same"]) for each in told["items"]] == [
        ("decision", False),
        ("check", True),
        ("report", True),
        ("attempt", True),
    ]
    assert facts.EMAIL_HASH not in said.out


async def test_a_kind_that_has_changed_since_is_told_and_is_no_difference(
    alone: Shell, ledger: Ledger, own: dict[str, str]
) -> None:
    await live(ledger)
    folder = alone.folder / "notices" / "password_reset"
    shipped = (ROOT / "notices" / "password_reset").iterdir()
    folder.mkdir(parents=True)
    for each in shipped:
        (folder / each.name).write_bytes(each.read_bytes())
    said = await alone.run("explain", facts.KEY, "--json", **own)
    policy = json.loads(said.out)["policy"]
    assert said.code == REACHED
    assert (policy["recorded"], policy["changed"]) == (DIGEST, ["email.polls", "essential", "sms.polls"])


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("password_reset:nobody:user-1", "is not in the ledger"),
        ("nonsense", "not a notice key"),
        ("verification:abcdefgh", "standby show verification:abcdefgh"),
    ],
)
async def test_what_is_no_notice_on_record_is_bad_input(
    alone: Shell, own: dict[str, str], key: str, why: str
) -> None:
    said = await alone.run("explain", key, **own)
    assert (said.code, said.out, len(said.err.splitlines())) == (BAD, "", 1)
    assert why in said.err


async def test_of_a_pruned_notice_nothing_is_left_to_be_computed(
    alone: Shell, ledger: Ledger, own: dict[str, str]
) -> None:
    await pruned(ledger)
    said = await alone.run("explain", facts.KEY, "--json", **own)
    assert (said.code, said.out) == (DIFFERENT, "")
    assert "its evidence was pruned at 2026-05-30 12:00:00Z" in said.err


async def test_an_attempt_s_key_names_its_notice(alone: Shell, ledger: Ledger, own: dict[str, str]) -> None:
    await live(ledger)
    assert (await alone.run("explain", facts.EMAIL, **own)).code == REACHED
