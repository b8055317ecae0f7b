"""Whether receivers will believe a sending domain, as DNS says: SPF, DKIM, DMARC, and where bounces go.

========  ==================================================================================================
SPF       RFC 7208: one record, for the return path; that is the provider's own domain unless set otherwise
DKIM      RFC 6376: a key under the selector that the provider signs with; nobody can list the selectors
DMARC     RFC 9989: one record at the domain of `From`, else at a parent of it
null MX   RFC 7505: a domain that takes no mail; some receivers take none from it
========  ==================================================================================================

No answer from DNS is never an "ok", and neither is a selector that nobody knows.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple

from dns import rdatatype
from dns.asyncresolver import Resolver

from activities import resolving
from activities.providers.base import Finding, Level
from activities.resolving import Absent, Unanswered

_MOST_LABELS: Final = 8
"""From longer names, RFC 9989 goes at once to the parent of seven labels."""

_POLICIES: Final = frozenset({"none", "quarantine", "reject"})


class Signing(NamedTuple):
    """What is known of a provider's records without its account."""

    selectors: tuple[str, ...] = ()
    """DKIM selectors that it documents; accounts may have others."""
    return_path: str | None = None
    """The part before the domain, "" for the domain itself; None: a domain of its own, or anybody's guess."""
    is_fixed: bool = False
    """Whether no account has another return path."""


PROVIDERS: Mapping[str, Signing] = MappingProxyType(
    {
        "mailgun": Signing(("pdk1", "pdk2"), "", is_fixed=True),
        "resend": Signing(("resend",), "send"),
        "sendgrid": Signing(("s1", "s2")),
    }
)
"""SES, Courier, Infrai and Postmark are not here: their selectors are made for each account."""


class Signer(NamedTuple):
    """A provider, and the domain that it signs for."""

    provider: str
    domain: str


async def ready(dns: Resolver, domain: str, signers: Sequence[Signer]) -> tuple[Finding, ...]:
    """Look up what receivers look up about mail from a domain, by each provider that sends it."""
    try:
        mail = await _mail(dns, domain)
    except Absent:
        return (await _missing(dns, domain),)
    except Unanswered as error:
        return (Finding(Level.UNCHECKED, domain, f"SPF, DKIM, DMARC and MX: {error}"),)
    found = await asyncio.gather(
        *chain.from_iterable((_spf(dns, each), _dkim(dns, each)) for each in signers), _dmarc(dns, domain)
    )
    return (*found, *mail)


async def _missing(dns: Resolver, domain: str) -> Finding:
    """Say that there is no such domain, unless this DNS does not know the internet at all."""
    last = domain.rpartition(".")[2]
    try:
        if not await resolving.is_barren(dns, last):
            says = "does not exist in DNS: receivers refuse mail from it; correct the sender, or register it"
            return Finding(Level.PROBLEM, domain, says)
        says = f"DNS here does not know .{last} at all; ask another: --dns"
    except Unanswered as error:
        says = str(error)
    return Finding(Level.UNCHECKED, domain, f"SPF, DKIM, DMARC and MX: {says}")


async def _mail(dns: Resolver, domain: str) -> tuple[Finding, ...]:
    """Say where bounces and replies go; raises Absent where there is no such domain."""
    hosts = [str(each.exchange) for each in await resolving.records(dns, domain, rdatatype.MX)]
    match hosts:
        case []:
            says = "MX: there is none, so replies and bounces that are sent to it are lost"
        case ["."]:
            says = "MX: it says that it takes no mail, and some receivers take none from such a domain"
        case _:
            return ()
    return (Finding(Level.NOTE, domain, says),)


async def _spf(dns: Resolver, signer: Signer) -> Finding:
    signing = PROVIDERS.get(signer.provider, Signing())
    path = signing.return_path
    names = dict.fromkeys([f"{path}.{signer.domain}"] if path else [])
    for name in (*names, signer.domain):
        try:
            found = [
                each for each in await resolving.texts(dns, name) if each.lower().split()[:1] == ["v=spf1"]
            ]
        except Unanswered as error:
            return Finding(Level.UNCHECKED, name, f"SPF: {error}")
        if found:
            return _judged(name, found)
    if signing.is_fixed:
        says = f"SPF: {signer.provider} needs a record there: publish the one that its console shows"
        return Finding(Level.PROBLEM, signer.domain, says)
    says = f"SPF: no record here; receivers ask the return path of {signer.provider}, which its console shows"
    return Finding(Level.UNCHECKED, signer.domain, says)


def _judged(name: str, records: Sequence[str]) -> Finding:
    if len(records) > 1:
        says = f"SPF: has {len(records)} records, which counts as none: make one of them"
        return Finding(Level.PROBLEM, name, says)
    terms = records[0].lower().split()
    if {"all", "+all"} & set(terms):
        says = "SPF: +all lets the whole world send in its name: end it with ~all or -all"
        return Finding(Level.PROBLEM, name, says)
    return Finding(Level.OK, name, "SPF: one record, which names who may send")


async def _dkim(dns: Resolver, signer: Signer) -> Finding:
    provider, domain = signer
    selectors = PROVIDERS.get(provider, Signing()).selectors
    try:
        homes = [each for each in _upwards(domain) if "." in each]
        barren = await asyncio.gather(*(resolving.is_barren(dns, f"_domainkey.{each}") for each in homes))
        if all(barren):
            says = f"DKIM: no key at all is published: add the records that the console of {provider} shows"
            return Finding(Level.PROBLEM, domain, says)
        fertile = [home for home, empty in zip(homes, barren, strict=True) if not empty]
        names = [f"{each}._domainkey.{home}" for home in fertile for each in selectors]
        answers = await asyncio.gather(*(resolving.texts(dns, each) for each in names))
    except Unanswered as error:
        return Finding(Level.UNCHECKED, domain, f"DKIM: {error}")
    found = [(name, _tags(text)) for name, texts in zip(names, answers, strict=True) for text in texts]
    return _keyed(signer, {name: tags["p"] for name, tags in found if "p" in tags})


def _keyed(signer: Signer, keys: Mapping[str, str]) -> Finding:
    """Judge the keys under the selectors that a provider documents; an empty one is revoked."""
    provider, domain = signer
    if good := [name for name, key in keys.items() if key]:
        says = f"DKIM: a key of {provider} is published ({good[0].partition('.')[0]})"
        return Finding(Level.OK, domain, says)
    if keys:
        says = f"DKIM: the key at {next(iter(keys))} is revoked: publish what the console of {provider} shows"
        return Finding(Level.PROBLEM, domain, says)
    says = f"DKIM: keys are published, but only the console of {provider} shows with which it signs"
    return Finding(Level.UNCHECKED, domain, says)


async def _dmarc(dns: Resolver, domain: str) -> Finding:
    try:
        answers = await asyncio.gather(*(resolving.texts(dns, f"_dmarc.{each}") for each in _upwards(domain)))
    except Unanswered as error:
        return Finding(Level.UNCHECKED, domain, f"DMARC: {error}")
    records = [[_tags(each) for each in texts if _is_dmarc(each)] for texts in answers]
    if len(records[0]) > 1:
        says = f"DMARC: has {len(records[0])} records, which counts as none: make one of them"
        return Finding(Level.PROBLEM, domain, says)
    held = [(name, each[0]) for name, each in zip(_upwards(domain), records, strict=True) if len(each) == 1]
    governing = held[0] if records[0] else _of_parents(held)
    if governing is None:
        says = 'DMARC: none, and Gmail and Yahoo ask for one: publish TXT "v=DMARC1; p=none" at _dmarc.'
        return Finding(Level.PROBLEM, domain, f"{says}{domain}")
    return _enforced(domain, *governing)


def _upwards(domain: str) -> tuple[str, ...]:
    """Return a domain and its parents, in which RFC 9989 looks for a policy."""
    labels = domain.split(".")
    first = 1 if len(labels) <= _MOST_LABELS else len(labels) - _MOST_LABELS + 1
    return (domain, *(".".join(labels[at:]) for at in range(first, len(labels))))


def _of_parents(held: Sequence[tuple[str, Mapping[str, str]]]) -> tuple[str, Mapping[str, str]] | None:
    """Return the record of the organisation: the highest, unless one says that the registry begins there."""
    governing = None
    for each in held:
        match each[1].get("psd", "").lower():
            case "n":
                return each
            case "y":
                return governing or each
            case _:
                governing = each
    return governing


def _enforced(domain: str, holder: str, tags: Mapping[str, str]) -> Finding:
    own = holder == domain
    said = (tags.get("p") if own else tags.get("sp") or tags.get("p")) or ""
    policy = said.lower() if said.lower() in _POLICIES else "none"
    where = "" if own else f" (of {holder})"
    if policy == "none":
        says = f"DMARC: p=none{where} is enough for Gmail and Yahoo, and lets others send in its name"
        return Finding(Level.NOTE, domain, says)
    return Finding(Level.OK, domain, f"DMARC: p={policy}{where}")


def _is_dmarc(text: str) -> bool:
    return text.partition(";")[0].replace(" ", "") == "v=DMARC1"


def _tags(text: str) -> Mapping[str, str]:
    """Read `a=b; c=d`, as DKIM and DMARC write it."""
    pairs: Iterator[list[str]] = (each.split("=", 1) for each in text.split(";") if "=" in each)
    return {name.strip().lower(): value.strip() for name, value in pairs}
