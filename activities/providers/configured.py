"""What an adapter needs from the settings; what is missing is one line that names the variable."""

import base64
from email.utils import parseaddr
from typing import NamedTuple, TypeVar
from urllib.parse import urlencode

from activities.accounts import EmailAccount, SmsAccount
from activities.providers import labels
from activities.providers.errors import Misconfigured
from activities.settings import PREFIX, Settings
from activities.variables import Credential

Needed = TypeVar("Needed")

ATTEMPT = "attempt"
"""What our key is called in the query of a callback's address."""


class Sender(NamedTuple):
    """Who an email is from."""

    written: str
    """As a `From` header has it."""
    name: str
    address: str

    @property
    def domain(self) -> str:
        """Where its mail comes from."""
        return self.address.rpartition("@")[2]


def needed(value: Needed | None, name: str) -> Needed:
    """Return a setting; raises Misconfigured where it is not set. `name` lacks `STANDBY_`."""
    if value is None:
        raise Misconfigured(f"{PREFIX}{name}: is not set")
    return value


def email_sender(settings: Settings, account: EmailAccount) -> Sender:
    """Return the sender of email by an account; raises Misconfigured where there is none."""
    written = needed(account.email_from or settings.email_from, "EMAIL_FROM")
    name, address = parseaddr(written)
    return Sender(written, name, address)


def sms_sender(settings: Settings, account: SmsAccount) -> str:
    """Return the sender of texts by an account; raises Misconfigured where there is none."""
    return needed(account.sms_from or settings.sms_from, "SMS_FROM")


def basic(user: str, secret: Credential) -> str:
    """Return an Authorization header (RFC 7617)."""
    return f"Basic {base64.b64encode(f'{user}:{secret.reveal()}'.encode()).decode()}"


def callback_url(settings: Settings, provider: str) -> str | None:
    """Return where a provider reaches us; None where it cannot."""
    return f"{settings.public_url}/callbacks/{provider}" if settings.public_url else None


def labelled(url: str, key: str) -> str:
    """Return a callback's address with our key in its query, for providers that carry nothing else."""
    return f"{url}?{urlencode({ATTEMPT: labels.label(key)})}"
