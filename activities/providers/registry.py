"""Which adapters there are: adding a provider is one file, and one line here."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

import httpx

from activities.providers import (
    aws_sms,
    courier,
    infrai,
    mailgun,
    plivo,
    postmark,
    resend,
    sandbox,
    sendgrid,
    ses,
    sns,
    telnyx,
    twilio,
    vonage,
)
from activities.providers.base import Capabilities
from activities.providers.errors import Misconfigured
from activities.providers.provider import Provider
from activities.settings import Settings
from workflows.policy.words import Channel


class Adapter(Protocol):
    """What the module of an adapter offers."""

    CAPABILITIES: Mapping[Channel, Capabilities]
    """What it can do at most, on every channel that it serves."""

    def build(self, settings: Settings, client: httpx.AsyncClient) -> Provider:
        """Make it; raises Misconfigured where a setting that it cannot do without is missing."""
        ...


PROVIDERS: Mapping[str, Adapter] = MappingProxyType(
    {
        "aws_sms": aws_sms,
        "courier": courier,
        "infrai": infrai,
        "mailgun": mailgun,
        "plivo": plivo,
        "postmark": postmark,
        "resend": resend,
        "sandbox": sandbox,
        "sendgrid": sendgrid,
        "ses": ses,
        "sns": sns,
        "telnyx": telnyx,
        "twilio": twilio,
        "vonage": vonage,
    },
)


class Providers:
    """The adapters of one deployment, made when they are first asked for."""

    def __init__(self, settings: Settings, client: httpx.AsyncClient) -> None:
        self._settings = settings
        self._client = client
        self._made: dict[str, Provider] = {}

    def serving(self, channel: Channel, chosen: str | None = None) -> Provider:
        """Return what serves a channel: what the kind chose, else what the deployment did."""
        default = self._settings.email if channel is Channel.EMAIL else self._settings.sms
        name = chosen or default
        if channel not in adapter(name).CAPABILITIES:
            known = sorted(each for each, module in PROVIDERS.items() if channel in module.CAPABILITIES)
            raise Misconfigured(
                f"provider {name!r} does not serve {channel}: choose one of {', '.join(known)}"
            )
        return self.named(name)

    def named(self, name: str) -> Provider:
        """Return one adapter; raises Misconfigured where there is none, or it lacks a setting."""
        if name not in self._made:
            self._made[name] = adapter(name).build(self._settings, self._client)
        return self._made[name]


def adapter(name: str) -> Adapter:
    """Return the module of that name; raises Misconfigured with one line that lists what there is."""
    if name not in PROVIDERS:
        raise Misconfigured(f"provider {name!r} is not known: choose one of {', '.join(sorted(PROVIDERS))}")
    return PROVIDERS[name]
