"""Which observation suppresses which address, and what a suppression blocks.

Only a classified permanent fault of that very address suppresses it, or its person's own choice. Blocked,
content, policy, a full mailbox, greylisting, a timeout and a word that nobody knows never do. The state of
the attempt does not matter: a bounce that comes after the delivery changes no outcome and suppresses all
the same.
"""

from collections.abc import Mapping
from types import MappingProxyType

from workflows.policy.models import Observation
from workflows.policy.words import Channel, Status, SuppressionReason

OPT_OUTS = frozenset(SuppressionReason) - {SuppressionReason.INVALID_RECIPIENT}
"""The person's own choice."""

_SAID: Mapping[tuple[Channel, SuppressionReason], SuppressionReason] = MappingProxyType(
    {
        # A choice is never lost because a provider used the other channel's word for it.
        (Channel.EMAIL, SuppressionReason.STOPPED): SuppressionReason.UNSUBSCRIBED,
        (Channel.SMS, SuppressionReason.UNSUBSCRIBED): SuppressionReason.STOPPED,
    },
)


def suppression(seen: Observation, channel: Channel) -> SuppressionReason | None:
    """Return why this address must not be written to any more, if the report says so."""
    if seen.opt_out in OPT_OUTS:
        return said(channel, seen.opt_out)
    if seen.status is Status.INVALID_RECIPIENT and seen.is_final:
        return SuppressionReason.INVALID_RECIPIENT
    return None


def said(channel: Channel, reason: SuppressionReason) -> SuppressionReason:
    """Return a reason in the channel's own word."""
    return _SAID.get((channel, reason), reason)


def blocks(reason: SuppressionReason, channel: Channel, *, essential: bool) -> bool:
    """Whether a suppression of this address stands in the way of a notice on this channel.

    An opt-out ends texts at once, and email of every kind that is not essential.
    """
    match reason, channel:
        case SuppressionReason.INVALID_RECIPIENT, _:
            return True
        case _, Channel.SMS:
            return True
        case _:
            return not essential
