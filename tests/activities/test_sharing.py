"""What is suppressed here reaches the providers' lists only where that is asked for, and holds nothing up."""

from dataclasses import dataclass, field

import pytest

from activities.catalogue import Catalogue
from activities.eligibility import LedgerEligibility
from activities.gate import Gate
from activities.providers.base import Capabilities
from activities.providers.errors import Misconfigured, ReadFailed
from activities.sharing import Sharing
from activities.store.ledger import Ledger
from tests.activities.given import EMAIL, KEYRING, NOW, SHIPPED, SMS, Deployment, Scripted, admitted, engine
from workflows import calls
from workflows.policy.controls import Control, Switch
from workflows.policy.models import NoticeRequest
from workflows.policy.words import Channel, SuppressionReason


@dataclass
class Listing(Scripted):
    """A provider with a list of its own."""

    can: Capabilities = field(default_factory=lambda: Capabilities(takes_suppressions=True))
    held: list[tuple[Channel, str, SuppressionReason]] = field(default_factory=list)
    trouble: Exception | None = None

    async def suppress(self, channel: Channel, address: str, reason: SuppressionReason) -> None:
        if self.trouble is not None:
            raise self.trouble
        self.held.append((channel, address, reason))


def stop(asked: NoticeRequest) -> calls.Suppress:
    return calls.Suppress(
        notice_key=asked.key,
        channel=SMS,
        address=str(asked.recipient.phone),
        reason=SuppressionReason.STOPPED,
        observed_at=NOW,
    )


async def suppress(ledger: Ledger, sharing: Sharing) -> tuple[str, bool]:
    """Suppress a number, and say whether the ledger has it."""
    asked = await admitted(ledger)
    gate = Gate(ledger, KEYRING)
    await engine().run(LedgerEligibility(gate, sharing).suppress, stop(asked))
    number = str(asked.recipient.phone)
    return number, bool(await ledger.suppressions.active(gate.hashed(SMS, number), SMS))


async def test_where_an_operator_only_wants_to_see_no_list_of_a_provider_is_touched(ledger: Ledger) -> None:
    provider = Listing()
    await ledger.controls.put(Switch.OBSERVE, Control(), by="ops", why="look first", at=NOW)

    _, known = await suppress(ledger, Sharing(SHIPPED, Deployment(provider), is_on=True))

    assert (known, provider.held) == (True, [])


@pytest.mark.parametrize("is_on", [True, False])
async def test_a_suppression_is_shared_only_where_the_deployment_asks_for_it(
    ledger: Ledger, *, is_on: bool
) -> None:
    provider = Listing()

    number, known = await suppress(ledger, Sharing(SHIPPED, Deployment(provider), is_on))

    assert known
    assert provider.held == ([(SMS, number, SuppressionReason.STOPPED)] if is_on else [])


@pytest.mark.parametrize("trouble", [ReadFailed("HTTP 500"), Misconfigured("HTTP 401"), ValueError("x")])
async def test_a_provider_that_does_not_take_it_holds_nothing_up(ledger: Ledger, trouble: Exception) -> None:
    _, known = await suppress(ledger, Sharing(SHIPPED, Deployment(Listing(trouble=trouble)), is_on=True))

    assert known


async def test_every_provider_that_a_kind_chooses_is_told_once() -> None:
    first, other = Listing("first"), Listing("other")
    reset = SHIPPED.get("password_reset")
    watch = reset.policy.sms.model_copy(update={"provider": "other"})
    policy = reset.policy.model_copy(update={"sms": watch})
    kinds = {
        **SHIPPED.kinds,
        "password_reset": reset.__class__(reset.name, policy, reset.digest, reset.templates, reset.sample),
    }

    sharing = Sharing(Catalogue(kinds), Deployment(first, other), is_on=True)
    await sharing.tell(SMS, "+12025550142", SuppressionReason.STOPPED)

    assert (len(first.held), len(other.held)) == (1, 1)


async def test_a_provider_that_has_no_list_for_a_channel_is_not_told() -> None:
    provider = Listing(can=Capabilities())

    await Sharing(SHIPPED, Deployment(provider), is_on=True).tell(
        SMS, "+12025550142", SuppressionReason.STOPPED
    )

    assert provider.held == []


async def test_a_provider_without_any_list_is_not_told() -> None:
    sharing = Sharing(SHIPPED, Deployment(Scripted()), is_on=True)

    await sharing.tell(SMS, "+12025550142", SuppressionReason.STOPPED)


@pytest.mark.parametrize(
    ("channel", "reason", "kinds", "told"),
    [
        (EMAIL, SuppressionReason.INVALID_RECIPIENT, {"password_reset"}, True),
        (EMAIL, SuppressionReason.UNSUBSCRIBED, {"password_reset", "weekly_digest"}, False),
        (EMAIL, SuppressionReason.COMPLAINT, {"password_reset", "weekly_digest"}, False),
        (EMAIL, SuppressionReason.UNSUBSCRIBED, {"weekly_digest"}, True),
        (EMAIL, SuppressionReason.COMPLAINT, {"weekly_digest"}, True),
        (SMS, SuppressionReason.STOPPED, {"password_reset"}, True),
    ],
)
async def test_what_essential_kinds_still_send_to_is_not_put_on_a_list_that_knows_no_kinds(
    channel: Channel, reason: SuppressionReason, kinds: set[str], *, told: bool
) -> None:
    provider = Listing()
    catalogue = Catalogue({name: SHIPPED.get(name) for name in kinds})

    written = "anna@example.com" if channel is EMAIL else "+1 (202) 555-0142"
    await Sharing(catalogue, Deployment(provider), is_on=True).tell(channel, written, reason)

    address = "anna@example.com" if channel is EMAIL else "+12025550142"
    assert provider.held == ([(channel, address, reason)] if told else [])
