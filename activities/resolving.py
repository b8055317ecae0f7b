"""Questions to DNS: what is there, what is not, and what nobody could tell."""

from datetime import timedelta
from typing import Any, Final

from dns import exception, rdatatype, resolver
from dns.asyncresolver import Resolver

PATIENCE: Final = timedelta(seconds=4)
"""For one question, however many name servers there are."""

_AGAIN: Final = "run this again, or ask another: --dns"


class Absent(Exception):  # noqa: N818 - an answer, and not always an error
    """There is no such name, nor anything below it (RFC 8020)."""


class Unanswered(Exception):  # noqa: N818 - named by what is known
    """Nobody could tell; one line that says why."""


def new_resolver(at: tuple[str, int] | None = None) -> Resolver:
    """Return a resolver that asks one name server, by IP address and port, or those of this machine."""
    try:
        made = Resolver(configure=at is None)
    except resolver.NoResolverConfiguration:
        made = Resolver(configure=False)
    if at is not None:
        made.nameservers, made.port = [at[0]], at[1]
    made.lifetime = PATIENCE.total_seconds()
    return made


async def records(dns: Resolver, name: str, kind: rdatatype.RdataType) -> tuple[Any, ...]:
    """Return the records at a name, which may be none; raises Absent or Unanswered."""
    try:
        answer = await dns.resolve(f"{name}.", kind, raise_on_no_answer=False)
    except resolver.NXDOMAIN:
        raise Absent from None
    except exception.Timeout:
        raise Unanswered(f"DNS did not answer in time; {_AGAIN}") from None
    except (exception.DNSException, OSError):
        raise Unanswered(f"no name server could answer; {_AGAIN}") from None
    return tuple(answer.rrset or ())


async def texts(dns: Resolver, name: str) -> tuple[str, ...]:
    """Return the texts at a name; none where it does not exist. Raises Unanswered."""
    try:
        found = await records(dns, name, rdatatype.TXT)
    except Absent:
        return ()
    return tuple(b"".join(each.strings).decode("ascii", "replace").strip() for each in found)


async def is_barren(dns: Resolver, name: str) -> bool:
    """Whether there is nothing at or below a name. Raises Unanswered."""
    try:
        await records(dns, name, rdatatype.TXT)
    except Absent:
        return True
    return False
