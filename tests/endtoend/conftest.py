"""One engine for every deployment of this session."""

from collections.abc import AsyncIterator

import pytest

from console.engine import EngineAt, development_engine, free_port
from tests.endtoend.deployment import Town


@pytest.fixture(scope="session")
async def town(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Town]:
    home = tmp_path_factory.mktemp("town")
    async with development_engine(home, EngineAt(free_port(), free_port())) as engine:
        yield Town(engine, home)
