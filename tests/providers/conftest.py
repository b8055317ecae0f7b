from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest

from activities.providers import wire
from activities.providers.provider import Provider
from tests.providers.scripted import Scripted, scripted
from tests.providers.subject import Subject
from tests.providers.subjects import SUBJECTS

SHORT = timedelta(seconds=0.15)
"""The budget of an adapter whose server may say nothing at all."""


@pytest.fixture(scope="session", params=SUBJECTS, ids=lambda subject: subject.name)
def subject(request: pytest.FixtureRequest) -> Subject:
    found = request.param
    assert isinstance(found, Subject)
    return found


@pytest.fixture(scope="session")
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with wire.new_client() as made:
        yield made


@pytest.fixture
async def script() -> AsyncIterator[Scripted]:
    async with scripted() as served:
        yield served


@pytest.fixture
def provider(subject: Subject, client: httpx.AsyncClient, script: Scripted) -> Provider:
    script.answer = subject.taken
    return subject.at(client, script.url)
