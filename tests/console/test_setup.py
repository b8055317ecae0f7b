"""A deployment's namespace and search attributes: made once, on a real engine that has neither."""

from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from types import SimpleNamespace
from typing import cast

import pytest
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment

from activities.hosting import EngineRefusedError
from console.engine import free_port
from console.exits import Exit
from console.namespace import Namespace, once_settled
from tests.console.shell import REACHED, UNREACHABLE, Shell
from tests.servers import dev_server
from workflows import attributes

OURS = {each.name for each in attributes.ALL}


@pytest.fixture(scope="module")
async def bare() -> AsyncIterator[Client]:
    """An engine that nothing of ours was ever set up on."""
    async with await WorkflowEnvironment.start_local(dev_server_existing_path=dev_server()) as environment:
        yield environment.client


def at(bare: Client, namespace: str) -> Mapping[str, str]:
    address = bare.service_client.config.target_host
    return {"TEMPORAL_ADDRESS": address, "TEMPORAL_NAMESPACE": namespace, "STANDBY_PLAINTEXT": "1"}


async def test_what_is_missing_is_made_and_nothing_is_made_twice(alone: Shell, bare: Client) -> None:
    first = await alone.run("setup", "--retention", "7", **at(bare, "fresh"))
    again = await alone.run("setup", **at(bare, "fresh"))

    place = f"namespace fresh at {bare.service_client.config.target_host}"
    assert (first.code, first.err) == (REACHED, "")
    made, named = first.out.splitlines()
    assert made == f"{place}: made; it keeps what has closed for 7d"
    assert set(named.removeprefix("search attributes: made ").split(", ")) == OURS
    assert again.out.splitlines() == [f"{place}: is there already", "search attributes: all there already"]
    assert (again.code, again.err) == (REACHED, "")


async def test_an_attribute_of_another_type_is_left_alone_and_told(alone: Shell, bare: Client) -> None:
    other = Client(bare.service_client, namespace="other")
    await Namespace(other).make(timedelta(days=1))
    wanted = {attributes.EXPIRES_AT.name: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD}
    asked = AddSearchAttributesRequest(namespace="other", search_attributes=wanted)
    await once_settled(lambda: other.operator_service.add_search_attributes(asked))

    said = await alone.run("setup", **at(bare, "other"))

    assert said.code == Exit.FAILED
    assert "NoticeExpiresAt is a Keyword there, and notices need a Datetime" in said.err


async def test_without_an_engine_it_says_what_to_do(alone: Shell) -> None:
    said = await alone.run("setup", TEMPORAL_ADDRESS=f"127.0.0.1:{free_port()}")

    assert (said.code, said.out) == (UNREACHABLE, "")
    assert len(said.err.splitlines()) == 1


class Cloud:
    """An engine that leaves namespaces and attributes to its own tools."""

    namespace = "ours.a1b2c"
    service_client = SimpleNamespace(config=SimpleNamespace(target_host="ours.a1b2c.tmprl.cloud:7233"))

    def __init__(self, *, is_there: bool) -> None:
        self._is_there = is_there
        self.workflow_service = self.operator_service = self

    async def describe_namespace(self, _asked: object, **_rpc: object) -> None:
        if not self._is_there:
            raise RPCError("not found", RPCStatusCode.NOT_FOUND, b"")

    async def register_namespace(self, _asked: object, **_rpc: object) -> None:
        raise RPCError("no", RPCStatusCode.UNIMPLEMENTED, b"")

    async def list_search_attributes(self, _asked: object, **_rpc: object) -> None:
        raise RPCError("no", RPCStatusCode.PERMISSION_DENIED, b"")


async def test_where_the_engine_lets_nobody_make_a_namespace_the_tool_that_may_is_named() -> None:
    with pytest.raises(EngineRefusedError, match="on Temporal Cloud make it in the console or with tcld"):
        await Namespace(cast("Client", Cloud(is_there=False))).make(timedelta(days=1))


async def test_where_the_engine_lets_nobody_add_attributes_the_command_that_may_is_told() -> None:
    cloud = Namespace(cast("Client", Cloud(is_there=True)))
    command = r"tcld namespace search-attributes add -n ours\.a1b2c"

    with pytest.raises(EngineRefusedError, match=command) as said:
        await cloud.add_attributes()

    assert all(f"--sa {each}=" in str(said.value) for each in OURS)
