"""What enhanced status codes mean: the IANA registry (RFC 3463, 5248, 7293, 7504, 7505), restated.

A row also says which words in the reply turn the code into a fault of the recipient, because hosts use
codes for what they do not mean. Codes marked Microsoft are not registered. First digit 2 is a success and
first digit 4 a failure that is still being worked on, so that only codes of class 5 have a row.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from workflows.policy.words import Status

_INVALID = Status.INVALID_RECIPIENT
_REJECTED = Status.REJECTED
_TEMPORARY = Status.TEMPORARY_FAILURE

UNKNOWN_USER = (
    r"(?<!your )\b(?:"
    r"(?:user|recipient|addressee|mailbox|account|address) (?:is )?unknown"
    r"|(?:unknown|no such|invalid|non-?existent) (?:user|recipient|mailbox|account|person|local part)"
    r"|(?:user|recipient|mailbox|account|address)\b[^.]{0,40} (?:does not|doesn't) exist"
    r"|(?:user|recipient|mailbox|account) (?:was )?not found"
    r"|recipient (?:address )?(?:is )?(?:invalid|unavailable)"
    r"|user doesn't have an? (?:\S+ )?account"
    r"|(?:mailbox|account|user|recipient) (?:is |has been )?(?:disabled|inactive|deactivated)"
    r"|(?:blocked|disabled|closed) due to inactivity"
    r")"
)
"""Words for a mailbox that is not there, or not in use."""

_UNAVAILABLE = r"mailbox unavailable"
_ACCESS = r"recipient address rejected: access denied"
_NO_HOST = r"host or domain name not found|nxdomain|domain (?:name )?(?:not found|does not exist)"
_INACTIVE = r"recipient address rejected: inactive"


class Entry(NamedTuple):
    """One row; every class 5 code is final, since its host has given up."""

    meaning: str
    status: Status
    fault_if: str | None = None
    """A pattern in the reply that makes it a recipient fault."""

    @property
    def is_vague(self) -> bool:
        """Whether it says so little that a plain reply, or the provider's own class, may say more."""
        return self.fault_if is not None and self.fault_if.startswith(UNKNOWN_USER)


TABLE: Mapping[str, Entry] = MappingProxyType(
    {
        # Undefined codes say nothing against a reply that is plain.
        "5.0.0": Entry("other undefined", _REJECTED, UNKNOWN_USER),
        "5.0.350": Entry("catch-all (Microsoft)", _REJECTED, UNKNOWN_USER),
        "5.1.0": Entry("other address status", _REJECTED, UNKNOWN_USER),
        "5.1.1": Entry("bad destination mailbox address", _INVALID),
        "5.1.2": Entry("bad destination system address", _INVALID),
        "5.1.3": Entry("bad destination mailbox address syntax", _INVALID),
        # Rare; Exchange also uses it for reserved domains.
        "5.1.4": Entry("destination mailbox address ambiguous", _REJECTED),
        "5.1.6": Entry("destination mailbox has moved, no forwarding", _INVALID),
        "5.1.7": Entry("bad sender's mailbox address syntax", _REJECTED),
        "5.1.8": Entry("bad sender's system address", _REJECTED),
        # The registry says that the address was valid.
        "5.1.9": Entry("message relayed to non-compliant mailer", Status.UNRECOGNIZED),
        # RFC 7505; Microsoft says "recipient not found" with it.
        "5.1.10": Entry("recipient address has null MX", _INVALID),
        "5.2.0": Entry("other or undefined mailbox status", _REJECTED, UNKNOWN_USER),
        "5.2.1": Entry("mailbox disabled, not accepting messages", _INVALID),
        # The registry: "should be used as a persistent transient failure".
        "5.2.2": Entry("mailbox full", _TEMPORARY),
        "5.2.3": Entry("message length exceeds administrative limit", _REJECTED),
        "5.2.4": Entry("mailing list expansion problem", _REJECTED),
        "5.2.121": Entry("hourly limit per sender (Microsoft)", _TEMPORARY),
        "5.2.122": Entry("hourly limit of the mailbox (Microsoft)", _TEMPORARY),
        "5.3.0": Entry("other or undefined mail system status", _REJECTED, UNKNOWN_USER),
        "5.3.1": Entry("mail system full", _TEMPORARY),
        "5.3.2": Entry("system not accepting network messages", _TEMPORARY),
        "5.3.3": Entry("system not capable of selected features", _REJECTED),
        "5.3.4": Entry("message too big for system", _REJECTED),
        "5.3.5": Entry("system incorrectly configured", _REJECTED),
        "5.4.0": Entry("other or undefined network or routing status", _TEMPORARY),
        # Exchange Online refuses unknown recipients at its edge with this code.
        "5.4.1": Entry("no answer from host", _REJECTED, _ACCESS),
        "5.4.4": Entry("unable to route", _REJECTED, _NO_HOST),
        "5.4.6": Entry("routing loop detected", _REJECTED),
        "5.4.7": Entry("delivery time expired", _TEMPORARY),
        "5.4.300": Entry("message expired (Microsoft)", _TEMPORARY),
        # Outlook and Hotmail say "mailbox unavailable" for unknown recipients.
        "5.5.0": Entry("other or undefined protocol status", _REJECTED, f"{UNKNOWN_USER}|{_UNAVAILABLE}"),
        "5.5.x": Entry("mail delivery protocol status", _REJECTED),
        "5.6.x": Entry("message content or media status", _REJECTED),
        "5.7.13": Entry("user account disabled: the sender's", _REJECTED),
        # RFC 7293: somebody else has the address now; never send again.
        "5.7.17": Entry("mailbox owner has changed", _INVALID),
        "5.7.18": Entry("domain owner has changed", _INVALID),
        "5.7.27": Entry("sender address has null MX", _REJECTED),
        "5.7.504": Entry("recipient address not valid (Microsoft)", _INVALID),
        # Rambler closes mailboxes under a policy code.
        "5.7.x": Entry("security or policy status", _REJECTED, _INACTIVE),
    },
)


def entry(code: str) -> Entry | None:
    """Return the row of a code, or of its subject; None where the registry says nothing."""
    subject = code.rpartition(".")[0]
    return TABLE.get(code) or TABLE.get(f"{subject}.x")
