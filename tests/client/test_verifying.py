"""A verification from outside: whatever the engine refuses is no consumption, and silence is no answer."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import cast

import pytest
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from activities.challenge import code_digest, link_digest
from client.verifying import (
    NOT_CONSUMED,
    PATIENCE,
    Handle,
    NoAnswerError,
    begin_verification,
    consume,
    opened,
    resend,
)
from tests.receiver.verifying import DESERTED, QUEUE, RETURN, Town, request, town
from workflows import attributes
from workflows.policy.keys import notice_key, parts, verification_id
from workflows.policy.verification import Denial, Presented
from workflows.policy.words import ChallengeState
from workflows.verification import Verification

NOTHING = Presented(link="0" * 64)
LITTLE = timedelta(milliseconds=200)


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Town]:
    async with town(tmp_path_factory.mktemp("client")) as found:
        yield found


def _attempt() -> str:
    return secrets.token_hex(16)


async def _link(place: Town, challenge_id: str) -> Presented:
    made = await place.secrets_of(challenge_id)
    return Presented(link=link_digest(place.parts.keyring, made.link))


async def test_a_verification_begins_once(place: Town) -> None:
    asked = request()
    begun = [await begin_verification(place.parts.client, asked, QUEUE) for _ in range(2)]
    assert [each.is_new for each in begun] == [True, False]
    assert begun[0].handle.id == begun[1].handle.id == f"verification:{asked.challenge_id}"


async def test_a_verification_is_found_by_its_account_as_its_messages_are(place: Town) -> None:
    asked = request()
    begun = await begin_verification(place.parts.client, asked, QUEUE)

    described = await begun.handle.describe()

    key = parts(notice_key(asked.kind, str(asked.challenge_id), asked.account_id))
    found = described.typed_search_attributes
    assert (found[attributes.KIND], found[attributes.RECIPIENT]) == (key.kind, key.recipient_id)


async def test_one_that_is_over_does_not_begin_again(place: Town) -> None:
    asked = request()
    begun = await begin_verification(place.parts.client, asked, QUEUE)
    await opened(begun.handle, PATIENCE)
    await place.withdrawn(str(asked.challenge_id))
    again = await begin_verification(place.parts.client, asked, QUEUE)
    said = await opened(again.handle, PATIENCE)
    assert not again.is_new
    assert said is not None
    assert said.refusal is None


async def test_one_without_an_id_could_not_be_begun_again(place: Town) -> None:
    with pytest.raises(ValueError, match="challenge_id"):
        await begin_verification(place.parts.client, request(challenge_id=None), QUEUE)


async def test_a_refusal_is_told_while_it_runs_and_after_it_ended(place: Town) -> None:
    begun = await begin_verification(place.parts.client, request(kind="password_reset"), QUEUE)
    first = await opened(begun.handle, PATIENCE)
    await begun.handle.result()
    assert await opened(begun.handle, PATIENCE) == first
    assert first is not None
    assert (first.refusal or "").startswith("kind: ")


async def test_where_no_worker_answers_nothing_is_said_of_the_beginning(place: Town) -> None:
    begun = await begin_verification(place.parts.client, request(), DESERTED)
    assert await opened(begun.handle, LITTLE) is None


async def test_one_of_many_consumes(place: Town) -> None:
    challenge_id = await place.begun()
    link = await _link(place, challenge_id)
    tries = (consume(place.parts.client, challenge_id, link, _attempt()) for _ in range(8))
    answers = await asyncio.gather(*tries)
    (won,) = (each for each in answers if each.consumed)
    assert won.return_url == f"{RETURN}?lang=en"
    assert [each for each in answers if each is not won] == [NOT_CONSUMED] * 7


async def test_the_same_attempt_gets_the_same_answer_after_the_end_too(place: Town) -> None:
    challenge_id, attempt = await place.begun(), _attempt()
    link = await _link(place, challenge_id)
    first = await consume(place.parts.client, challenge_id, link, attempt)
    assert (await place.ended(challenge_id)).state is ChallengeState.CONSUMED
    assert await consume(place.parts.client, challenge_id, link, attempt) == first
    assert first.consumed
    assert await consume(place.parts.client, challenge_id, link, _attempt()) == NOT_CONSUMED


async def test_what_is_wrong_unknown_or_over_is_not_consumed(place: Town) -> None:
    active, over = await place.begun(), await place.begun()
    link = await _link(place, over)
    await place.withdrawn(over)
    code = Presented(code=code_digest(place.parts.keyring, active, "no code"))
    tries = [(active, NOTHING), (active, code), (over, link), ("challenge-that-is-none", NOTHING)]
    answers = [await consume(place.parts.client, *each, _attempt()) for each in tries]
    assert answers == [NOT_CONSUMED] * 4


async def test_silence_is_no_answer(place: Town) -> None:
    asked = request()
    await begin_verification(place.parts.client, asked, DESERTED)
    challenge_id = str(asked.challenge_id)
    with pytest.raises(NoAnswerError):
        await consume(place.parts.client, challenge_id, NOTHING, _attempt(), LITTLE)
    with pytest.raises(NoAnswerError):
        await resend(place.parts.client, challenge_id, _attempt(), LITTLE)


async def test_an_engine_that_went_away_gives_no_answer(place: Town) -> None:
    client = (await place.cut_off()).client
    with pytest.raises(NoAnswerError, match="the same request again is safe"):
        await consume(client, "challenge-1", NOTHING, _attempt(), LITTLE)


class Failing:
    """An engine whose every answer is this error."""

    id = "verification:challenge-1"

    def __init__(self, error: Exception) -> None:
        self._error = error

    def get_workflow_handle_for(self, *_: object) -> "Failing":
        return self

    async def execute_update(self, *_: object, **__: object) -> object:
        raise self._error


@pytest.mark.parametrize("status", set(RPCStatusCode) - {RPCStatusCode.NOT_FOUND})
async def test_an_engine_that_does_not_do_its_part_gives_no_answer(status: RPCStatusCode) -> None:
    client = cast("Client", Failing(RPCError("in the engine's words", status, b"")))
    with pytest.raises(NoAnswerError):
        await consume(client, "challenge-1", NOTHING, _attempt())
    with pytest.raises(NoAnswerError):
        await resend(client, "challenge-1", _attempt())


@pytest.mark.parametrize("kind", ["UnknownKey", "DamagedPayload", "InvalidPayload"])
async def test_an_answer_that_cannot_be_read_is_none_and_the_log_says_why(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = cast("Client", Failing(ApplicationError("what is wrong with it", type=kind)))
    with pytest.raises(NoAnswerError):
        await consume(client, "challenge-1", NOTHING, _attempt())
    with pytest.raises(NoAnswerError):
        await resend(client, "challenge-1", _attempt())
    assert await opened(cast("Handle", client), LITTLE) is None
    assert [each.message for each in caplog.records] == ["the engine's answer cannot be read"] * 3
    assert [each.__dict__["facts"] for each in caplog.records] == [{"why": "what is wrong with it"}] * 3


async def test_a_process_without_the_key_has_no_answer_and_one_with_it_has_the_same_later(
    place: Town,
) -> None:
    challenge_id, attempt = await place.begun(), _attempt()
    link, blind = await _link(place, challenge_id), place.without_keys.client
    with pytest.raises(NoAnswerError):
        await consume(blind, challenge_id, link, attempt)
    assert (await consume(place.parts.client, challenge_id, link, attempt)).consumed


async def test_what_an_ended_verification_said_cannot_be_read_without_the_key(place: Town) -> None:
    challenge_id = await place.begun()
    await place.withdrawn(challenge_id)
    name = verification_id(challenge_id)
    blind = place.without_keys.client.get_workflow_handle_for(Verification.run, name)
    assert await opened(blind, PATIENCE) is None


async def test_another_message_is_denied_with_its_reason(place: Town) -> None:
    answer = await resend(place.parts.client, await place.begun(), _attempt())
    assert answer is not None
    assert (answer.accepted, answer.reason) == (False, Denial.COOLDOWN)


async def test_there_is_no_other_message_of_what_does_not_run(place: Town) -> None:
    over = await place.begun()
    await place.withdrawn(over)
    for challenge_id in (over, "challenge-that-is-none"):
        assert await resend(place.parts.client, challenge_id, _attempt()) is None
