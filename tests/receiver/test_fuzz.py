"""Requests that nobody would think of, to every route over HTTP: each is answered as the document says."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from activities.store.ledger import Ledger
from receiver.app import build
from receiver.consuming import Trials
from receiver.evenly import Evenly
from receiver.openapi import document
from receiver.operations import OPERATIONS
from receiver.serving import Address, serving
from tests.receiver.deployed import BEARER, Engine, parts

SCHEMA = schemathesis.openapi.from_dict(document())
CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]
ROUTES = [" ".join(each) for each in OPERATIONS]
FEW = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
AWAY = 503
"""What a route says whose engine or provider is not there: these tests have a ledger, and no engine."""


@pytest.fixture
async def url(ledger: Ledger) -> AsyncIterator[str]:
    made = parts(ledger, Engine())
    # Failures are as even as ever, and the steps are short.
    trials = Trials(made, Evenly(quantum=timedelta(milliseconds=5)))
    async with serving(build(made, trials), Address()) as at:
        yield at.url


@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=ROUTES)
@pytest.mark.parametrize("headers", [BEARER, {}], ids=["with a key", "without one"])
async def test_every_answer_is_one_that_the_document_knows(
    url: str, method: str, path: str, headers: dict[str, str]
) -> None:
    operation = SCHEMA[path][method]

    @FEW
    @given(case=operation.as_strategy())
    def answered(case: schemathesis.Case[Any]) -> None:
        response = case.call(base_url=url, headers=headers)
        checks = CHECKS[1:] if response.status_code == AWAY else CHECKS
        case.validate_response(response, checks=checks)

    await asyncio.to_thread(answered)


@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=ROUTES)
async def test_random_bytes_are_no_server_error(url: str, method: str, path: str) -> None:
    operation = SCHEMA[path][method]

    @FEW
    @given(case=operation.as_strategy(), raw=st.binary(max_size=300))
    def survived(case: schemathesis.Case[Any], raw: bytes) -> None:
        case.body = raw
        case.media_type = "application/octet-stream"
        response = case.call(base_url=url, headers=BEARER)
        assert response.status_code < 500 or response.status_code == AWAY

    await asyncio.to_thread(survived)
