"""Observe mode: the record is real, and nothing leaves."""

from datetime import timedelta

import pytest

from activities.observing import OBSERVER, WOULD_HAVE, Observer
from activities.providers.base import Capabilities
from activities.store.ledger import Ledger
from tests.activities.given import (
    NOW,
    Scripted,
    SetClock,
    admitted,
    claimed,
    dispatcher,
    outcome,
    row_of,
    send,
)
from workflows import calls
from workflows.policy.controls import Control, Switch
from workflows.policy.keys import attempt_key
from workflows.policy.words import AttemptState, Channel, Status

HONOURS = Capabilities(idempotent_for=timedelta(days=1))


async def observe(ledger: Ledger, *, on: bool = True, percent: int = 100) -> None:
    control = Control(on=on, percent=percent)
    await ledger.controls.put(Switch.OBSERVE, control, by="ops", why="a test", at=NOW)


async def test_what_would_have_been_sent_is_on_record_and_no_provider_is_called(ledger: Ledger) -> None:
    asked, provider = await admitted(ledger), Scripted("first")
    await observe(ledger)

    receipt = await dispatcher(ledger, provider).send(send(asked), SetClock())

    assert provider.crossed == []
    assert (receipt.dispatch, receipt.provider, receipt.readable) == (
        calls.Dispatch.SUBMITTED,
        OBSERVER,
        False,
    )
    assert receipt.observation is not None
    assert (receipt.observation.raw, receipt.observation.status) == (WOULD_HAVE, Status.PENDING)
    row = await row_of(ledger, send(asked).attempt_key)
    assert (row.provider, row.state, row.dispatches) == (OBSERVER, AttemptState.SUBMITTED, 1)


@pytest.mark.parametrize(("percent", "crossings"), [(0, 1), (100, 0)])
async def test_a_cohort_is_observed_and_everybody_else_is_served(
    ledger: Ledger, percent: int, crossings: int
) -> None:
    asked, provider = await admitted(ledger), Scripted("first")
    await observe(ledger, percent=percent)

    await dispatcher(ledger, provider).send(send(asked), SetClock())

    assert len(provider.crossed) == crossings


@pytest.mark.parametrize(("before", "after", "crossings"), [(False, True, 0), (True, False, 1)])
async def test_what_holds_at_the_wire_decides_and_not_what_held_at_the_check(
    ledger: Ledger, *, before: bool, after: bool, crossings: int
) -> None:
    asked, provider = await admitted(ledger), Scripted("first")
    desk = dispatcher(ledger, provider)
    await observe(ledger, on=before)
    clearance = await desk.gate.ask(send(asked), NOW)
    await observe(ledger, on=after)

    await desk.send(send(asked), SetClock())

    assert clearance.observed is before
    assert len(provider.crossed) == crossings


async def test_what_was_observed_is_never_sent_afterwards(ledger: Ledger) -> None:
    asked, provider = await admitted(ledger), Scripted("first")
    await observe(ledger)
    await dispatcher(ledger, provider).send(send(asked), SetClock())
    await observe(ledger, on=False)

    said = await outcome(dispatcher(ledger, provider).send(send(asked), SetClock()))

    assert (said, provider.crossed) == ("submitted: pending", [])


@pytest.mark.parametrize(("by", "observes_now"), [(OBSERVER, False), ("first", True)])
async def test_a_claim_without_an_outcome_is_repeated_by_nobody_else(
    ledger: Ledger, *, by: str, observes_now: bool
) -> None:
    asked, provider = await admitted(ledger), Scripted("first", HONOURS)
    await claimed(ledger, asked, by=by)
    await observe(ledger, on=observes_now)

    receipt = await dispatcher(ledger, provider).send(send(asked), SetClock())

    assert (receipt.dispatch, receipt.provider) == (calls.Dispatch.AMBIGUOUS, by)
    assert provider.crossed == []


async def test_an_operator_who_holds_dispatch_also_holds_what_would_be_observed(ledger: Ledger) -> None:
    asked, provider = await admitted(ledger), Scripted("first")
    await observe(ledger)
    await ledger.controls.put(Switch.DISPATCH, Control(on=False), by="ops", why="a test", at=NOW)

    receipt = await dispatcher(ledger, provider).send(send(asked), SetClock())

    assert receipt.dispatch is calls.Dispatch.BARRED


async def test_the_observer_promises_nothing_and_knows_nothing() -> None:
    observer = Observer()

    assert not observer.capabilities(Channel.EMAIL).reads
    assert await observer.look_up(Channel.EMAIL, "key", None) is None
    assert await observer.examine(Channel.SMS) == ()


async def test_nothing_follows_in_earnest_a_message_that_was_only_observed(ledger: Ledger) -> None:
    asked, provider = await admitted(ledger), Scripted("first")
    await observe(ledger)
    await dispatcher(ledger, provider).send(send(asked), SetClock())
    await observe(ledger, on=False)
    text = send(asked).model_copy(
        update={
            "attempt_key": attempt_key(asked.key, Channel.SMS),
            "channel": Channel.SMS,
            "is_fallback": True,
        }
    )

    receipt = await dispatcher(ledger, provider).send(text, SetClock())

    assert (receipt.provider, provider.crossed) == (OBSERVER, [])
