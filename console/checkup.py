"""What `standby doctor` asks: of the settings, the ledger, the engine, the providers, and DNS."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final, Self

import httpx
from dns.asyncresolver import Resolver

from activities import accounts
from activities.catalogue import Catalogue, CatalogueError
from activities.examination import Check, examine, faults
from activities.expectations import Post, unmet
from activities.hosting import open_ledger
from activities.keyring import KeyringError
from activities.providers import configured
from activities.providers.base import Callback, Callbacks, Finding, Level
from activities.providers.errors import Misconfigured
from activities.providers.provider import CallsBack, Provider
from activities.providers.registry import Providers
from activities.readiness import Signer, ready
from activities.settings import PREFIX, Settings, SettingsError, keyring
from activities.store.database import parsed
from activities.store.errors import place
from console import aside
from console.deployment import PASSED_OVER, Deployment
from console.providers import told
from console.retention import kept_long_enough
from console.surroundings import environment
from workflows.policy.terms import Policy
from workflows.policy.words import Channel

SETTINGS, KEYS, KINDS, LEDGER, ENGINE = "settings", "keys", "kinds", "ledger", "temporal"
"""What findings are about, beside providers, kinds and domains by their names."""

_PATIENCE: Final = timedelta(seconds=20)
"""For the questions of one provider: what they say in time is told, also where one of them hangs."""

_FIRST: Final = "what is wrong above comes first"


@dataclass(frozen=True, slots=True)
class Chart:
    """A deployment, as far as it can be read."""

    environ: Mapping[str, str]
    settings: Settings | None
    policies: Mapping[str, Policy] | None
    """By kind; None where the kinds cannot be read."""
    found: tuple[Finding, ...]
    """What reading it brought to light."""

    @classmethod
    def here(cls) -> Self:
        """Read the environment and what it names; each mistake is a finding."""
        try:
            deployment = Deployment.here()
        except SettingsError as error:
            return cls(environment(), None, None, (*_elsewhere(), *faults(SETTINGS, error)))
        settings = deployment.settings
        policies, kinds = _kinds(settings.notices, settings.public_url)
        found = (*_elsewhere(), _chosen(settings), *_keys(settings), *kinds)
        return cls(deployment.environ, settings, policies, found)


@dataclass(frozen=True, slots=True)
class _Named:
    """A provider that somebody chose for a channel."""

    provider: str
    channel: Channel
    by: str
    """The variable or the file that names it."""
    policies: dict[str, Policy] = field(default_factory=dict)
    """Of the kinds that it serves."""

    @property
    def label(self) -> str:
        return f"{self.provider} {self.channel}"


def checks(chart: Chart, client: httpx.AsyncClient, dns: Resolver) -> Iterator[Check]:
    """Yield every check that can be made of a deployment."""
    yield Check(SETTINGS, partial(_known, chart.found))
    if chart.settings is None:
        for about in (KEYS, KINDS, LEDGER, "providers"):
            yield Check(about, partial(_known, (Finding(Level.UNCHECKED, about, _FIRST),)))
    else:
        yield Check(LEDGER, partial(_ledger, chart.settings))
    yield Check(ENGINE, partial(kept_long_enough, ENGINE, chart.environ, chart.policies))
    if chart.settings is not None:
        named = tuple(_named(chart.settings, chart.policies))
        providers = Providers(chart.settings, client)
        for each in named:
            yield Check(each.label, partial(_of_provider, each, providers, chart.settings))
        yield from _senders(chart.settings, named, dns)


async def _known(found: tuple[Finding, ...]) -> tuple[Finding, ...]:
    return found


def _elsewhere() -> Iterator[Finding]:
    """Say why this folder's development deployment is not the one that is examined, if it could be meant."""
    if said := PASSED_OVER.get():
        yield Finding(Level.NOTE, SETTINGS, said)


def _chosen(settings: Settings) -> Finding:
    return Finding(Level.OK, SETTINGS, f"they can be read: email by {settings.email}, sms by {settings.sms}")


def _keys(settings: Settings) -> tuple[Finding, ...]:
    try:
        ring = keyring(settings)
    except (KeyringError, SettingsError) as error:
        return faults(KEYS, error)
    if ring.current is None:
        says = "STANDBY_PLAINTEXT is set, so nothing is sealed: for development only"
        return (Finding(Level.NOTE, KEYS, says),)
    others = [each for each in ring.payload if each != ring.current]
    opening = f"; what {', '.join(others)} has sealed can be read as well" if others else ""
    return (Finding(Level.OK, KEYS, f"{ring.current} seals what the engine stores{opening}"),)


def _kinds(folder: Path, public_url: str | None) -> tuple[Mapping[str, Policy] | None, tuple[Finding, ...]]:
    try:
        kinds = Catalogue.load(folder, public_url).kinds
    except (CatalogueError, OSError) as error:
        unread = f"what they ask of providers and of the engine: {_FIRST}"
        return None, (*faults(KINDS, error), Finding(Level.UNCHECKED, KINDS, unread))
    says = f"{folder}/ can be used: {', '.join(sorted(kinds))}"
    return {name: each.policy for name, each in kinds.items()}, (Finding(Level.OK, KINDS, says),)


async def _ledger(settings: Settings) -> tuple[Finding, ...]:
    where = place(parsed(settings.database_url.get_secret_value()))
    async with open_ledger(settings) as ledger:
        there = Finding(Level.OK, LEDGER, f"{where} can be reached, and is migrated")
        kept = aside.told(await ledger.strays.counted())
    return (there, Finding(Level.NOTE, LEDGER, kept)) if kept else (there,)


def _named(settings: Settings, policies: Mapping[str, Policy] | None) -> Iterator[_Named]:
    """Yield each provider that the deployment or a kind names, by channel, with the kinds that it serves."""
    found: dict[tuple[str, Channel], _Named] = {}
    defaults = {Channel.EMAIL: settings.email, Channel.SMS: settings.sms}
    for channel, default in defaults.items():
        # Unless somebody chose it, it counts only where a kind needs it, or the kinds are not known.
        if channel in settings.model_fields_set or policies is None:
            found[default, channel] = _Named(default, channel, f"{PREFIX}{channel.upper()}")
    for name, policy in (policies or {}).items():
        for channel in policy.route:
            own = policy.watch(channel).provider
            by = f"{settings.notices / name / 'policy.toml'}: {channel}.provider" if own else None
            provider = own or defaults[channel]
            key = (provider, channel)
            if key not in found:
                found[key] = _Named(provider, channel, by or f"{PREFIX}{channel.upper()}")
            found[key].policies[name] = policy
    yield from found.values()


async def _of_provider(named: _Named, providers: Providers, settings: Settings) -> tuple[Finding, ...]:
    """Look at one provider on one channel: what it says of the account, and what it can do for the kinds."""
    provider = _made(named, providers)
    asked = (
        Check(named.label, partial(_examined, named, provider)),
        Check(named.label, partial(_capable, named, provider, settings)),
    )
    return await examine(asked, _PATIENCE)


def _made(named: _Named, providers: Providers) -> Provider:
    """Make an adapter; raises Misconfigured with the variable or the file that is to be changed."""
    try:
        return providers.serving(named.channel, named.provider)
    except Misconfigured as error:
        says = str(error)
    raise Misconfigured(says if says.startswith(PREFIX) else f"{named.by}: {says}")


async def _examined(named: _Named, provider: Provider) -> tuple[Finding, ...]:
    found = await provider.examine(named.channel)
    return tuple(Finding(each.level, named.label, each.says) for each in found)


async def _capable(named: _Named, provider: Provider, settings: Settings) -> tuple[Finding, ...]:
    can = provider.capabilities(named.channel)
    deaf = await _deaf(provider, settings) if can.callbacks is not Callbacks.NONE else None
    post = Post(named.provider, named.channel, can, deaf)
    able = Finding(Level.OK, named.label, told(can, named.channel))
    return able, *unmet(post, named.policies, shares=settings.share_suppressions)


async def _deaf(provider: Provider, settings: Settings) -> str | None:
    """Say why callbacks would not be heard: nobody knows where to call, or no secret says whom to believe."""
    if settings.public_url is None:
        return f"{PREFIX}PUBLIC_URL is not set"
    if isinstance(provider, CallsBack):
        try:
            await provider.verify(Callback(b"", {}))
        except Misconfigured as error:
            return str(error).replace(": is not set", " is not set")
        except Exception:  # noqa: BLE001 - it is no callback: that it is not believed is all there is to see
            return None
    return None


def _senders(settings: Settings, named: Sequence[_Named], dns: Resolver) -> Iterator[Check]:
    """Yield what DNS is asked about the domains that email comes from; the sandbox's reaches nobody."""
    signers: defaultdict[str, tuple[Signer, ...]] = defaultdict(tuple)
    for each in named:
        account = getattr(settings, each.provider, None)
        if each.channel is not Channel.EMAIL or not isinstance(account, accounts.EmailAccount):
            continue
        try:
            domain = configured.email_sender(settings, account).domain.lower()
        except Misconfigured:
            says = f"SPF, DKIM, DMARC and MX: {PREFIX}EMAIL_FROM, which says of which domain, is not set"
            yield Check(each.label, partial(_known, (Finding(Level.UNCHECKED, each.label, says),)))
            continue
        signs = account.domain if isinstance(account, accounts.Mailgun) else None
        signers[domain] += (Signer(each.provider, (signs or domain).lower()),)
    for domain, by in signers.items():
        yield Check(domain, partial(ready, dns, domain, by))
