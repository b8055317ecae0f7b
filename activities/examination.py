"""Checks of a deployment: all made, each on its own and bounded in time, whatever becomes of the others."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import chain
from typing import Final

from activities.discreet import PublicError, redact, tell
from activities.providers.base import Finding, Level
from activities.providers.errors import Misconfigured, ProviderError
from workflows.policy.problems import Mistakes

PATIENCE: Final = timedelta(seconds=25)
"""For one check, which may make several calls, each with a shorter bound of its own."""

_UNREACHED: Final = "check the way to it from here, and whether it has trouble itself"


@dataclass(frozen=True, slots=True)
class Check:
    """One question, and what it is about should no answer come."""

    about: str
    ask: Callable[[], Awaitable[tuple[Finding, ...]]]


async def examine(checks: Sequence[Check], patience: timedelta = PATIENCE) -> tuple[Finding, ...]:
    """Make all checks at once, and return their findings in the order of the checks."""
    found = await asyncio.gather(*(_made(each, patience) for each in checks))
    return tuple(chain.from_iterable(found))


def faults(about: str, error: BaseException) -> tuple[Finding, ...]:
    """Return what an error means to the person on call; it never repeats what a library had to say."""
    match error:
        case BaseExceptionGroup():
            return tuple(chain.from_iterable(faults(about, each) for each in error.exceptions))
        case Misconfigured() | Mistakes() | PublicError():
            return tuple(Finding(Level.PROBLEM, about, line) for line in str(error).splitlines())
        case ProviderError(retry_after=timedelta()):
            says = f"asks us to wait ({error}): run this again later"
            return (Finding(Level.UNCHECKED, about, says),)
        case ProviderError():
            return (Finding(Level.PROBLEM, about, f"cannot be asked ({error}): {_UNREACHED}"),)
        case _:
            says = f"this check itself broke ({tell(error)}): report it, nothing is known here"
            return (Finding(Level.PROBLEM, about, says),)


async def _made(check: Check, patience: timedelta) -> tuple[Finding, ...]:
    try:
        async with asyncio.timeout(patience.total_seconds()) as bound:
            found = await check.ask()
    except Exception as error:  # noqa: BLE001 - one broken check stops no other
        found = _late(check.about, patience) if bound.expired() else faults(check.about, error)
    return tuple(map(_on_one_line, found)) or (Finding(Level.UNCHECKED, check.about, "nothing was said"),)


def _late(about: str, patience: timedelta) -> tuple[Finding, ...]:
    says = f"no answer within {patience.total_seconds():g} s: {_UNREACHED}"
    return (Finding(Level.PROBLEM, about, says),)


def _on_one_line(finding: Finding) -> Finding:
    """Keep a finding to one line without what looks personal, also where a provider's word is in it."""
    return replace(finding, about=_plain(finding.about), says=_plain(finding.says))


def _plain(text: str) -> str:
    return redact("".join(each if each.isprintable() else " " for each in " ".join(text.split())))
