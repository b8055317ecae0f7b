"""Verifications on a whole deployment: real engine, worker, receiver, ledger and provider."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from console.engine import free_port
from sandbox.fates import Fate
from tests.endtoend.marks import histories
from tests.endtoend.scenes import until
from tests.endtoend.shop import wanted
from tests.endtoend.verifying import House, housed, number

BARE = {"consumed": False}


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with housed(tmp_path_factory.mktemp("house")) as house:
        yield house


@pytest.fixture(scope="module")
async def doubtful(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """A deployment whose provider honours no keys and calls nobody: a lost reply is ambiguous."""
    nowhere = f"http://127.0.0.1:{free_port()}"
    environ = {"STANDBY_SANDBOX_HONOURS_KEYS": "0", "STANDBY_SANDBOX_CALLBACK_URL": nowhere}
    async with housed(tmp_path_factory.mktemp("doubtful"), environ) as house:
        yield house


async def consume(house: House, challenge_id: str, **brought: str) -> dict[str, Any]:
    answer = await house.http.post(f"/verifications/{challenge_id}/consume", json=brought)
    assert answer.status_code == 200
    told: dict[str, Any] = answer.json()
    return told


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
    again = f"/verifications/{challenge_id}/resend"
    hasty = await house.http.post(again)

    async def is_resent() -> bool:
        return (await house.http.post(again)).status_code == 202

    await until(is_resent)
    second = await house.link(challenge_id, 2)

    assert (hasty.status_code, hasty.json()["reason"]) == (429, "cooldown")
    assert first == second
    keys = [each["key"] for each in await house.messages(challenge_id)]
    assert keys == [
        f"signup_verification:{challenge_id}:impatient:sms:1",
        f"signup_verification:{challenge_id}.2:impatient:sms:2",
    ]
    assert (await consume(house, challenge_id, token=first.rpartition("/")[2]))["consumed"]


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
    soon = (datetime.now(UTC) + timedelta(seconds=4)).isoformat()
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
