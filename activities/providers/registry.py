"""Which adapters there are: adding a provider is one file, and one line here."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import httpx

from activities.providers import sandbox
from activities.providers.base import Provider
from activities.providers.errors import Misconfigured
from activities.settings import Settings
from workflows.policy.words import Channel

Builder = Callable[[Settings, httpx.AsyncClient], Provider]

PROVIDERS: Mapping[str, Builder] = MappingProxyType(
    {
        "sandbox": sandbox.build,
    },
)


def serving(name: str, settings: Settings, client: httpx.AsyncClient) -> Provider:
    """Make the adapter of that name; raises Misconfigured with one line that lists what there is."""
    if name not in PROVIDERS:
        raise Misconfigured(f"provider {name!r} is not known: choose one of {', '.join(sorted(PROVIDERS))}")
    return PROVIDERS[name](settings, client)


class Providers:
    """The adapters of one deployment, made when they are first asked for."""

    def __init__(self, settings: Settings, client: httpx.AsyncClient) -> None:
        self._settings = settings
        self._client = client
        self._made: dict[str, Provider] = {}

    def serving(self, channel: Channel, chosen: str | None = None) -> Provider:
        """Return what serves a channel: what the kind chose, else what the deployment did."""
        default = self._settings.email if channel is Channel.EMAIL else self._settings.sms
        return self.named(chosen or default)

    def named(self, name: str) -> Provider:
        """Return one adapter; raises Misconfigured where there is none of that name."""
        if name not in self._made:
            self._made[name] = serving(name, self._settings, self._client)
        return self._made[name]
