"""The engine's side of a deployment: a namespace, and the search attributes of notices in it.

On Temporal Cloud both are made by Cloud's own tools, and these calls are refused there: then what to do is
said instead.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeVar

from google.protobuf.duration_pb2 import Duration
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, RegisterNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.hosting import EngineRefusedError
from workflows import attributes
from workflows.attributes import Attribute

T = TypeVar("T")

_PATIENCE: Final = timedelta(seconds=5)
_SETTLES: Final = timedelta(seconds=30)
"""How long a cluster may take until all of it knows a new namespace; the server's cache lives for 10 s."""
_PAUSE: Final = timedelta(milliseconds=250)

_REFUSED: Final = frozenset({RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNIMPLEMENTED})


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace, there or not."""

    client: Client

    @property
    def place(self) -> str:
        """Name it and where it is."""
        return f"namespace {self.client.namespace} at {self.client.service_client.config.target_host}"

    async def make(self, retention: timedelta) -> bool:
        """Make it, and say whether it was not there; raises EngineRefusedError with what to do instead."""
        if await self._is_there():
            return False
        length = Duration()
        length.FromTimedelta(retention)
        asked = RegisterNamespaceRequest(
            namespace=self.client.namespace, workflow_execution_retention_period=length
        )
        try:
            await self.client.workflow_service.register_namespace(asked, timeout=_PATIENCE)
        except RPCError as error:
            if error.status is RPCStatusCode.ALREADY_EXISTS:
                return False
            if error.status in _REFUSED:
                raise EngineRefusedError(
                    f"{self.place}: it is not there, and the engine does not let us make one:"
                    " on Temporal Cloud make it in the console or with tcld, then run this again"
                ) from None
            raise
        return True

    async def missing(self) -> tuple[Attribute, ...]:
        """Return the search attributes that it lacks; raises EngineRefusedError for one of another type."""
        asked = ListSearchAttributesRequest(namespace=self.client.namespace)
        told = await self.client.operator_service.list_search_attributes(asked, timeout=_PATIENCE)
        for each in attributes.ALL:
            kept = told.custom_attributes.get(each.name)
            if kept is not None and kept != int(each.indexed_value_type):
                raise EngineRefusedError(
                    f"{self.place}: search attribute {each.name} is a {_word(kept)} there, and notices need"
                    f" a {_word(each.indexed_value_type)}: rename or remove it, then run this again"
                )
        return tuple(each for each in attributes.ALL if each.name not in told.custom_attributes)

    async def add_attributes(self) -> tuple[Attribute, ...]:
        """Add those that are missing, and return them; raises EngineRefusedError with what to do instead."""
        try:
            lacking = await once_settled(self.missing)
            if lacking:
                await once_settled(lambda: self._add(lacking))
        except RPCError as error:
            if error.status in _REFUSED:
                named = " ".join(
                    f"--sa {each.name}={_word(each.indexed_value_type)}" for each in attributes.ALL
                )
                raise EngineRefusedError(
                    f"{self.place}: the engine does not let us add search attributes; on Temporal Cloud do:"
                    f" tcld namespace search-attributes add -n {self.client.namespace} {named}"
                ) from None
            raise
        return lacking

    async def _add(self, lacking: tuple[Attribute, ...]) -> None:
        wanted = {each.name: IndexedValueType.ValueType(each.indexed_value_type) for each in lacking}
        asked = AddSearchAttributesRequest(namespace=self.client.namespace, search_attributes=wanted)
        await self.client.operator_service.add_search_attributes(asked, timeout=_PATIENCE)

    async def _is_there(self) -> bool:
        asked = DescribeNamespaceRequest(namespace=self.client.namespace)
        try:
            await self.client.workflow_service.describe_namespace(asked, timeout=_PATIENCE)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return False
            raise
        return True


async def once_settled(call: Callable[[], Awaitable[T]]) -> T:
    """Call, and again while part of the cluster does not know the namespace yet."""
    loop = asyncio.get_running_loop()
    until = loop.time() + _SETTLES.total_seconds()
    while True:
        try:
            return await call()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND or loop.time() >= until:
                raise
        await asyncio.sleep(_PAUSE.total_seconds())


def _word(kind: int) -> str:
    return IndexedValueType.Name(IndexedValueType.ValueType(kind)).removeprefix("INDEXED_VALUE_TYPE_").title()
