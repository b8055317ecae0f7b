import pytest
from temporalio.exceptions import ApplicationError

from activities.discreet import PublicError, chain, frames, redact, tell


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("to anna.b+x@example.test now", "to [address] now"),
        ("<anna@example.co.uk>, please", "<[address]>, please"),
        ("to=anna%40example.test", "to=[address]"),
        ("über@müller.example", "[address]"),
        ("text to +4915112345678", "text to [number]"),
        ("text to +49 151 1234-5678.", "text to [number]."),
        ("to=%2B4915112345678", "to=[number]"),
        ("GET https://shop.example/reset/abc?token=t HTTP/1.1", "GET https://shop.example HTTP/1.1"),
        ("at postgresql://anna:hunter2@db:5432/x failed", "at postgresql://db:5432 failed"),
        ('"GET /verify?token=abc HTTP/1.1" 200', '"GET /verify?[query] HTTP/1.1" 200'),
        ("password_reset:evt-1:anna@example.test:email:1", "password_reset:evt-1:[address]:email:1"),
    ],
)
def test_what_looks_like_a_person_is_taken_out(text: str, left: str) -> None:
    assert redact(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "password_reset:reset-1:user-1:email:1",
        "closed at 2026-11-30T19:35:00+00:00",
        "did it work? yes",
        "poll 2 of 3, 5.1.1, 1+1",
        "http://127.0.0.1:8025",
    ],
)
def test_ids_times_and_words_stay(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("anna"), "ValueError"),
        (TypeError("anna"), "TypeError"),
        (
            TypeError("run() missing 1 required positional argument: 'x'"),
            "run() missing 1 required positional argument: 'x'",
        ),
        (PublicError("key file k: does not exist"), "key file k: does not exist"),
        (PublicError("for anna@example.test"), "for [address]"),
        (ApplicationError("anna", type="Surprise"), "Surprise"),
        (ApplicationError("anna"), "ApplicationError"),
        (ApplicationError("HTTP 429", type="NotSent"), "HTTP 429"),
        (ApplicationError("Failed decoding arguments"), "Failed decoding arguments"),
        (ExceptionGroup("anna", [ValueError("anna")]), "ExceptionGroup"),
    ],
)
def test_only_words_written_to_be_read_are_told(error: Exception, told: str) -> None:
    assert tell(error) == told


def failed(name: str) -> None:
    try:
        int(name)
    except ValueError as error:
        raise PublicError("no luck") from error


def test_causes_are_told_by_their_class_and_frames_hold_no_message() -> None:
    name = "anna"
    with pytest.raises(PublicError) as caught:
        failed(name)
    assert chain(caught.value) == ["PublicError: no luck", "ValueError"]
    assert "in failed" in frames(caught.value)
    assert name not in frames(caught.value)
