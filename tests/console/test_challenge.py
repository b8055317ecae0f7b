"""`standby show verification:ID`: the four facts, as somebody on call reads them."""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from activities.store.ledger import Ledger
from activities.store.notices import Terms
from tests.console.shell import BAD, REACHED, Shell
from tests.store.challenge_facts import EXPIRES, ID, asked, challenge, claimed, link, opened, wrong
from tests.store.facts import DIGEST, EXPIRY, NOW, POLICY, REQUEST, after
from workflows import calls
from workflows.policy.keys import attempted, verification_id
from workflows.policy.models import Result
from workflows.policy.plan import Rule
from workflows.policy.progress import Progress
from workflows.policy.words import ChallengeState, Method, Outcome

NAME = verification_id(ID)
LABELS = (
    *("challenge created", "message 1 asked for", "message 1 transport"),
    *("challenge consumed", "expires"),
)


async def test_a_challenge_that_nobody_used_tells_what_was_asked_for_and_nothing_more(
    shell: Shell, ledger: Ledger, own: dict[str, str]
) -> None:
    await opened(ledger)
    await claimed(ledger)
    said = await shell.run("show", NAME, **own)

    assert (said.code, said.err) == (REACHED, "")
    lines = said.out.splitlines()
    assert lines[0] == NAME
    told = {name: line for name in LABELS for line in lines if line.startswith(name)}
    assert list(told) == list(LABELS)
    assert "2026-03-01 12:00:00Z" in told["challenge created"]
    assert "by a person" in told["message 1 asked for"]
    assert f"standby show signup_verification:{ID}:account-1" in told["message 1 transport"]
    assert "no wrong codes" in told["challenge consumed"]
    assert "signup of account-1, by link or code" in told["challenge created"]


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
    assert "1 wrong code" in page
    assert [line.split()[-1] for line in page.splitlines() if line.startswith("ended")] == ["consumed"]


async def test_a_link_that_nobody_can_guess_has_no_count_of_guesses(
    shell: Shell, ledger: Ledger, own: dict[str, str]
) -> None:
    await opened(ledger, challenge(method=Method.LINK))
    page = (await shell.run("show", NAME, **own)).out

    assert "wrong code" not in page
    assert "signup of account-1, by link" in page


async def test_a_challenge_whose_time_is_over_is_not_told_as_one_that_waits(
    shell: Shell, ledger: Ledger, own: dict[str, str]
) -> None:
    await opened(ledger, at=datetime.now(UTC) - timedelta(hours=1))
    lines = (await shell.run("show", NAME, **own)).out.splitlines()

    assert lines[1].startswith("active: its time is over, and its secrets fail; no worker has ended it yet")


async def test_a_challenge_that_nobody_used_waits(shell: Shell, ledger: Ledger, own: dict[str, str]) -> None:
    # The command reads the host's clock.
    await opened(ledger, at=datetime.now(UTC))
    lines = (await shell.run("show", NAME, **own)).out.splitlines()

    assert lines[1] == "active: nobody has shown yet that the address is theirs"


async def closed(ledger: Ledger, *, minutes: float = 2) -> str:
    """Admit the first message of the challenge, withdraw it after so long, and return its key."""
    key = attempted(await claimed(ledger)).notice_key
    at = after(minutes=minutes)
    ended = Result(key=key, outcome=Outcome.WITHDRAWN, rule=Rule.WITHDRAWN, closed_at=at)
    closing = calls.Decision(
        number=2,
        rule=Rule.WITHDRAWN,
        action="close",
        at=at,
        progress=Progress.begin(key, POLICY.route, EXPIRES),
        policy_digest=DIGEST,
    )
    await ledger.decisions.put("run-2", closing, answer=None, reason=None, at=at)
    await ledger.notices.close(ended, (), at=at)
    return key


async def another(ledger: Ledger) -> None:
    await asked(ledger)


async def consumed(ledger: Ledger) -> None:
    await ledger.challenges.consume(ID, link(), "try-1", at=after(minutes=1))


async def guessed(ledger: Ledger) -> None:
    for number in range(5):
        await ledger.challenges.consume(ID, wrong(number), f"try-{number}", at=after(minutes=1))


async def withdrawn(ledger: Ledger) -> None:
    await ledger.challenges.end(ID, ChallengeState.WITHDRAWN, at=after(minutes=1))


async def expired(ledger: Ledger) -> None:
    await ledger.challenges.end(ID, ChallengeState.EXPIRED, at=after(minutes=1))


async def nothing(_: Ledger) -> None:
    """Leave the verification as it is."""


@pytest.mark.parametrize(
    ("happened", "why"),
    [
        (another, "a later message of the same verification replaced it"),
        (consumed, "its verification was consumed"),
        (guessed, "its verification ended by too many wrong codes"),
        (expired, "its verification has expired"),
        (withdrawn, "the caller withdrew its verification"),
        (nothing, "it is no longer needed"),
    ],
)
async def test_a_message_that_was_withdrawn_says_what_its_verification_knows_of_it(
    shell: Shell,
    ledger: Ledger,
    own: dict[str, str],
    happened: Callable[[Ledger], Awaitable[None]],
    why: str,
) -> None:
    await opened(ledger)
    await happened(ledger)
    key = await closed(ledger)

    page = " ".join((await shell.run("show", key, **own)).out.split())

    assert f"closed: withdrawn ({why})" in page
    assert f"close: {why}" in page


async def test_a_message_that_was_withdrawn_before_the_next_one_was_asked_for_was_not_replaced(
    shell: Shell, ledger: Ledger, own: dict[str, str]
) -> None:
    await opened(ledger)
    await asked(ledger, at=after(minutes=1))
    key = await closed(ledger, minutes=0.5)

    assert "closed: withdrawn (it is no longer needed)" in (await shell.run("show", key, **own)).out


async def test_an_ordinary_notice_that_shares_its_event_with_a_verification_is_no_message_of_it(
    shell: Shell, ledger: Ledger, own: dict[str, str]
) -> None:
    await opened(ledger)
    await consumed(ledger)
    request = REQUEST.model_copy(update={"event_id": ID})
    await ledger.notices.admit(request, Terms(POLICY, DIGEST, EXPIRY, "run-1"), at=NOW)
    ended = Result(key=request.key, outcome=Outcome.WITHDRAWN, rule=Rule.WITHDRAWN, closed_at=EXPIRY)
    await ledger.notices.close(ended, (), at=EXPIRY)

    assert "(it is no longer needed)" in (await shell.run("show", request.key, **own)).out


async def test_what_only_the_engine_knows_of_a_message_is_asked_of_it_and_a_deaf_one_is_noted(
    shell: Shell, alone: Shell, ledger: Ledger, own: dict[str, str]
) -> None:
    await opened(ledger)
    for there, why in ((shell, "the engine knows no run of it"), (alone, "no Temporal engine at ")):
        said = await there.run("show", NAME, **own)
        (note,) = said.err.splitlines()
        assert note.startswith("note: what no worker has admitted is as of the ledger: ")
        assert why in note
        assert "no worker has admitted it yet; see: standby show" in said.out


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
