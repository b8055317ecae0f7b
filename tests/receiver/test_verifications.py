"""Verifications as JSON: begun once, told without personal data, and every answer of use to a program."""

import json
import secrets
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from activities.catalogue import Catalogue
from activities.store.challenge_rows import ChallengeRow, DeliveryRow
from activities.store.challenges import Destinations
from activities.store.database import new_engine
from activities.store.ledger import Ledger
from receiver import denials
from tests.receiver.verifying import (
    AT_ONCE,
    BEARER,
    NOTICES,
    RETURN,
    Town,
    alone,
    app,
    browsing,
    document,
    town,
)
from workflows.policy.terms import ChallengeTerms
from workflows.policy.verification import Denial, Opened, Resent
from workflows.policy.words import ChallengeState

PROBLEM = "application/problem+json"
OTHERS = [
    ("GET", "/verifications/challenge-1"),
    ("POST", "/verifications/challenge-1/consume"),
    ("POST", "/verifications/challenge-1/resend"),
    ("GET", "/results/result"),
]


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Town]:
    async with town(tmp_path_factory.mktemp("verifications")) as found:
        yield found


@pytest.fixture
async def backend(place: Town) -> AsyncIterator[httpx.AsyncClient]:
    async with browsing(app(place.parts)) as client:
        client.headers.update(BEARER)
        yield client


@pytest.fixture
async def untouched() -> AsyncIterator[httpx.AsyncClient]:
    async with browsing(app(alone())) as client:
        client.headers.update(BEARER)
        yield client


def _id() -> str:
    return str(document()["challenge_id"])


# The key


@pytest.mark.parametrize(("method", "path"), [("POST", "/verifications"), *OTHERS])
@pytest.mark.parametrize("key", [None, "Bearer ", "Bearer wrong", "Basic a2V5", "Bearer key-of-the-backend"])
async def test_nothing_is_looked_up_without_the_key(
    untouched: httpx.AsyncClient, method: str, path: str, key: str | None
) -> None:
    untouched.headers.pop("authorization")
    headers = {} if key is None else {"Authorization": key}
    answer = await untouched.request(method, path, headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (401, PROBLEM)


# Beginning


async def test_the_first_request_begins_it_and_the_same_again_finds_it(
    place: Town, backend: httpx.AsyncClient
) -> None:
    asked = document()
    first, again = [await backend.post("/verifications", json=asked) for _ in range(2)]
    where = f"/verifications/{asked['challenge_id']}"
    assert (first.status_code, first.headers["location"]) == (201, where)
    assert (again.status_code, again.headers["location"]) == (200, where)
    assert first.json().keys() == {"id", "expires_at", "state", "started"}
    assert first.json() == {**again.json(), "started": True}
    assert first.json()["state"] == ChallengeState.ACTIVE
    row = await place.parts.ledger.challenges.find(first.json()["id"])
    assert row is not None
    assert datetime.fromisoformat(first.json()["expires_at"]) == row.expires_at


async def test_one_without_an_id_is_given_one(place: Town, backend: httpx.AsyncClient) -> None:
    answer = await backend.post("/verifications", json=document(challenge_id=None))
    assert answer.status_code == 201
    assert await place.parts.ledger.challenges.find(answer.json()["id"]) is not None


WRONG: list[tuple[dict[str, object], str]] = [
    ({"expires_at": None}, "expires_at: required"),
    ({"challenge_id": "short"}, "challenge_id: "),
    ({"challenge_id": "has a blank in it"}, "challenge_id: "),
    ({"method": "smoke"}, "method: unknown word"),
    ({"to": {"email": "anna at example.test"}}, "to.email: "),
    ({"to": {}}, "to: needs an email or a phone"),
    ({"account_id": "anna@example.test"}, "account_id: looks like an address"),
    ({"returnurl": RETURN}, "returnurl: unknown key, did you mean return_url?"),
    ({"return_url": "https://evil.example/secret-path"}, "return_url: is not below any"),
    ({"return_url": "javascript:alert('secret')"}, "return_url: "),
    ({"expires_at": "tomorrow"}, "expires_at: "),
    ({"kind": "no_such_kind"}, "kind: "),
    ({"kind": "password_reset"}, "kind: carries no challenge"),
]


@pytest.mark.parametrize(("changes", "line"), WRONG)
async def test_a_mistake_is_named_by_its_field_before_anything_is_started(
    changes: dict[str, object], line: str
) -> None:
    async with browsing(app(replace(alone(), catalogue=Catalogue.load(NOTICES)))) as client:
        answer = await client.post("/verifications", json=document(**changes), headers=BEARER)
    assert (answer.status_code, answer.headers["content-type"]) == (422, PROBLEM)
    assert any(each.startswith(line) for each in answer.json()["problems"])


REFUSED: list[tuple[dict[str, object], str]] = [
    ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at: has passed"),
    ({"to": {"phone": "+4915112345678"}}, "to.phone: texts do not go to this country"),
]


@pytest.mark.parametrize(("changes", "line"), REFUSED)
async def test_what_a_worker_refuses_is_answered_as_a_mistake_and_again_alike(
    backend: httpx.AsyncClient, changes: dict[str, object], line: str
) -> None:
    asked = document(**changes)
    first, again = [await backend.post("/verifications", json=asked) for _ in range(2)]
    assert first.status_code == 422
    assert first.json()["problems"][0].startswith(line)
    assert again.content == first.content


async def test_too_many_for_one_account_are_told_when_the_next_can_begin(
    place: Town, backend: httpx.AsyncClient
) -> None:
    account = document()["account_id"]
    begun = [await backend.post("/verifications", json=document(account_id=account)) for _ in range(5)]
    assert [each.status_code for each in begun] == [201] * 5
    first = begun[0].json()["id"]
    asked = document(account_id=account)
    answer = await backend.post("/verifications", json=asked)
    told = answer.json()
    assert (answer.status_code, told["reason"]) == (429, Denial.ACCOUNT)
    again_at = datetime.fromisoformat(told["again_at"])
    assert again_at == await _asked_at(place, first) + timedelta(hours=1)
    # Whoever asks after the refused run has ended is told the same.
    await place.ended(str(asked["challenge_id"]))
    halfway = replace(place.parts, clock=lambda: again_at - timedelta(minutes=30))
    async with browsing(app(halfway)) as client:
        again = await client.post("/verifications", json=asked, headers=BEARER)
    assert (again.json(), again.headers["retry-after"]) == (told, "1800")


# Again


async def _asked_at(place: Town, challenge_id: str) -> datetime:
    found = await place.parts.ledger.challenges.of_message(challenge_id)
    assert found is not None
    return found[1].asked_at


OTHERS_DOCUMENT: list[tuple[dict[str, object], list[str]]] = [
    ({"account_id": "somebody-else"}, ["account_id"]),
    ({"purpose": "delete_account"}, ["purpose"]),
    ({"method": "code"}, ["method"]),
    ({"kind": AT_ONCE}, ["kind"]),
    ({"to": {"email": "somebody-else@example.test", "phone": "+12025550123"}}, ["to.email"]),
    ({"to": {"email": "Anna@example.test", "phone": "+12025550124"}}, ["to.phone"]),
    ({"to": {"phone": "+12025550123"}}, ["to.email"]),
    ({"account_id": "somebody-else", "purpose": "delete_account"}, ["account_id", "purpose"]),
]
BOTH_WAYS = {"email": "anna@example.test", "phone": "+12025550123"}


@pytest.fixture(scope="module")
async def standing(place: Town) -> dict[str, object]:
    """What was asked for with an id that is taken."""
    asked = document(to=BOTH_WAYS)
    await place.begun(**asked)
    return asked


@pytest.mark.parametrize(("changes", "differing"), OTHERS_DOCUMENT)
async def test_an_id_of_another_verification_is_refused_by_the_fields_that_differ(
    backend: httpx.AsyncClient, standing: dict[str, object], changes: dict[str, object], differing: list[str]
) -> None:
    answer = await backend.post("/verifications", json=standing | changes)
    told = answer.json()
    assert (answer.status_code, answer.headers["content-type"]) == (409, PROBLEM)
    assert told["detail"].startswith("another verification has this challenge_id")
    assert told["problems"] == [f"{each}: is not that of the verification on record" for each in differing]
    assert not [each for each in ("somebody", "delete", "example", "202555") if each in answer.text.lower()]


@pytest.mark.parametrize(
    "changes",
    [
        {"to": {"email": "ANNA@Example.test", "phone": "+1 (202) 555-0123"}},
        {"expires_at": "2199-12-31T00:00:00Z"},
        {"return_url": None, "fields": {"name": "Anna"}},
    ],
    ids=["spelt otherwise", "another end", "another way back"],
)
async def test_the_same_verification_is_told_from_the_record_whatever_else_is_asked(
    place: Town, backend: httpx.AsyncClient, standing: dict[str, object], changes: dict[str, object]
) -> None:
    answer = await backend.post("/verifications", json=standing | changes)
    row = await place.parts.ledger.challenges.find(str(standing["challenge_id"]))
    assert row is not None
    assert (answer.status_code, answer.json()["state"]) == (200, ChallengeState.ACTIVE)
    assert datetime.fromisoformat(answer.json()["expires_at"]) == row.expires_at


async def test_an_address_that_no_message_takes_differs_from_nothing(
    place: Town, backend: httpx.AsyncClient
) -> None:
    asked = document(to=BOTH_WAYS | {"phone": "+12025550199"}, route=["email"])
    await place.begun(**asked)
    other = asked | {"to": BOTH_WAYS | {"phone": "+12025550198"}}
    assert (await backend.post("/verifications", json=other)).status_code == 200


async def test_one_that_is_over_says_so_to_whoever_asks_again(
    place: Town, backend: httpx.AsyncClient
) -> None:
    asked = document(expires_at=(datetime.now(UTC) + timedelta(days=300)).isoformat())
    challenge_id = await place.begun(**asked)
    await backend.post(f"/verifications/{challenge_id}/consume", json=await _right(place, challenge_id))
    await place.ended(challenge_id)
    answer = await backend.post("/verifications", json=asked)
    row = await place.parts.ledger.challenges.find(challenge_id)
    assert row is not None
    assert row.expires_at < datetime.fromisoformat(str(asked["expires_at"]))
    assert (answer.status_code, answer.json()) == (
        200,
        {
            "id": challenge_id,
            "expires_at": row.expires_at.isoformat().replace("+00:00", "Z"),
            "state": "consumed",
            "started": False,
        },
    )


async def test_one_that_the_engine_has_forgotten_is_told_from_the_record(
    place: Town, backend: httpx.AsyncClient
) -> None:
    asked, forgotten = document(), str(document()["challenge_id"])
    row, first = await _record(place, await place.begun(**asked))
    long_ago = row.model_copy(update={"id": forgotten, "chain": "forgotten", **_fresh_digests()})
    to = Destinations(first.email_hash, first.phone_hash)
    await place.parts.ledger.challenges.open(long_ago, to, ChallengeTerms(), at=first.asked_at)
    answer = await backend.post("/verifications", json=asked | {"challenge_id": forgotten})
    other = await backend.post("/verifications", json=document(challenge_id=forgotten))
    assert (answer.status_code, answer.json()["state"], answer.json()["started"]) == (200, "active", False)
    assert other.status_code == 409


async def _record(place: Town, challenge_id: str) -> tuple[ChallengeRow, DeliveryRow]:
    found = await place.parts.ledger.challenges.of_message(challenge_id)
    assert found is not None
    return found


def _fresh_digests() -> dict[str, str]:
    return {each: secrets.token_hex(32) for each in ("link_digest", "code_digest", "result_digest")}


async def test_without_a_ledger_nobody_can_say_whose_an_id_is(
    place: Town, standing: dict[str, object], tmp_path: Path
) -> None:
    engine = new_engine(f"sqlite:///{tmp_path / 'no-such-folder' / 'ledger.db'}")
    async with browsing(app(replace(place.parts, ledger=Ledger(engine)))) as client:
        answer = await client.post("/verifications", json=standing, headers=BEARER)
    await engine.dispose()
    assert (answer.status_code, answer.json()["id"]) == (503, standing["challenge_id"])


async def test_where_no_worker_can_be_understood_the_record_answers(
    place: Town, standing: dict[str, object]
) -> None:
    async with browsing(app(place.without_keys)) as client:
        answer = await client.post("/verifications", json=standing, headers=BEARER)
    assert (answer.status_code, answer.json()["state"]) == (200, ChallengeState.ACTIVE)


async def test_where_no_worker_says_anything_it_is_accepted(
    place: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(denials, "PATIENCE", timedelta(milliseconds=200))
    async with browsing(app(place.deserted)) as client:
        answer = await client.post("/verifications", json=document(), headers=BEARER)
    assert answer.status_code == 202
    assert (answer.json()["started"], answer.json()["state"]) == (True, None)


async def test_without_an_engine_the_caller_is_told_the_id_to_ask_again_with(
    place: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("receiver.verifications.PATIENCE", timedelta(milliseconds=200))
    async with browsing(app(await place.cut_off())) as client:
        answer = await client.post("/verifications", json=document(challenge_id=None), headers=BEARER)
    assert (answer.status_code, answer.headers["content-type"]) == (503, PROBLEM)
    assert len(answer.json()["id"]) == 32


# Telling


async def test_the_story_has_the_four_facts_and_no_personal_data(
    place: Town, backend: httpx.AsyncClient
) -> None:
    asked = document()
    challenge_id = await place.begun(**asked)
    await backend.post(f"/verifications/{challenge_id}/consume", json=await _right(place, challenge_id))
    answer = await backend.get(f"/verifications/{challenge_id}")
    told = answer.json()
    assert (answer.status_code, told["state"], told["account_id"]) == (200, "consumed", asked["account_id"])
    assert told["created_at"] <= told["consumed_at"] < told["expires_at"]
    assert [each["number"] for each in told["deliveries"]] == [1]
    made = await place.secrets_of(challenge_id)
    hidden = (str(asked["to"]["email"]), RETURN, made.link, made.code, made.result)  # type: ignore[index]
    assert not [each for each in hidden if each in answer.text]


NO_TEXT = ["challenge%00none", "challenge%ED%A0%80none", "challenge%0A", "challenge-n%C3%B6ne", "x"]
"""Ids that no database has to take."""


@pytest.mark.parametrize("challenge_id", NO_TEXT)
@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/verifications/{}"), ("POST", "/verifications/{}/resend")]
)
async def test_what_cannot_be_an_id_is_not_looked_up(
    untouched: httpx.AsyncClient, method: str, path: str, challenge_id: str
) -> None:
    answer = await untouched.request(method, path.format(challenge_id))
    assert (answer.status_code, answer.headers["content-type"]) == (404, PROBLEM)


@pytest.mark.parametrize("challenge_id", NO_TEXT)
async def test_what_cannot_be_an_id_is_tried_in_vain(untouched: httpx.AsyncClient, challenge_id: str) -> None:
    answer = await untouched.post(f"/verifications/{challenge_id}/consume", json={"code": "123456"})
    assert (answer.status_code, answer.json()) == (200, {"consumed": False})


@pytest.mark.parametrize(
    "path",
    [
        *("/verifications/challenge-none", "/verifications/x", "/results/none"),
        *("/results/%00", "/results/%ED%A0%80"),
    ],
)
async def test_what_is_not_on_record_is_not_found(backend: httpx.AsyncClient, path: str) -> None:
    answer = await backend.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (404, PROBLEM)


# Consuming


async def _right(place: Town, challenge_id: str) -> dict[str, str]:
    return {"code": (await place.secrets_of(challenge_id)).code}


async def test_a_code_is_consumed_once_and_its_result_exchanged(
    place: Town, backend: httpx.AsyncClient
) -> None:
    asked = document(account_id="a user: 42")
    challenge_id = await place.begun(**asked)
    path, brought = f"/verifications/{challenge_id}/consume", await _right(place, challenge_id)
    first, again = [await backend.post(path, json=brought) for _ in range(2)]
    result = (await place.secrets_of(challenge_id)).result
    assert (first.status_code, first.json()) == (200, {"consumed": True, "result": result})
    assert (again.status_code, again.json()) == (200, {"consumed": False})
    exchanged = (await backend.get(f"/results/{result}")).json()
    assert datetime.fromisoformat(exchanged.pop("consumed_at")) <= datetime.now(UTC) + timedelta(minutes=1)
    assert exchanged == {"challenge_id": challenge_id, "account_id": "a user: 42", "purpose": "signup"}


async def test_a_link_is_consumed_by_its_token(place: Town, backend: httpx.AsyncClient) -> None:
    challenge_id = await place.begun()
    token = (await place.secrets_of(challenge_id)).link
    answer = await backend.post(f"/verifications/{challenge_id}/consume", json={"token": token})
    assert answer.json()["consumed"] is True


async def test_a_result_is_worth_nothing_before_the_consumption(
    place: Town, backend: httpx.AsyncClient
) -> None:
    challenge_id = await place.begun()
    result = (await place.secrets_of(challenge_id)).result
    assert (await backend.get(f"/results/{result}")).status_code == 404


async def test_the_same_try_again_gets_the_same_answer(place: Town, backend: httpx.AsyncClient) -> None:
    challenge_id = await place.begun()
    brought, named = await _right(place, challenge_id), {"Idempotency-Key": '"the same try"'}
    path = f"/verifications/{challenge_id}/consume"
    first = await backend.post(path, json=brought, headers=named)
    await place.ended(challenge_id)
    assert (await backend.post(path, json=brought, headers=named)).json() == first.json()
    assert first.json()["consumed"] is True


UNREADABLE: list[tuple[str, int]] = [
    ('{"code": "123456", "token": "secret-token"}', 422),
    ("{}", 422),
    ('{"code": 123456}', 422),
    ('{"code": null}', 422),
    ('{"codes": "secret"}', 422),
    ('"secret"', 422),
    ('{"code": "secret", "code": "secret"}', 422),
    ("secret", 400),
    ('{"code": "' + "1" * 5000 + '"}', 413),
]


@pytest.mark.parametrize(("sent", "status"), UNREADABLE)
async def test_what_is_no_secret_is_named_and_not_repeated(
    untouched: httpx.AsyncClient, sent: str, status: int
) -> None:
    headers = {"Content-Type": "application/json"}
    answer = await untouched.post("/verifications/challenge-1/consume", content=sent, headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM)
    assert "secret" not in answer.text
    assert "123456" not in answer.text


@pytest.mark.parametrize("name", ["", "x" * 201, "tab\there", "ümlaut"])
@pytest.mark.parametrize("what", ["consume", "resend"])
async def test_a_name_that_no_log_could_hold_is_refused(
    untouched: httpx.AsyncClient, what: str, name: str
) -> None:
    headers = {b"Idempotency-Key": name.encode()}
    answer = await untouched.post(f"/verifications/challenge-1/{what}", json={"code": "1"}, headers=headers)
    assert answer.status_code == 400


# Another message


async def test_another_message_too_soon_says_when_it_is_not(place: Town, backend: httpx.AsyncClient) -> None:
    answer = await backend.post(f"/verifications/{await place.begun()}/resend")
    told = answer.json()
    assert (answer.status_code, told["reason"], told["accepted"]) == (429, Denial.COOLDOWN, False)
    assert 1 <= int(answer.headers["retry-after"]) <= 31
    assert datetime.fromisoformat(told["again_at"]).tzinfo is not None


async def test_another_message_of_one_that_is_over_conflicts(place: Town, backend: httpx.AsyncClient) -> None:
    challenge_id = await place.begun()
    await place.withdrawn(challenge_id)
    answer = await backend.post(f"/verifications/{challenge_id}/resend")
    assert (answer.status_code, answer.json()["reason"]) == (409, Denial.OVER)


@pytest.mark.parametrize("challenge_id", ["challenge-that-is-none", "x"])
async def test_another_message_of_none_is_not_found(backend: httpx.AsyncClient, challenge_id: str) -> None:
    assert (await backend.post(f"/verifications/{challenge_id}/resend")).status_code == 404


async def test_another_message_is_accepted_and_the_same_wish_again_is_the_same_message(
    place: Town, backend: httpx.AsyncClient
) -> None:
    path = f"/verifications/{await place.begun(kind=AT_ONCE)}"
    named = {"Idempotency-Key": "one wish"}
    answers = [await backend.post(f"{path}/resend", headers=named) for _ in range(2)]
    other = await backend.post(f"{path}/resend")
    assert [(each.status_code, each.json()) for each in (*answers, other)] == [(202, {"accepted": True})] * 3
    told = (await backend.get(path)).json()
    assert [each["number"] for each in told["deliveries"]] == [1, 2, 3]


NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("denial", Denial)
def test_every_denial_has_words_and_a_status(denial: Denial) -> None:
    later = {Denial.COOLDOWN, Denial.ACCOUNT, Denial.DESTINATION}
    answer = denials.denied(Resent(accepted=False, reason=denial), NOW)
    assert answer.status == (429 if denial in later else 409)
    assert json.loads(bytes(answer.answer().body))["detail"]


@pytest.mark.parametrize(
    ("seconds", "header"), [(-5, "1"), (0, "1"), (0.5, "1"), (29.2, "30"), (3600, "3600")]
)
def test_when_to_come_back_is_told_in_whole_seconds(seconds: float, header: str) -> None:
    at = NOW + timedelta(seconds=seconds)
    denied = denials.denied(Resent(accepted=False, reason=Denial.COOLDOWN, again_at=at), NOW)
    refused = denials.refused(Opened(challenge_id="c", refusal=Denial.ACCOUNT, again_at=at), NOW)
    assert (denied.headers["Retry-After"], refused.headers["Retry-After"]) == (header, header)
    assert denied.members["again_at"] == refused.members["again_at"]


@pytest.mark.parametrize("denial", [Denial.ACCOUNT, Denial.OVER])
def test_where_nobody_knows_when_nothing_is_said_of_it(denial: Denial) -> None:
    refused = denials.refused(Opened(challenge_id="c", refusal=denial), NOW)
    assert "Retry-After" not in refused.headers
    assert refused.members == {"reason": denial}


# What is told


async def test_no_problem_repeats_what_was_sent(backend: httpx.AsyncClient) -> None:
    asked = document(
        account_id="secret@example.test", to={"email": "secret"}, method="secret", return_url="secret:"
    )
    answer = await backend.post("/verifications", json=asked)
    assert answer.status_code == 422
    assert "secret" not in answer.text
