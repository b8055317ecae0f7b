"""A name server on loopback, over UDP, that answers from one zone of records, or does not."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import cast

from dns import flags, message, name, rcode, rdatatype, rrset
from dns.asyncresolver import Resolver
from typing_extensions import override

from activities.resolving import new_resolver

Records = Mapping[str, Sequence[str]]
"""Texts by name; "MX name" for mail exchangers, "CNAME name" for an alias."""

AT_ONCE = timedelta(seconds=0.1)
"""What a resolver waits whom nobody will answer."""
SOON = timedelta(seconds=1)
"""What a resolver waits whom nobody will answer one question of several."""


@dataclass
class NameServer(asyncio.DatagramProtocol):
    """Answers NXDOMAIN for names that neither exist nor have anything below them (RFC 8020)."""

    records: Records
    silent: frozenset[str] = frozenset()
    """Names that it does not answer for; "." for all."""
    failing: frozenset[str] = frozenset()
    """Names that it answers SERVFAIL for."""
    asked: list[str] = field(default_factory=list)

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    @override
    def datagram_received(self, data: bytes, addr: tuple[str | int, int]) -> None:
        query = message.from_wire(data)
        asked = query.question[0]
        said = str(asked.name).rstrip(".").lower()
        self.asked.append(f"{rdatatype.to_text(asked.rdtype)} {said}")
        if not {said, "."} & self.silent:
            self._transport.sendto(self._answer(query, asked, said).to_wire(), addr)

    def _answer(self, query: message.Message, asked: rrset.RRset, said: str) -> message.Message:
        answer = message.make_response(query)
        answer.flags |= flags.AA
        if said in self.failing:
            answer.set_rcode(rcode.SERVFAIL)
        elif not self._exists(said):
            answer.set_rcode(rcode.NXDOMAIN)
        else:
            answer.answer.extend(self._found(asked.name, asked.rdtype))
        return answer

    def _found(self, asked: name.Name, kind: rdatatype.RdataType) -> Iterator[rrset.RRset]:
        at = str(asked).rstrip(".").lower()
        for alias in self.records.get(f"CNAME {at}", ()):
            yield rrset.from_text(asked, 300, "IN", "CNAME", alias)
            yield from self._found(name.from_text(alias), kind)
        key = at if kind == rdatatype.TXT else f"{rdatatype.to_text(kind)} {at}"
        if values := self.records.get(key):
            written = [_quoted(each) for each in values] if kind == rdatatype.TXT else values
            yield rrset.from_text(asked, 300, "IN", rdatatype.to_text(kind), *written)

    def _exists(self, said: str) -> bool:
        return any(f".{key.rpartition(' ')[2]}".endswith(f".{said}") for key in self.records)


def _quoted(text: str) -> str:
    """Write a text in strings of 200 characters, as long keys are published."""
    return " ".join(f'"{text[at : at + 200]}"' for at in range(0, len(text), 200)) or '""'


@dataclass(frozen=True)
class Served:
    server: NameServer
    address: tuple[str, int]

    @property
    def resolver(self) -> Resolver:
        made = new_resolver(self.address)
        if self.server.silent:
            made.lifetime = (AT_ONCE if "." in self.server.silent else SOON).total_seconds()
        return made


@asynccontextmanager
async def serving(server: NameServer) -> AsyncIterator[Served]:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: server, local_addr=("127.0.0.1", 0))
    try:
        yield Served(server, transport.get_extra_info("sockname")[:2])
    finally:
        transport.close()
