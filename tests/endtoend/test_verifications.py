"""Verifications on a whole deployment: real engine, worker, receiver, ledger and provider."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from client.starting import begin
from console.engine import free_port
from sandbox.fates import Fate
from tests.endtoend.marks import histories
from tests.endtoend.scenes import until
from tests.endtoend.shop import wanted
from tests.endtoend.verifying import CALM, House, housed, number
from workflows.policy.models import NoticeRequest, Recipient
from workflows.policy.verification import KIND

BARE = {"consumed": False}


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with housed(tmp_path_factory.mktemp("house"), scale=CALM) as house:
        yield house


@pytest.fixture(scope="module")
async def doubtful(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """A deployment whose provider honours no keys and calls nobody: a lost reply is ambiguous."""
    nowhere = f"http://127.0.0.1:{free_port()}"
    environ = {"STANDBY_SANDBOX_HONOURS_KEYS": "0", "STANDBY_SANDBOX_CALLBACK_URL": nowhere}
    async with housed(tmp_path_factory.mktemp("doubtful"), environ, CALM) as house:
        yield house


async def consume(house: House, challenge_id: str, **brought: str) -> dict[str, Any]:
    answer = await house.http.post(f"/verifications/{challenge_id}/consume", json=brought)
    assert answer.status_code == 200
    told: dict[str, Any] = answer.json()
    return told


async def asked_at(house: House, challenge_id: str) -> list[str]:
    return [each["asked_at"] for each in (await house.told(challenge_id))["deliveries"]]


async def test_opening_a_link_by_any_means_leaves_it_valid_and_only_the_button_consumes(house: House) -> None:
    challenge_id = await house.begin("scanned", number(Fate.DELIVERED))
    link = await house.link(challenge_id)
    async with httpx.AsyncClient(trust_env=False) as scanner:
        for method, headers in (("GET", {}), ("HEAD", {}), ("GET", {"Sec-Purpose": "prefetch"})):
            assert (await scanner.request(method, link, headers=headers)).status_code == 200
        assert (await house.told(challenge_id))["state"] == "active"

        form = {"content": "", "headers": {"Content-Type": "application/x-www-form-urlencoded"}}
        first, second = [await scanner.post(link, **form) for _ in range(2)]  # type: ignore[arg-type]

    assert (first.status_code, second.status_code) == (200, 403)
    assert (await house.told(challenge_id))["state"] == "consumed"


async def test_after_a_consumption_nothing_more_is_read_or_sent(house: House) -> None:
    challenge_id = await house.begin("quick", number(Fate.SILENT), email=Fate.DELIVERED.email("quick"))
    token = (await house.link(challenge_id)).rpartition("/")[2]

    assert (await consume(house, challenge_id, token=token))["consumed"]
    await until(lambda: house.is_over(challenge_id))
    (delivery,) = (await house.told(challenge_id))["deliveries"]

    # Withdrawn before silence could lead on to the email.
    assert delivery["outcome"] == "withdrawn"
    assert [each["channel"] for each in await house.messages(challenge_id)] == ["sms"]


async def test_a_text_that_does_not_get_through_is_followed_by_an_email_with_the_same_link(
    house: House,
) -> None:
    challenge_id = await house.begin("bounced", number(Fate.BOUNCED), email=Fate.DELIVERED.email("bounced"))
    text, email = await house.link(challenge_id), await house.link(challenge_id, 2)

    assert text == email
    assert [each["channel"] for each in await house.messages(challenge_id)] == ["sms", "email"]
    assert (await consume(house, challenge_id, token=email.rpartition("/")[2]))["consumed"]


async def test_a_delivery_receipt_by_callback_consumes_nothing(house: House) -> None:
    challenge_id = await house.begin("received", number(Fate.DELIVERED))

    async def is_delivered() -> bool:
        (delivery,) = (await house.told(challenge_id))["deliveries"]
        return bool(delivery["outcome"] == "delivered")

    await until(is_delivered)
    facts = await house.told(challenge_id)
    assert (facts["state"], facts["consumed_at"]) == ("active", None)


async def test_a_resend_keeps_the_challenge_and_the_slower_first_message_still_works(house: House) -> None:
    challenge_id = await house.begin("impatient", number(Fate.DELIVERED))
    first = await house.link(challenge_id)
    answers: list[httpx.Response] = []

    async def is_resent() -> bool:
        answers.append(await house.http.post(f"/verifications/{challenge_id}/resend"))
        return answers[-1].status_code == 202

    await until(is_resent)
    second = await house.link(challenge_id, 2)

    # However slowly this was asked, nothing went out before its time, and whoever came too soon was told so.
    terms = house.stack.catalogue.get(KIND).policy.challenge
    early, late = [datetime.fromisoformat(at) for at in await asked_at(house, challenge_id)]
    assert terms is not None
    assert late - early >= terms.cooldown
    assert {(each.status_code, each.json()["reason"]) for each in answers[:-1]} <= {(429, "cooldown")}
    assert first == second
    keys = [each["key"] for each in await house.messages(challenge_id)]
    assert keys == [
        f"signup_verification:{challenge_id}:impatient:sms:1",
        f"signup_verification:{challenge_id}.2:impatient:sms:2",
    ]
    assert (await consume(house, challenge_id, token=first.rpartition("/")[2]))["consumed"]


async def test_a_message_whose_name_a_stranger_took_is_told_as_refused_to_whoever_is_on_call(
    house: House,
) -> None:
    challenge_id = "taken-by-a-stranger"
    person = Recipient(id="taken", phone=number(Fate.DELIVERED), sms_consent=True)
    soon = datetime.now(UTC) + timedelta(minutes=10)
    notice = NoticeRequest(kind=KIND, event_id=challenge_id, recipient=person, expires_at=soon)
    queue = house.stack.settings.task_queue
    stranger = await begin(house.stack.client, notice, task_queue=queue)
    await stranger.handle.result()
    await house.begin("taken", number(Fate.DELIVERED), challenge_id=challenge_id)

    async def is_told() -> bool:
        said = await on_call(house, challenge_id)
        (line,) = [each for each in said if each.startswith("message 1 transport")]
        assert line.rstrip().endswith(f"; see: standby show {notice.key}")
        return "refused, and nothing was sent" in line

    await until(is_told)


async def on_call(house: House, challenge_id: str) -> list[str]:
    """Return what somebody on call reads of a verification."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "starter", "show", f"verification:{challenge_id}"),
        env=os.environ | dict(house.stack.variables),
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await child.communicate()
    return said.decode().splitlines()


async def test_no_other_message_goes_out_while_one_may_still_be_on_its_way(doubtful: House) -> None:
    challenge_id = await doubtful.begin("in-doubt", number(Fate.LOST))

    async def is_in_doubt() -> bool:
        story = await doubtful.ledger.story(f"signup_verification:{challenge_id}:in-doubt")
        return story is not None and bool(story.attempts) and story.attempts[0].note is not None

    async def is_refused_for_it() -> bool:
        answer = await doubtful.http.post(f"/verifications/{challenge_id}/resend")
        assert answer.status_code in {409, 429}
        return bool(answer.json()["reason"] == "ambiguous")

    await until(is_in_doubt)
    await until(is_refused_for_it)
    assert len(await doubtful.messages(challenge_id)) == 1


async def test_a_challenge_that_has_expired_fails_like_any_other(house: House) -> None:
    # Long enough for its text to go out on the slowest machine.
    soon = (datetime.now(UTC) + timedelta(seconds=12)).isoformat()
    challenge_id = await house.begin("late", number(Fate.DELIVERED), method="both", expires_at=soon)
    token, code = (await house.link(challenge_id)).rpartition("/")[2], await house.code(challenge_id)
    await until(lambda: house.is_over(challenge_id))

    late = [await consume(house, challenge_id, token=token), await consume(house, challenge_id, code=code)]
    unknown = await consume(house, "no-such-challenge", code=code)

    assert late == [unknown, unknown] == [BARE, BARE]
    assert (await house.told(challenge_id))["state"] == "expired"


async def test_five_wrong_codes_kill_a_challenge_also_for_its_link(house: House) -> None:
    challenge_id = await house.begin("guessed", number(Fate.DELIVERED), method="both")
    token, code = (await house.link(challenge_id)).rpartition("/")[2], await house.code(challenge_id)
    wrong = [str((int(code) + each) % 10**6).zfill(6) for each in range(1, 6)]

    said = await asyncio.gather(*(consume(house, challenge_id, code=each) for each in wrong))
    after = [await consume(house, challenge_id, code=code), await consume(house, challenge_id, token=token)]

    assert [*said, *after] == [BARE] * 7
    assert (await house.told(challenge_id))["state"] == "dead"


async def test_limits_are_told_and_refused_ones_send_nothing(house: House) -> None:
    phone = number(Fate.DEFERRED)
    begun = [await house.http.post("/verifications", json=wanted(f"many-{each}", phone)) for each in range(6)]

    assert [each.status_code for each in begun] == [201] * 5 + [429]
    assert begun[-1].json()["reason"] == "limited: destination"
    assert "retry-after" in begun[-1].headers


async def test_no_secret_and_no_address_is_left_behind_in_ledger_or_history(house: House) -> None:
    challenge_id = await house.begin("private", number(Fate.DELIVERED), method="both")
    token, code = (await house.link(challenge_id)).rpartition("/")[2], await house.code(challenge_id)
    told = await consume(house, challenge_id, token=token)
    await until(lambda: house.is_over(challenge_id))
    ledger = b"".join(path.read_bytes() for path in house.home.glob("ledger.db*"))
    facts = json.dumps(await house.told(challenge_id)).encode()
    left = ledger + await histories(house.stack.client) + facts
    secrets = {"token": token, "code": f'"{code}"', "result": told["result"], "number": "202555"}

    assert told["consumed"]
    assert not [name for name, secret in secrets.items() if secret.encode() in left]
