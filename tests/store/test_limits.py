"""How many messages an account and a destination get, whoever asks, in whichever process."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store.challenge_rows import ChallengeRow, DeliveryRow
from activities.store.challenge_tables import deliveries
from activities.store.challenges import Destinations, Duplicate
from activities.store.database import reading
from activities.store.engine import open_engine
from activities.store.ledger import Ledger
from tests.store.challenge_facts import ID, TERMS, asked, challenge, claimed, digest, elsewhere, opened
from tests.store.facts import NOW, after, report
from workflows.policy.controls import Control
from workflows.policy.models import Result
from workflows.policy.resend import Denied
from workflows.policy.terms import ChallengeTerms, Limit
from workflows.policy.verification import Denial
from workflows.policy.words import ChallengeState, Outcome, Source, Status

ROOT = Path(__file__).parents[2]
HOUR = timedelta(hours=1)
A_MOMENT = timedelta(microseconds=1)
MANY = Limit(count=10_000, per=HOUR)


def limited(*, account: int | None = None, destination: int | None = None) -> ChallengeTerms:
    """Return terms where one limit is small and nothing else stands in the way."""
    return ChallengeTerms(
        resends=20,
        cooldown=A_MOMENT,
        per_account=Limit(count=account, per=HOUR) if account else MANY,
        per_destination=Limit(count=destination, per=HOUR) if destination else MANY,
    )


async def open_one(
    ledger: Ledger,
    n: int,
    terms: ChallengeTerms,
    *,
    account: str | None = None,
    to: Destinations | None = None,
    at: datetime = NOW,
) -> ChallengeRow | Denied | Duplicate:
    """Open the n-th challenge, for an account and destinations of its own where none are named."""
    new = challenge(f"challenge-{n}", account=account or f"account-{n}", at=at)
    return await opened(ledger, new, to=to or elsewhere(f"{n}"), terms=terms, at=at)


async def counted(engine: AsyncEngine) -> int:
    async with reading(engine) as connection:
        number: int = (await connection.execute(select(func.count()).select_from(deliveries))).scalar_one()
    return number


async def test_an_account_gets_as_many_as_its_limit_across_challenges_and_destinations(
    ledger: Ledger,
) -> None:
    terms = limited(account=3)

    for n in range(3):
        assert isinstance(await open_one(ledger, n, terms, account="a", at=after(minutes=n)), ChallengeRow)

    assert await open_one(ledger, 3, terms, account="a", at=after(minutes=3)) == (Denial.ACCOUNT, NOW + HOUR)
    assert isinstance(await open_one(ledger, 4, terms, account="b", at=after(minutes=3)), ChallengeRow)


EMAIL, PHONE = digest("email"), digest("phone")


@pytest.mark.parametrize(
    ("to", "same"),
    [
        (Destinations(EMAIL, None), Destinations(EMAIL, None)),
        (Destinations(None, PHONE), Destinations(None, PHONE)),
        (Destinations(EMAIL, PHONE), Destinations(EMAIL, None)),
        (Destinations(EMAIL, PHONE), Destinations(None, PHONE)),
        (Destinations(EMAIL, digest("one")), Destinations(EMAIL, digest("another"))),
        (Destinations(digest("one"), PHONE), Destinations(digest("another"), PHONE)),
    ],
)
async def test_a_destination_gets_as_many_as_its_limit_across_challenges_and_accounts(
    ledger: Ledger, to: Destinations, same: Destinations
) -> None:
    terms = limited(destination=2)

    for n in range(2):
        assert isinstance(await open_one(ledger, n, terms, to=to, at=after(minutes=n)), ChallengeRow)

    refused = await open_one(ledger, 2, terms, to=same, at=after(minutes=2))
    assert refused == (Denial.DESTINATION, NOW + HOUR)
    assert isinstance(await open_one(ledger, 3, terms, at=after(minutes=2)), ChallengeRow)


async def test_an_email_is_not_a_number_though_their_hashes_be_equal(ledger: Ledger) -> None:
    terms = limited(destination=1)

    assert isinstance(await open_one(ledger, 1, terms, to=Destinations(EMAIL, None)), ChallengeRow)
    assert isinstance(await open_one(ledger, 2, terms, to=Destinations(None, EMAIL)), ChallengeRow)


async def test_a_destination_that_a_challenge_does_not_have_is_shared_with_nobody(ledger: Ledger) -> None:
    terms = limited(destination=1)

    for n in range(3):
        to = Destinations(digest(f"{n}"), None)
        assert isinstance(await open_one(ledger, n, terms, to=to), ChallengeRow)


@pytest.mark.parametrize(
    "terms", [limited(account=1), limited(destination=1)], ids=["account", "destination"]
)
async def test_a_message_counts_until_the_moment_before_its_stretch_ends(
    ledger: Ledger, terms: ChallengeTerms
) -> None:
    await open_one(ledger, 1, terms, account="a", to=elsewhere("a"))

    early = await open_one(ledger, 2, terms, account="a", to=elsewhere("a"), at=NOW + HOUR - A_MOMENT)
    due = await open_one(ledger, 3, terms, account="a", to=elsewhere("a"), at=NOW + HOUR)

    assert isinstance(early, tuple)
    assert early[1] == NOW + HOUR
    assert isinstance(due, ChallengeRow)


async def test_a_limit_reaches_back_from_now_and_not_from_the_first_message(ledger: Ledger) -> None:
    terms = limited(account=2)
    lasting = challenge().model_copy(update={"expires_at": after(days=1)})
    await opened(ledger, lasting, terms=terms)
    await asked(ledger, "early", terms=terms, at=after(minutes=50))

    assert await asked(ledger, "soon", terms=terms, at=after(minutes=55)) == (Denial.ACCOUNT, after(hours=1))
    assert isinstance(await asked(ledger, "later", terms=terms, at=after(minutes=61)), DeliveryRow)
    assert await asked(ledger, "again", terms=terms, at=after(minutes=62)) == (
        Denial.ACCOUNT,
        after(minutes=110),
    )


async def test_messages_that_were_asked_for_count_with_the_first_ones(ledger: Ledger) -> None:
    terms = limited(account=3)
    await opened(ledger, terms=terms)
    for number in (1, 2):
        assert isinstance(
            await asked(ledger, f"{number}", terms=terms, at=after(minutes=number)), DeliveryRow
        )

    assert await asked(ledger, "3", terms=terms, at=after(minutes=3)) == (Denial.ACCOUNT, NOW + HOUR)
    refused = await open_one(ledger, 2, terms, account=challenge().account_id, at=after(minutes=3))
    assert refused == (Denial.ACCOUNT, NOW + HOUR)


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("by", ["account", "destination"])
async def test_of_many_at_once_exactly_as_many_as_the_limit_succeed(
    engine: AsyncEngine, ledgers: tuple[Ledger, Ledger], by: str, count: int
) -> None:
    terms = limited(**{by: count})
    account, to = ("a", None) if by == "account" else (None, elsewhere("a"))

    answers = await asyncio.gather(
        *[open_one(each, n, terms, account=account, to=to) for n, each in enumerate(ledgers * 10)]
    )

    why = Denial.ACCOUNT if by == "account" else Denial.DESTINATION
    assert sum(isinstance(each, ChallengeRow) for each in answers) == count
    assert answers.count((why, NOW + HOUR)) == 20 - count
    assert await counted(engine) == count


async def test_opening_and_asking_at_once_keep_the_limit_together(
    engine: AsyncEngine, ledgers: tuple[Ledger, Ledger]
) -> None:
    terms = limited(account=6)
    for n in range(4):
        await open_one(ledgers[0], n, terms, account="a")

    moments = [after(seconds=1 + n) for n in range(12)]
    await asyncio.gather(
        *[
            asked(each, f"{n}", challenge_id=f"challenge-{n % 4}", terms=terms, at=moments[n])
            for n, each in enumerate(ledgers * 6)
        ],
        *[open_one(each, 10 + n, terms, account="a", at=moments[n]) for n, each in enumerate(ledgers * 6)],
    )

    assert await counted(engine) == 6


_OPEN = """
import asyncio, sys
from activities.store.challenges import Destinations
from activities.store.engine import open_engine
from activities.store.ledger import Ledger
from tests.store.test_limits import limited, open_one

async def main(url, process):
    engine = await open_engine(url)
    ledger = Ledger(engine)
    numbers = range(int(process) * 100, int(process) * 100 + 10)
    input()
    answers = await asyncio.gather(*[open_one(ledger, n, limited(account=5), account="a") for n in numbers])
    print(sum(not isinstance(each, tuple) for each in answers))
    await engine.dispose()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_limit_holds_across_processes_and_restarts(url: str, engine: AsyncEngine) -> None:
    started = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", _OPEN, url, f"{process}", cwd=ROOT, stdin=PIPE, stdout=PIPE, stderr=PIPE
        )
        for process in (1, 2, 3)
    ]

    said = await asyncio.gather(*[each.communicate(b"go\n") for each in started])

    assert [errors for _, errors in said] == [b""] * 3
    assert sum(int(successes) for successes, _ in said) == await counted(engine) == 5
    restarted = await open_engine(url)
    assert await open_one(Ledger(restarted), 1000, limited(account=5), account="a") == (
        Denial.ACCOUNT,
        NOW + HOUR,
    )
    await restarted.dispose()


async def test_what_is_refused_leaves_no_row(engine: AsyncEngine, ledger: Ledger) -> None:
    terms = limited(account=1)
    await opened(ledger, terms=terms)

    await open_one(ledger, 2, terms, account=challenge().account_id)
    await asked(ledger, terms=terms)

    assert await counted(engine) == 1
    assert await ledger.challenges.find("challenge-2") is None


async def test_a_refusal_is_not_remembered(ledger: Ledger) -> None:
    terms = limited(account=1)
    await opened(ledger, challenge().model_copy(update={"expires_at": after(days=1)}), terms=terms)
    assert isinstance(await asked(ledger, terms=terms), tuple)

    assert isinstance(await asked(ledger, terms=terms, at=after(hours=1)), DeliveryRow)


async def test_a_retry_at_the_limit_gets_its_challenge_and_counts_nothing(
    engine: AsyncEngine, ledger: Ledger
) -> None:
    terms = limited(account=1)
    await opened(ledger, terms=terms)

    assert await opened(ledger, terms=terms, at=after(minutes=1)) == challenge()
    assert await counted(engine) == 1


async def test_a_dispatch_that_may_still_arrive_refuses_another_message_until_it_settles(
    ledger: Ledger,
) -> None:
    await opened(ledger)
    attempt = await claimed(ledger)

    assert await asked(ledger) == (Denial.AMBIGUOUS, None)
    await ledger.evidence.observe(report(Status.PENDING, key=attempt, source=Source.SEND), at=NOW)
    assert isinstance(await asked(ledger), DeliveryRow)


async def test_a_dispatch_that_nobody_waits_for_any_more_refuses_nothing(ledger: Ledger) -> None:
    await opened(ledger)
    await claimed(ledger)
    key = f"signup_verification:{ID}:{challenge().account_id}"
    closed = Result(key=key, outcome=Outcome.WITHDRAWN, rule="withdrawn", closed_at=NOW)

    await ledger.notices.close(closed, (), at=NOW)

    assert isinstance(await asked(ledger), DeliveryRow)


async def test_an_operator_may_allow_another_message_over_one_that_may_still_arrive(ledger: Ledger) -> None:
    await opened(ledger)
    await claimed(ledger)

    allowed = TERMS.model_copy(update={"resend_over_ambiguous": True})
    assert isinstance(await asked(ledger, terms=allowed), DeliveryRow)


async def test_a_dispatch_of_another_challenge_refuses_nothing(ledger: Ledger) -> None:
    await opened(ledger)
    await opened(ledger, challenge("challenge-2"))
    await claimed(ledger, "challenge-2")

    assert isinstance(await asked(ledger), DeliveryRow)


async def test_the_pause_counts_from_the_last_message_and_their_number_has_an_end(ledger: Ledger) -> None:
    terms = ChallengeTerms(resends=2, cooldown=timedelta(seconds=30))
    await opened(ledger, terms=terms)

    assert await asked(ledger, "1", terms=terms, at=after(seconds=29)) == (Denial.COOLDOWN, after(seconds=30))
    assert isinstance(await asked(ledger, "1", terms=terms, at=after(seconds=30)), DeliveryRow)
    assert await asked(ledger, "2", terms=terms, at=after(seconds=59)) == (Denial.COOLDOWN, after(seconds=60))
    assert isinstance(await asked(ledger, "2", terms=terms, at=after(seconds=60)), DeliveryRow)
    assert await asked(ledger, "3", terms=terms, at=after(minutes=5)) == (Denial.MAXIMUM, None)


async def test_a_switch_that_is_off_stops_another_message_and_not_the_first(ledger: Ledger) -> None:
    assert isinstance(await opened(ledger), ChallengeRow)

    assert await asked(ledger, control=Control(on=False)) == (Denial.SWITCHED_OFF, None)


@pytest.mark.parametrize("state", [ChallengeState.WITHDRAWN, ChallengeState.DEAD, ChallengeState.EXPIRED])
async def test_nothing_more_is_sent_for_a_challenge_that_is_over(
    ledger: Ledger, state: ChallengeState
) -> None:
    await opened(ledger)
    await ledger.challenges.end(ID, state, at=NOW)

    assert await asked(ledger) == (Denial.OVER, None)


async def test_nothing_more_is_sent_from_the_moment_of_expiry(ledger: Ledger) -> None:
    await opened(ledger)

    assert await asked(ledger, at=challenge().expires_at) == (Denial.OVER, None)
    assert isinstance(await asked(ledger, at=challenge().expires_at - A_MOMENT), DeliveryRow)
