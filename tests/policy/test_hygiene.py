"""What suppresses an address, and what a suppression stops."""

from itertools import product

import pytest

from tests.policy.given import EMAIL, SMS, delivered, seen
from workflows.policy.hygiene import blocks, suppression
from workflows.policy.words import AttemptState, Channel, Status, SuppressionReason

BOUNCE = SuppressionReason.INVALID_RECIPIENT
COMPLAINT, UNSUBSCRIBED = SuppressionReason.COMPLAINT, SuppressionReason.UNSUBSCRIBED
STOPPED = SuppressionReason.STOPPED


@pytest.mark.parametrize(("status", "is_final", "channel"), list(product(Status, [False, True], Channel)))
def test_only_a_final_invalid_recipient_suppresses(
    status: Status, *, is_final: bool, channel: Channel
) -> None:
    expected = BOUNCE if status is Status.INVALID_RECIPIENT and is_final else None
    assert suppression(seen(status, is_final=is_final, channel=channel), channel) is expected


@pytest.mark.parametrize(
    ("said", "channel", "reason"),
    [
        (COMPLAINT, EMAIL, COMPLAINT),
        (UNSUBSCRIBED, EMAIL, UNSUBSCRIBED),
        (STOPPED, SMS, STOPPED),
        (COMPLAINT, SMS, COMPLAINT),
        pytest.param(STOPPED, EMAIL, UNSUBSCRIBED, id="the other channel's word is still a choice"),
        pytest.param(UNSUBSCRIBED, SMS, STOPPED, id="on a text, too"),
    ],
)
@pytest.mark.parametrize("status", Status)
def test_an_opt_out_suppresses_whatever_the_status(
    status: Status, said: SuppressionReason, channel: Channel, reason: SuppressionReason
) -> None:
    report = seen(status, is_final=True, channel=channel, opt_out=said)
    assert suppression(report, channel) is reason


def test_a_bounce_is_no_choice_of_the_person() -> None:
    assert suppression(seen(Status.PENDING, opt_out=BOUNCE), EMAIL) is None


def test_a_bounce_after_the_delivery_suppresses_and_changes_no_state() -> None:
    bounce = seen(Status.INVALID_RECIPIENT, is_final=True)
    attempt, _ = delivered(EMAIL).observe(bounce)
    assert attempt.state is AttemptState.CONFIRMED
    assert suppression(bounce, EMAIL) is BOUNCE


@pytest.mark.parametrize("reason", SuppressionReason)
@pytest.mark.parametrize("essential", [False, True])
def test_nothing_suppressed_is_texted(reason: SuppressionReason, *, essential: bool) -> None:
    assert blocks(reason, SMS, essential=essential)


@pytest.mark.parametrize(
    ("reason", "essential", "stops"),
    [
        pytest.param(BOUNCE, False, True, id="nobody is there"),
        pytest.param(BOUNCE, True, True, id="not even for essential kinds"),
        *(pytest.param(each, False, True, id=f"{each}") for each in (COMPLAINT, UNSUBSCRIBED, STOPPED)),
        *(
            pytest.param(each, True, False, id=f"{each}, essential")
            for each in (COMPLAINT, UNSUBSCRIBED, STOPPED)
        ),
    ],
)
def test_an_opt_out_ends_email_that_is_not_essential(
    reason: SuppressionReason, *, essential: bool, stops: bool
) -> None:
    assert blocks(reason, EMAIL, essential=essential) is stops
