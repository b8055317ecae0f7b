"""Foreign JSON: a field of another shape is a field that is not there."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.providers import fields
from activities.providers.errors import Forged

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=9,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), JSON)


@given(found=OBJECTS)
def test_nothing_whatever_breaks_a_reading(found: dict[str, object]) -> None:
    for name in "abc":
        assert fields.text(found, name) is None or isinstance(fields.text(found, name), str)
        assert fields.number(found, name) is None or isinstance(fields.number(found, name), int)
        assert isinstance(fields.part(found, name, "b"), dict)
        assert all(isinstance(each, dict) for each in fields.parts(found, name))
        assert fields.unix(found.get(name)) is None or fields.unix(found.get(name)).tzinfo is UTC  # type: ignore[union-attr]


@given(text=st.text(max_size=40))
def test_no_text_whatever_is_a_time_without_its_zone(text: str) -> None:
    found = fields.instant(text)
    assert found is None or found.tzinfo is not None


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-12-01T10:00:00Z", datetime(2026, 12, 1, 10, tzinfo=UTC)),
        ("2026-12-01 10:00:00.5+00", datetime(2026, 12, 1, 10, 0, 0, 500_000, tzinfo=UTC)),
        ("Tue, 01 Dec 2026 12:00:00 +0200", datetime(2026, 12, 1, 10, tzinfo=UTC)),
        ("2026-12-01T10:00:00", None),
        ("", None),
        (None, None),
    ],
)
def test_a_time_is_read_as_providers_write_it(written: str | None, read: datetime | None) -> None:
    assert fields.instant(written) == read


@pytest.mark.parametrize("given_", [True, None, [], "x", float("nan"), 1e300, "9" * 400, -(10**18)])
def test_a_count_that_is_no_time_is_none(given_: object) -> None:
    assert fields.unix(given_) is None


@pytest.mark.parametrize("body", [b"", b"[]", b'"x"', b"[" * 100_000, b"\xff"])
def test_a_callback_without_an_object_is_not_believed(body: bytes) -> None:
    with pytest.raises(Forged):
        fields.posted(body)


@pytest.mark.parametrize(
    ("value", "text"), [(7, "7"), ("7", "7"), (True, None), ("", None), (None, None), (7.5, None), ([], None)]
)
def test_a_field_is_a_text_or_a_whole_number(value: object, text: str | None) -> None:
    assert fields.text({"a": value}, "a") == text
