"""What crosses the boundary: kept in UTC, lenient to newer fields, silent about persons."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from workflows.policy.models import NoticeRequest, Observation, Recipient
from workflows.policy.words import Channel

ANA = Recipient(id="u-7", email="ana@example.com", phone="+14155550100")
REQUEST = NoticeRequest(kind="k", event_id="e", recipient=ANA, fields={"name": "Ana Example"})


def test_addresses_and_fields_are_not_in_the_repr() -> None:
    shown = repr(REQUEST) + str(REQUEST)
    assert "u-7" in shown
    assert not any(each in shown for each in ("ana@example.com", "+14155550100", "Ana Example"))


def test_an_error_does_not_repeat_the_input() -> None:
    with pytest.raises(ValidationError) as caught:
        NoticeRequest.model_validate({"kind": "k", "event_id": 5, "recipient": "ana@example.com"})
    assert "ana@example.com" not in str(caught.value)


def test_a_newer_field_is_no_error_for_an_older_worker() -> None:
    document = REQUEST.model_dump(mode="json") | {"locale": "de"}
    assert NoticeRequest.model_validate(document) == REQUEST


def test_a_request_survives_the_engine() -> None:
    assert NoticeRequest.model_validate_json(REQUEST.model_dump_json()) == REQUEST


def test_an_instant_is_kept_in_utc() -> None:
    read = NoticeRequest.model_validate(REQUEST.model_dump() | {"expires_at": "2026-03-01T12:00:00+02:00"})
    assert read.expires_at == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert read.expires_at.tzinfo is UTC


@pytest.mark.parametrize(
    "instant",
    [
        pytest.param(1_772_366_400, id="a number: seconds or milliseconds?"),
        pytest.param("1772366400", id="a number in a string"),
        pytest.param("2026-03-01", id="a day"),
        pytest.param("2026-03-01T12:00:00", id="no zone"),
        pytest.param("2026-13-01T12:00:00Z", id="no such month"),
        pytest.param("9999-12-31T23:59:59-05:00", id="past the end of the calendar"),
        pytest.param("0001-01-01T00:00:00+05:00", id="before its beginning"),
    ],
)
def test_a_time_that_cannot_be_computed_with_is_refused(instant: object) -> None:
    with pytest.raises(ValidationError):
        NoticeRequest.model_validate(REQUEST.model_dump() | {"expires_at": instant})


def test_a_fallback_at_expiry_is_refused() -> None:
    times = {"fallback_at": "2026-03-01T12:00:00Z", "expires_at": "2026-03-01T12:00:00Z"}
    with pytest.raises(ValidationError, match="fallback_at: must be before expires_at"):
        NoticeRequest.model_validate(REQUEST.model_dump() | times)


def test_each_channel_has_its_address() -> None:
    assert ANA.address(Channel.EMAIL) == "ana@example.com"
    assert ANA.address(Channel.SMS) == "+14155550100"
    assert Recipient(id="u-8").address(Channel.SMS) is None


def test_a_report_that_comes_as_a_signal_keeps_nobodys_address_in_its_words() -> None:
    seen = Observation.model_validate(
        {
            "attempt_key": "k:e:u:email:1",
            "event_id": "e",
            "source": "callback",
            "status": "rejected",
            "raw": "550 anna@example.test unknown, call +1 202 555 0142",
            "code": "to anna@example.test",
            "at": "2026-12-01T10:00:00Z",
        }
    )
    assert (seen.raw, seen.code) == ("550 <address> unknown, call <number>", "to <address>")
