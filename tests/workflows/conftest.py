"""A time-skipping engine of its own for each test: the server bears one workflow at a time."""

from collections.abc import AsyncIterator

import pytest
from temporalio.testing import WorkflowEnvironment

from tests.workflows.stage import open_engine


@pytest.fixture
async def engine() -> AsyncIterator[WorkflowEnvironment]:
    async with open_engine() as env:
        yield env
