"""Spans that were seen, and how they hang together."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans
from opentelemetry.sdk.trace import ReadableSpan
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from temporalio.plugin import SimplePlugin
from temporalio.worker import WorkerConfig
from typing_extensions import override

from receiver.serving import Address, serving


@dataclass(frozen=True)
class Seen:
    """One span, whichever way it left."""

    name: str
    trace: int
    span: int
    parent: int | None
    attributes: dict[str, object]
    links: frozenset[int]


@dataclass(frozen=True)
class Woven:
    """Spans, by who began whom."""

    spans: tuple[Seen, ...]

    def of(self, trace: int) -> "Woven":
        return Woven(tuple(each for each in self.spans if each.trace == trace))

    def about(self, key: str) -> "Woven":
        return Woven(tuple(each for each in self.spans if key in str(each.attributes)))

    def named(self, name: str) -> list[Seen]:
        return [each for each in self.spans if each.name == name]

    def only(self, name: str) -> Seen:
        (found,) = self.named(name)
        return found

    def line(self, span: Seen) -> list[str]:
        """Return the names from a span up to the first that began it all."""
        above = next((each for each in self.spans if each.span == span.parent), None)
        return [span.name, *(self.line(above) if above else [])]

    @property
    def names(self) -> list[str]:
        return sorted(each.name for each in self.spans)


def woven(spans: Iterable[ReadableSpan]) -> Woven:
    return Woven(tuple(_seen(each) for each in spans))


def _seen(span: ReadableSpan) -> Seen:
    assert span.context is not None
    return Seen(
        span.name,
        span.context.trace_id,
        span.context.span_id,
        span.parent.span_id if span.parent else None,
        dict(span.attributes or {}),
        frozenset(each.context.span_id for each in span.links),
    )


class Uncached(SimplePlugin):
    """A worker that remembers no workflow: every task of one replays all of it."""

    def __init__(self) -> None:
        super().__init__("tests.Uncached")

    @override
    def configure_worker(self, config: WorkerConfig) -> WorkerConfig:
        return {**super().configure_worker(config), "max_cached_workflows": 0}


@dataclass
class Collector:
    """Takes what OTLP over HTTP brings."""

    at: Address
    raw: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    async def take(self, request: Request) -> Response:
        self.raw.append(await request.body())
        self.headers.append(dict(request.headers))
        return Response(media_type="application/x-protobuf")

    @property
    def resources(self) -> list[ResourceSpans]:
        """Return what came, by the process that it came from."""
        requests = [ExportTraceServiceRequest.FromString(each) for each in self.raw]
        return [each for request in requests for each in request.resource_spans]

    @property
    def woven(self) -> Woven:
        found = []
        for each in (span for r in self.resources for scope in r.scope_spans for span in scope.spans):
            parent = int.from_bytes(each.parent_span_id) if each.parent_span_id else None
            said = {pair.key: pair.value.string_value for pair in each.attributes}
            trace, span = int.from_bytes(each.trace_id), int.from_bytes(each.span_id)
            found.append(Seen(each.name, trace, span, parent, dict(said), frozenset()))
        return Woven(tuple(found))


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    """Run a collector for the block."""
    collector = Collector(Address())
    app = Starlette(routes=[Route("/v1/traces", collector.take, methods=["POST"])])
    async with serving(app, collector.at) as at:
        collector.at = at
        yield collector
