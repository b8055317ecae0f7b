"""The strict door: every mistake is one line that names its field and repeats nothing."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from workflows.policy.contract import ContractError, parse, published, schema, validate
from workflows.policy.models import NoticeRequest

Json = dict[str, object]

ROOT = Path(__file__).resolve().parents[2]

GOOD: Json = {
    "kind": "password_reset",
    "event_id": "r-81",
    "recipient": {"id": "u-7", "email": "Ana@Example.com", "phone": "+1 (415) 555-0100", "sms_consent": True},
    "fields": {"name": "Ana", "reset_url": "https://example.com/r/1", "items": [1, 2.5, None, {"a": True}]},
    "occurred_at": "2026-03-01T12:00:00Z",
    "fallback_at": "2026-03-01T12:05:00+00:00",
    "expires_at": "2026-03-01T14:10:00+02:00",
}
TIME = "a time with its zone, like 2026-01-31T18:00:00Z"
TEXT = "text of at most 1000 characters"
KEYS = "kind, event_id, recipient, fields, occurred_at, expires_at, fallback_at"


def but(**changes: object) -> Json:
    """Return the good document with some members changed; a key like `recipient__email` goes one deeper."""
    made = json.loads(json.dumps(GOOD))
    for name, value in changes.items():
        *above, key = name.split("__")
        (made[above[0]] if above else made)[key] = value
    return dict(made)


def mistakes(document: str | bytes | object) -> tuple[str, ...]:
    """Return the lines about a document."""
    with pytest.raises(ContractError) as caught:
        _ = parse(document) if isinstance(document, str | bytes) else validate(document)
    assert str(caught.value) == "\n".join(caught.value.problems)
    assert not any("\n" in each for each in caught.value.problems)
    return caught.value.problems


def test_a_good_document_is_a_notice_with_normal_addresses() -> None:
    request = parse(json.dumps(GOOD))
    assert request.key == "password_reset:r-81:u-7"
    assert request.recipient.email == "Ana@example.com"
    assert request.recipient.phone == "+14155550100"
    assert request.expires_at == datetime(2026, 3, 1, 12, 10, tzinfo=UTC)
    assert request.fields == GOOD["fields"]


def test_bytes_and_a_byte_order_mark_are_read() -> None:
    text = json.dumps(GOOD, ensure_ascii=False)
    assert parse(text.encode()) == parse(text) == parse("\ufeff" + text)


OPAQUE = "looks like an address: ids appear in the UI and in logs, so use an opaque one"


@pytest.mark.parametrize("name", ["kind", "event_id", "recipient__id"])
@pytest.mark.parametrize(
    "written",
    [
        pytest.param("Ana@Example.com", id="the person's own email"),
        pytest.param("user:ana@example.COM:1", id="an id around it"),
        pytest.param("+1 (415) 555-0100", id="the person's own number as written"),
        pytest.param("sms-14155550100", id="the person's own number without its plus"),
        pytest.param("somebody.else@mail.example.org", id="an email address"),
        pytest.param("+4915112345678", id="a number"),
        pytest.param("https://example.com/u/7", id="a link"),
    ],
)
def test_an_id_that_is_or_holds_an_address_is_refused(name: str, written: str) -> None:
    assert mistakes(but(**{name: written})) == (f"{name.replace('__', '.')}: {OPAQUE}",)


@pytest.mark.parametrize(
    "written",
    [
        "user-1001",
        "9b2f1c3e-7d1a-4a53-9f0e-2f6f0f4f5d6a",
        "2026-03-01T12:00:00+0100",
        "14155550199",
        "user@tenant",
        "+123456",
        "abc+12345678",
        "orders/2026/#7: b",
        "ana",
        "😀",
    ],
)
def test_an_opaque_id_is_the_callers_own_business(written: str) -> None:
    assert validate(but(recipient__id=written, event_id=written)).recipient.id == written


def test_an_address_that_is_wrong_and_an_id_that_is_one_are_told_at_once() -> None:
    told = mistakes(but(recipient__id="https://example.com/u/7", recipient__email="ana@"))
    assert [each.split(":")[0] for each in told] == ["recipient.email", "recipient.id"]


def test_a_request_passes_the_door_as_its_document_does() -> None:
    request = parse(json.dumps(GOOD))
    assert validate(request) == request == validate(request.model_dump())


def test_only_the_triple_is_required() -> None:
    request = validate({"kind": "k", "event_id": "e", "recipient": {"id": "r"}})
    assert request == NoticeRequest.model_validate({"kind": "k", "event_id": "e", "recipient": {"id": "r"}})


FIELD_ROWS: list[tuple[Json, str]] = [
    (but(kind=""), f"kind: empty; allowed: {TEXT}"),
    (but(event_id=7), f"event_id: wrong type; allowed: {TEXT}"),
    (but(event_id="x" * 1001), f"event_id: too long; allowed: {TEXT}"),
    (but(recipient=None), "recipient: wrong type; allowed: the keys id, email, phone, sms_consent"),
    (but(recipient={"email": "ana@example.com"}), f"recipient.id: required; allowed: {TEXT}"),
    (but(recipient__sms_consent="yes"), "recipient.sms_consent: wrong type; allowed: true or false"),
    (but(recipient__sms_consent=1), "recipient.sms_consent: wrong type; allowed: true or false"),
    (
        but(recipient__emial="ana@example.com"),
        "recipient.emial: unknown key, did you mean email?; allowed: id, email, phone, sms_consent",
    ),
    (but(ocurred_at=1), f"ocurred_at: unknown key, did you mean occurred_at?; allowed: {KEYS}"),
    (but(expires_at=1_772_366_400), f"expires_at: not a time; allowed: {TIME}"),
    (but(fields=[]), "fields: wrong type; allowed: keys and values"),
]

SUBTLE_ROWS: list[tuple[Json, str]] = [
    (but(expires_at="tomorrow"), f"expires_at: not a time; allowed: {TIME}"),
    (but(expires_at="2026-03-01T12:00:00"), f"expires_at: has no zone; allowed: {TIME}"),
    (
        but(occurred_at="1970-01-01T00:00:00Z"),
        f"occurred_at: must lie in the years 2000 to 2199; allowed: {TIME}",
    ),
    (but(fallback_at="2026-03-01T12:10:00Z"), "fallback_at: must be before expires_at"),
    (
        but(recipient__email="ana@"),
        "recipient.email: must be one address like name@example.com, without a name",
    ),
    (
        but(recipient__email="ana@example.com\nBcc: b@example.com"),
        "recipient.email: must not hold line breaks or control characters",
    ),
    (
        but(recipient__phone="0171 5550100"),
        "recipient.phone: must be + and the country code, then digits only, like +14155550100",
    ),
]


@pytest.mark.parametrize(("document", "line"), FIELD_ROWS + SUBTLE_ROWS, ids=lambda value: str(value)[:60])
def test_a_mistake_is_one_line_that_names_its_field(document: Json, line: str) -> None:
    assert mistakes(json.dumps(document)) == mistakes(document) == (line,)


def test_several_mistakes_are_told_at_once() -> None:
    told = mistakes(but(kind="", recipient__sms_consent=0, expires_at=0))
    assert [each.split(":")[0] for each in told] == ["kind", "recipient.sms_consent", "expires_at"]
    assert len(mistakes(but(recipient__email="a", recipient__phone="b"))) == 2


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("", "line 1, column 1: not JSON: Expecting value", id="nothing"),
        pytest.param('{\n "a" 1}', "line 2, column 6: not JSON: Expecting ':' delimiter", id="no colon"),
        pytest.param("{} {}", "line 1, column 4: not JSON: Extra data", id="two documents"),
        pytest.param(b"\xff", "document: not UTF-8", id="not UTF-8"),
        pytest.param("[]", "document: must be one JSON object", id="a list"),
        pytest.param("null", "document: must be one JSON object", id="null"),
        pytest.param("[" * 100_000, "document: nested deeper than 32 levels", id="endless nesting"),
        pytest.param(
            json.dumps(but(fields={"a": json.loads("[" * 40 + "]" * 40)})),
            "fields: nested deeper than 32 levels",
            id="deep nesting",
        ),
        pytest.param('{"kind": "a", "kind": "b"}', "kind: given more than once", id="a key twice"),
        pytest.param(
            '{"recipient": {"id": "a", "email": "x", "email": "y"}}',
            "recipient.email: given more than once",
            id="a key twice, deeper",
        ),
        pytest.param('{"fields": {"a": NaN}}', "fields.a: NaN and Infinity are not JSON", id="NaN"),
        pytest.param('{"fields": [-Infinity]}', "fields.0: NaN and Infinity are not JSON", id="Infinity"),
        pytest.param('{"fields": {"a": 1e999}}', "fields.a: NaN and Infinity are not JSON", id="overflow"),
        pytest.param(
            '{"fields": {"a": 9223372036854775808}}',
            "fields.a: too long a number: write it as a string",
            id="more than 64 bits",
        ),
        pytest.param(
            '{"kind": ' + "9" * 10_000 + "}",
            "kind: too long a number: write it as a string",
            id="endless number",
        ),
        pytest.param(
            '{"event_id": "\\ud800"}', "event_id: half of a surrogate pair is not text", id="lone surrogate"
        ),
        pytest.param('{"\\udc00": 1}', "?: a key that is not text", id="lone surrogate as key"),
    ],
)
def test_json_that_programs_read_differently_is_refused(text: str | bytes, line: str) -> None:
    assert mistakes(text) == (line,)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ({"a": object()}, "fields.a: not a JSON value"),
        ({"a": b"x"}, "fields.a: not a JSON value"),
        ({1: "x"}, "fields.?: a key that is not text"),
    ],
)
def test_python_values_that_are_not_json_are_refused(value: object, line: str) -> None:
    assert mistakes(but() | {"fields": value}) == (line,)


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: Json = {}
    loop["again"] = loop
    assert mistakes(but() | {"fields": loop}) == ("fields: nested deeper than 32 levels",)


def test_no_line_repeats_what_was_in_a_field() -> None:
    secret = "ana.secret@example"
    documents = [
        but(kind=[secret]),
        but(recipient__email=secret),
        but(recipient__phone=secret),
        but(expires_at=secret),
        but(recipient={secret: secret}),
        but() | {secret: secret},
        but(fields=secret),
    ]
    assert not any(secret in line for each in documents for line in mistakes(each))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(list(GOOD)), JSON)
def test_any_value_in_any_field_is_read_or_refused(name: str, value: object) -> None:
    document = GOOD | {name: value}
    try:
        request = validate(document)
    except ContractError as error:
        assert error.problems  # noqa: PT017 - either is right, a traceback is not
    else:
        assert parse(request.model_dump_json()) == request


@given(st.text() | st.binary())
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    with pytest.raises(ContractError):
        parse(text)


def test_the_published_schema_is_the_contract() -> None:
    kept = (ROOT / "docs" / "notice.schema.json").read_text(encoding="utf-8")
    assert kept == published(), (
        "the contract has changed; publish it: python -m workflows.policy.contract > docs/notice.schema.json"
    )


def test_the_schema_is_valid_and_takes_a_good_document() -> None:
    Draft202012Validator.check_schema(schema())
    Draft202012Validator(schema()).validate(GOOD)


@pytest.mark.parametrize("document", [row[0] for row in FIELD_ROWS], ids=[row[1][:50] for row in FIELD_ROWS])
def test_the_schema_refuses_what_the_door_refuses(document: Json) -> None:
    """What a schema can say, it says; times in words and addresses are left to the door."""
    assert not Draft202012Validator(schema()).is_valid(document)


def test_every_field_of_the_schema_is_explained() -> None:
    made = json.loads(published())
    for model in (made, made["$defs"]["Recipient"]):
        assert model["additionalProperties"] is False
        assert all(each["description"] for each in model["properties"].values())
    assert json.dumps(made).count('"date-time"') == 3
