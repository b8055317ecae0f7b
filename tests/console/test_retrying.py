"""Retries on a real engine; what a provider says when it is asked is in tests/endtoend/test_evidence.py."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from activities.store.ledger import Ledger
from activities.store.notices import Terms
from client.starting import begin
from console.engine import free_port
from tests.console.conftest import DESERTED, REFUSING, Town
from tests.console.shell import BAD, REACHED, Shell, document, key
from tests.store import facts
from workflows.policy import contract
from workflows.policy.keys import attempt_key
from workflows.policy.models import NoticeRequest, Result
from workflows.policy.terms import ChallengeTerms
from workflows.policy.words import Channel, Outcome, Source, Status

REFUSED = 1
SOON = timedelta(minutes=5)


@dataclass(frozen=True)
class Desk:
    """Somebody on call, an engine whose notices nobody works on, and a ledger that is written by hand."""

    shell: Shell
    town: Town
    ledger: Ledger
    own: Mapping[str, str]

    async def retry(self, name: str, *arguments: str, **changed: str) -> tuple[int, str, str]:
        environ = {**self.own, "STANDBY_TASK_QUEUE": DESERTED, **changed}
        return await self.shell.run("retry", contract.validate(document(name)).key, *arguments, **environ)

    async def closed(
        self, name: str, outcome: Outcome = Outcome.EXHAUSTED, *, chain: str = "", **changes: object
    ) -> NoticeRequest:
        """Start a notice, and put it on record as one that nobody was sent anything for."""
        request = contract.validate(document(name, **changes))
        handle = (await begin(self.town.client, request, task_queue=DESERTED)).handle
        chain = chain or handle.first_execution_run_id or ""
        await self.on_record(request, outcome, chain)
        return request

    async def on_record(self, request: NoticeRequest, outcome: Outcome, chain: str = "run-1") -> None:
        now = datetime.now(UTC)
        terms = Terms(facts.POLICY, facts.DIGEST, now + SOON, chain)
        await self.ledger.notices.admit(request, terms, at=now - SOON)
        result = Result(
            key=request.key, outcome=outcome, rule="no_channel", closed_at=now - timedelta(seconds=9)
        )
        await self.ledger.notices.close(result, (), at=now)


@pytest.fixture
def desk(shell: Shell, town: Town, ledger: Ledger, own: dict[str, str]) -> Desk:
    return Desk(shell, town, ledger, own)


async def test_a_retry_is_the_same_request_under_a_new_event(desk: Desk) -> None:
    request = await desk.closed("retry-same")
    assert await desk.retry("retry-same") == (REACHED, f"started  {key('retry-same-retry-1')}\n", "")
    handle = desk.town.client.get_workflow_handle(key("retry-same-retry-1"))
    first = (await handle.fetch_history()).events[0].workflow_execution_started_event_attributes
    (begun,) = await desk.town.client.data_converter.decode(list(first.input.payloads), [NoticeRequest])
    assert begun == request.model_copy(update={"event_id": "retry-same-retry-1"})
    assert first.task_queue.name == DESERTED


async def test_the_same_retry_twice_starts_one_notice_and_says_where_to_look(desk: Desk) -> None:
    await desk.closed("retry-twice")
    await desk.retry("retry-twice")
    code, out, err = await desk.retry("retry-twice")
    assert (code, out) == (REACHED, f"already there  {key('retry-twice-retry-1')}\n")
    assert f"standby show {key('retry-twice-retry-1')}" in err


async def test_a_retry_that_the_engine_has_forgotten_is_known_from_the_ledger(desk: Desk) -> None:
    await desk.closed("retry-known")
    request = contract.validate(document("retry-known-retry-1"))
    later = datetime.now(UTC)
    await desk.ledger.notices.admit(request, Terms(facts.POLICY, facts.DIGEST, later + SOON, "x"), at=later)
    code, out, _ = await desk.retry("retry-known")
    assert (code, out) == (REACHED, f"already there  {key('retry-known-retry-1')}\n")


async def test_a_notice_of_that_name_from_before_is_no_retry(desk: Desk) -> None:
    """Somebody else's event may be called so."""
    request = contract.validate(document("retry-free-retry-1"))
    long_ago = datetime.now(UTC) - timedelta(days=1)
    await desk.ledger.notices.admit(request, Terms(facts.POLICY, facts.DIGEST, long_ago, "x"), at=long_ago)
    await desk.closed("retry-free")
    assert (await desk.retry("retry-free"))[1] == f"started  {key('retry-free-retry-2')}\n"


async def test_a_dry_run_starts_nothing(desk: Desk) -> None:
    await desk.closed("retry-dry")
    for _ in range(2):
        said = await desk.retry("retry-dry", "--dry-run")
        assert said == (REACHED, f"would start {key('retry-dry-retry-1')}\n", "")


async def test_what_the_engine_has_of_another_start_is_not_the_original(desk: Desk) -> None:
    """A start after retention is refused as a duplicate, and may have had another content."""
    await desk.closed("retry-other", chain="an-earlier-run")
    code, out, err = await desk.retry("retry-other")
    assert (code, out) == (BAD, "")
    assert "--file FILE" in err


async def test_what_the_engine_has_forgotten_is_read_from_a_file(desk: Desk) -> None:
    request = contract.validate(document("retry-file"))
    await desk.on_record(request, Outcome.EXHAUSTED)
    assert "--file FILE" in (await desk.retry("retry-file"))[2]
    file = desk.shell.file(document("retry-file"), name="first.json")
    assert (await desk.retry("retry-file", "--file", file))[1] == f"started  {key('retry-file-retry-1')}\n"


@pytest.mark.parametrize(
    "documents",
    [
        [document("another")],
        [document("retry-match", kind="another")],
        [document("retry-match", recipient={**document("x")["recipient"], "id": "another"})],
        [document("retry-match"), document("another")],
    ],
)
async def test_a_file_must_be_of_this_very_notice(desk: Desk, documents: list[dict[str, Any]]) -> None:
    await desk.closed("retry-match")
    file = desk.shell.file(*documents)
    code, out, err = await desk.retry("retry-match", "--file", file)
    assert (code, out) == (BAD, "")
    assert "kind, event_id and recipient.id" in err


PAST, AHEAD = (datetime.now(UTC) + sign * timedelta(hours=1) for sign in (-1, 1))


@pytest.mark.parametrize("times", [{"expires_at": PAST.isoformat()}, {"occurred_at": PAST.isoformat()}])
async def test_what_would_be_of_no_use_any_more_is_not_tried_again(desk: Desk, times: dict[str, str]) -> None:
    name = f"retry-past-{next(iter(times))}"
    await desk.closed(name, Outcome.EXHAUSTED, **times)
    code, out, err = await desk.retry(name)
    assert (code, out, len(err.splitlines())) == (BAD, "", 1)
    assert "it is of no use since" in err


async def test_a_fallback_deadline_of_the_first_try_does_not_hurry_the_retry(desk: Desk) -> None:
    times = {"fallback_at": PAST.isoformat(), "expires_at": AHEAD.isoformat()}
    await desk.closed("retry-fallback", Outcome.EXHAUSTED, **times)
    await desk.retry("retry-fallback")
    handle = desk.town.client.get_workflow_handle(key("retry-fallback-retry-1"))
    first = (await handle.fetch_history()).events[0].workflow_execution_started_event_attributes
    (begun,) = await desk.town.client.data_converter.decode(list(first.input.payloads), [NoticeRequest])
    assert (begun.fallback_at, begun.expires_at) == (None, AHEAD)


@pytest.mark.parametrize(
    ("outcome", "why"),
    [
        (Outcome.DELIVERED, "it closed as delivered"),
        (Outcome.WITHDRAWN, "its caller withdrew it"),
        (Outcome.EXPIRED, "it expired"),
    ],
)
async def test_other_endings_are_refused_in_one_line(desk: Desk, outcome: Outcome, why: str) -> None:
    await desk.closed(f"retry-{outcome}", outcome)
    code, out, err = await desk.retry(f"retry-{outcome}")
    assert (code, out, len(err.splitlines())) == (REFUSED, "", 1)
    assert why in err


async def test_a_message_of_a_verification_is_refused(desk: Desk) -> None:
    request = contract.validate(document("retry-challenge"))
    policy = facts.POLICY.model_copy(update={"challenge": ChallengeTerms()})
    now = datetime.now(UTC)
    await desk.ledger.notices.admit(request, Terms(policy, "challenge", now + SOON, "x"), at=now)
    result = Result(key=request.key, outcome=Outcome.UNKNOWN, rule="cutoff", closed_at=now)
    await desk.ledger.notices.close(result, (), at=now)
    code, _, err = await desk.retry("retry-challenge")
    assert code == REFUSED
    assert "a message of a verification" in err


async def test_a_refused_notice_is_on_no_record_and_says_what_to_do(desk: Desk) -> None:
    request = contract.validate(document("retry-refused"))
    await (await begin(desk.town.client, request, task_queue=REFUSING)).handle.result()
    code, _, err = await desk.retry("retry-refused")
    assert code == REFUSED
    assert "correct it, and send it as a new event" in err


async def test_a_notice_that_nobody_knows_is_bad_input(desk: Desk) -> None:
    code, _, err = await desk.retry("retry-nobody")
    assert code == BAD
    assert "is not in the ledger" in err


async def unknown(desk: Desk, name: str, provider: str) -> None:
    """Put a notice on record whose email may have arrived."""
    request = contract.validate(document(name))
    now = datetime.now(UTC)
    email = attempt_key(request.key, Channel.EMAIL)
    terms = Terms(facts.POLICY, facts.DIGEST, now + SOON, "run-1")
    await desk.ledger.notices.admit(request, terms, at=now - SOON)
    await desk.ledger.attempts.claim(email, provider=provider, address_hash=facts.EMAIL_HASH, at=now)
    await desk.ledger.evidence.observe(facts.report(Status.PENDING, key=email, source=Source.SEND), at=now)
    result = Result(key=request.key, outcome=Outcome.UNKNOWN, rule="cutoff", closed_at=now)
    await desk.ledger.notices.close(result, (), at=now)


@pytest.mark.parametrize(
    ("provider", "why"),
    [
        ("sandbox", "sandbox could not be asked about the email: try again"),
        ("postmark", "postmark cannot be asked about the email from here: set what it needs"),
        ("retired", "retired cannot be asked about the email: it cannot be reconciled"),
        ("observe", "its email was only observed"),
    ],
)
async def test_a_provider_that_cannot_be_asked_leaves_reconciliation_missing(
    desk: Desk, provider: str, why: str
) -> None:
    await unknown(desk, f"retry-{provider}", provider)
    nowhere = {"STANDBY_SANDBOX_URL": f"http://127.0.0.1:{free_port()}"}
    code, out, err = await desk.retry(f"retry-{provider}", **nowhere)
    assert (code, out, len(err.splitlines())) == (REFUSED, "", 1)
    assert why in err


async def test_nobody_can_say_what_became_of_a_pruned_notice(desk: Desk) -> None:
    await unknown(desk, "retry-pruned", "sandbox")
    later = datetime.now(UTC) + timedelta(days=90)
    await desk.ledger.retention.prune(later, at=later)
    code, out, err = await desk.retry("retry-pruned")
    assert (code, out) == (REFUSED, "")
    assert "its evidence was pruned" in err


async def test_an_event_that_grows_too_long_is_told(desk: Desk) -> None:
    name = "e" * 1000
    await desk.closed(name)
    code, _, err = await desk.retry(name)
    assert code == BAD
    assert "event_id: too long" in err
