"""Marked addresses do not come through logs."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator

import httpx
import pytest
from temporalio import activity
from temporalio.testing import ActivityEnvironment

from activities import logs, telemetry
from activities.providers.errors import Misconfigured
from activities.settings import LogFormat, LogLevel
from tests.activities.counted import Counted
from workflows.policy.words import Channel, Status

MARKED = "anna.marked@example.test"
NUMBER = "+4915112345678"
LINK = "https://shop.example/reset/marked-token?user=marked"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """A process that logs to a string, and is put back as it was."""
    root, raising = logging.root, logging.raiseExceptions
    handlers, level = root.handlers, root.level
    written = io.StringIO()
    logs.configure(LogFormat.JSON, LogLevel.DEBUG, written)
    yield written
    root.handlers, logging.raiseExceptions = handlers, raising
    root.setLevel(level)


def broken() -> httpx.ConnectError:
    """Return an error as a library raises it: with frames, a cause, and texts that repeat their input."""
    with pytest.raises(httpx.ConnectError) as caught:
        raise httpx.ConnectError(f"no route for {MARKED}") from ValueError(MARKED)
    return caught.value


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_json_object_with_its_facts(stream: io.StringIO) -> None:
    logs.event("sent", attempt="password_reset:reset-1:user-1:email:1", reads=2)
    [line] = lines(stream)
    assert str(line.pop("at")).endswith("Z")
    assert line == {
        "level": "info",
        "logger": "standby",
        "event": "sent",
        "attempt": "password_reset:reset-1:user-1:email:1",
        "reads": 2,
    }


@pytest.mark.parametrize("form", list(LogFormat))
def test_no_line_holds_a_marked_address(stream: io.StringIO, form: LogFormat) -> None:
    logs.configure(form, LogLevel.DEBUG, stream)
    log = logging.getLogger("anything")
    log.warning("to %s and %s", MARKED, NUMBER)
    log.warning("see %s", LINK)
    logs.event("sent", to=MARKED)
    error = broken()
    log.error("failed", exc_info=error)
    text = stream.getvalue()
    assert "anna" not in text
    assert "reset" not in text
    assert NUMBER not in text
    assert "ConnectError" in text
    assert "ValueError" in text
    assert "test_telemetry.py" in text, "the frames stay"


async def test_http_requests_are_not_logged_even_at_debug(stream: io.StringIO) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200))
    async with httpx.AsyncClient(transport=transport) as client:
        await client.get(LINK)
    # The loop that this runs in says which selector it uses, if it is the first one.
    assert [each for each in lines(stream) if each["logger"] != "asyncio"] == []


def test_a_line_that_cannot_be_formatted_does_not_print_its_arguments(
    stream: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    two = "%s and %s"
    logging.getLogger("anything").warning(two, MARKED)
    assert "marked" not in stream.getvalue() + capsys.readouterr().err


async def test_a_line_of_an_activity_carries_the_engine_s_ids_as_facts(stream: io.StringIO) -> None:
    def probe() -> None:
        activity.logger.info("working")

    await asyncio.to_thread(ActivityEnvironment().run, probe)
    [line] = [each for each in lines(stream) if each["logger"] == "temporalio.activity"]
    assert (line["event"], line["workflow_id"], line["attempt"]) == ("working", "test", 1)


def test_each_provider_call_is_counted_by_what_came_of_it(counted: Counted) -> None:
    called = telemetry.Called("send", "k:e:u:email:1", "sandbox", Channel.EMAIL)
    with telemetry.provider_call(called, counted.meters) as call:
        call.answered(Status.PENDING)
    with pytest.raises(Misconfigured), telemetry.provider_call(called, counted.meters):
        raise Misconfigured("HTTP 401")

    words = "channel=email,outcome={},provider=sandbox,verb=send"
    assert counted.read() == {
        f"provider_calls{{{words.format('pending')}}}": 1,
        f"provider_calls{{{words.format('Misconfigured')}}}": 1,
        "provider_call{channel=email,provider=sandbox,verb=send}": 2,
    }
