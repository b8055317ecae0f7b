"""Somebody who may start workflows starts the notices of verifications before those are begun."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.client import WorkflowHandle

from sandbox.fates import Fate
from tests.endtoend.scenes import until
from tests.endtoend.verifying import House, housed, number
from workflows.notice import Notice
from workflows.policy.models import NoticeRequest, Recipient, Result
from workflows.policy.words import Outcome


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with housed(tmp_path_factory.mktemp("house")) as house:
        yield house


async def squat(house: House, challenge_id: str, *, delay: timedelta) -> WorkflowHandle[Notice, Result]:
    """Start the notice that a verification will want to start, to a number of one's own."""
    own = Recipient(id="victim", phone="+12025550882", sms_consent=True)
    notice = NoticeRequest(
        kind="signup_verification",
        event_id=challenge_id,
        recipient=own,
        expires_at=datetime.now(UTC) + timedelta(minutes=10),
    )
    queue = house.stack.settings.task_queue
    return await house.stack.client.start_workflow(
        Notice.run, notice, id=notice.key, task_queue=queue, start_delay=delay
    )


@pytest.mark.parametrize("delay", [timedelta(), timedelta(seconds=2)], ids=["before", "meanwhile"])
async def test_a_stranger_gets_no_secret_and_the_person_gets_one_when_asking_again(
    house: House, delay: timedelta
) -> None:
    challenge_id = f"squatted-{delay.seconds}"
    stranger = await squat(house, challenge_id, delay=delay)
    if not delay:
        await stranger.result()

    await house.begin("victim", number(Fate.DELIVERED), challenge_id=challenge_id, method="both")

    refused = await stranger.result()
    assert refused.outcome is Outcome.REFUSED

    async def asked_again() -> bool:
        return (await house.http.post(f"/verifications/{challenge_id}/resend")).status_code == 202

    await until(asked_again)
    link = await house.link(challenge_id)
    [message] = await house.messages(challenge_id)
    assert message["key"].startswith(f"signup_verification:{challenge_id}.2:victim:")
    told = await house.http.post(
        f"/verifications/{challenge_id}/consume", json={"token": link.rpartition("/")[2]}
    )
    assert told.json()["consumed"]
