"""What the receiver is made from: every part built once, and handed in."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from temporalio.client import Client

from activities.catalogue import Catalogue
from activities.keyring import Keyring
from activities.metrics import NOTHING, Meters
from activities.providers.registry import Providers
from activities.providers.signatures import host_now
from activities.settings import Settings
from activities.store.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Parts:
    """One deployment, seen from its edge."""

    settings: Settings
    keyring: Keyring
    catalogue: Catalogue
    ledger: Ledger
    providers: Providers
    client: Client
    clock: Callable[[], datetime] = host_now
    """The host's clock (UTC): requests arrive where there is no engine time."""
    meters: Meters = NOTHING
