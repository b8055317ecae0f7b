"""Who may not be written to: learned from one notice, asked afresh before each message of the next."""

from datetime import timedelta
from uuid import uuid4

import httpx
import pytest
from temporalio.client import Client

from activities import reports
from activities.providers import sandbox
from activities.providers.base import Reported
from sandbox.fates import Fate
from tests.endtoend.deployment import Ending, Manner, Town, hashed, send
from tests.endtoend.scenes import Scenes, notice, together, until, within
from workflows import calls
from workflows.policy.models import Observation
from workflows.policy.words import AttemptState, Channel, Outcome, Source, Status, SuppressionReason, Verdict

Endings = Scenes[list[Ending]]

EMAIL, SMS = ("email", "accepted"), ("sms", "accepted")


async def suppressed_in_between(manner: Manner, client: Client) -> list[Ending]:
    """Let a person answer STOP while the email is silent."""
    request = notice("stops", Fate.SILENT, Fate.DELIVERED, expires_at=within(11))
    handle = await send(client, manner, request)
    await manner.submitted(request.key)
    async with manner.ledger() as ledger:
        await ledger.suppressions.put(
            hashed(manner, Channel.SMS, request.recipient.phone or ""),
            Channel.SMS,
            SuppressionReason.STOPPED,
            source_notice="another",
            observed_at=within(0),
        )
    return [await manner.ending(handle)]


async def bounced_thrice(manner: Manner, client: Client) -> list[Ending]:
    """Send three notices to an address that bounces; before the third, a person lifts the suppression."""
    requests = [notice("bounces", Fate.BOUNCED, Fate.ACCEPTED, event_id=each) for each in ("1", "2", "3")]
    first, second = [await manner.ending(await send(client, manner, each)) for each in requests[:2]]
    async with manner.ledger() as ledger:
        lifted = await ledger.suppressions.lift(
            hashed(manner, Channel.EMAIL, Fate.BOUNCED.email("bounces")),
            Channel.EMAIL,
            SuppressionReason.INVALID_RECIPIENT,
            by="the operator on call",
            at=within(0),
        )
    assert lifted
    return [first, second, await manner.ending(await send(client, manner, requests[2]))]


async def bounced_after_the_close(manner: Manner, client: Client) -> list[Ending]:
    """Take a bounce that comes after the notice has closed as delivered, and send the person another."""
    first, second = (notice("later", Fate.BOUNCED_LATER, Fate.ACCEPTED, event_id=each) for each in ("1", "2"))
    closed = await manner.ending(await send(client, manner, first))
    seen = await _bounce(manner, closed)
    await _run(client, manner, "record", calls.Record(observation=seen))
    await _run(
        client,
        manner,
        "suppress",
        calls.Suppress(
            notice_key=first.key,
            channel=Channel.EMAIL,
            address=first.recipient.email or "",
            reason=SuppressionReason.INVALID_RECIPIENT,
            observed_at=seen.at,
        ),
    )
    left = await manner.traces(closed.result)
    return [left, await manner.ending(await send(client, manner, second))]


async def _bounce(manner: Manner, closed: Ending) -> Observation:
    """Wait for the provider's second thoughts, and return them as its callback brings them."""
    row = closed.attempt(Channel.EMAIL)
    found: list[Reported] = []

    async def bounced() -> bool:
        async with httpx.AsyncClient(trust_env=False) as http:
            said = await sandbox.build(manner.settings, http).look_up(row.channel, row.key, row.provider_id)
        found.extend([said] if said else [])
        return found[-1].status is Status.INVALID_RECIPIENT

    await until(bounced)
    return reports.observation(found[-1], row.key, Source.CALLBACK, at=within(0), event_id="callback-1")


async def _run(client: Client, manner: Manner, activity: str, call: object) -> None:
    """Run one activity of the worker, as the receiver of callbacks will for a notice that has closed."""
    await client.execute_activity(
        activity,
        call,
        id=str(uuid4()),
        task_queue=manner.queue,
        start_to_close_timeout=timedelta(seconds=20),
    )


@pytest.fixture(scope="module")
async def endings(town: Town) -> Endings:
    async with town.deployment() as manner, manner.worker() as client:
        return await together(
            {
                "suppressed": suppressed_in_between(manner, client),
                "bounced": bounced_thrice(manner, client),
                "bounced later": bounced_after_the_close(manner, client),
            }
        )


def test_a_phone_that_is_suppressed_between_email_and_fallback_gets_no_text(
    endings: Endings,
) -> None:
    (left,) = endings["suppressed"]

    assert left.submissions == [EMAIL]
    # The email may still have arrived: nobody could say.
    assert left.result.outcome is Outcome.UNKNOWN
    refused = [each for each in left.story.decisions if each.channel is Channel.SMS]
    assert [(each.answer, each.reason) for each in refused] == [("no", "suppressed: stopped")]


def test_a_hard_bounce_sends_the_next_notice_straight_to_the_phone(endings: Endings) -> None:
    first, second, _ = endings["bounced"]

    assert first.submissions == [EMAIL, SMS]
    assert second.submissions == [SMS]
    answers = [(each.channel, each.answer, each.reason) for each in second.story.decisions[:2]]
    assert answers == [
        (Channel.EMAIL, "no", "suppressed: invalid_recipient"),
        (Channel.SMS, "yes", None),
    ]


def test_a_suppression_that_a_person_lifts_lets_the_email_out_again(endings: Endings) -> None:
    *_, third = endings["bounced"]

    assert third.submissions == [EMAIL, SMS]


def test_a_bounce_after_the_close_is_kept_as_late_and_changes_no_outcome(
    endings: Endings,
) -> None:
    left, _ = endings["bounced later"]
    late = left.story.observations[-1]

    assert (late.status, late.verdict) == (Status.INVALID_RECIPIENT, Verdict.LATE)
    assert left.story.outcome is Outcome.DELIVERED
    assert left.attempt(Channel.EMAIL).state is AttemptState.CONFIRMED


def test_a_bounce_after_the_close_sends_the_next_notice_straight_to_the_phone(
    endings: Endings,
) -> None:
    *_, following = endings["bounced later"]

    assert following.submissions == [SMS]
