"""The strict door of verifications: every mistake is one line that names its field and repeats nothing."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from workflows.policy.contract import ContractError
from workflows.policy.verification import KIND, VerificationRequest
from workflows.policy.verification_contract import parse, published, schema, validate
from workflows.policy.words import Channel, Method

Json = dict[str, object]

ROOT = Path(__file__).resolve().parents[2]

GOOD: Json = {
    "account_id": "acc-7",
    "challenge_id": "9b2f1c3e7d1a4a539f0e2f6f0f4f5d6a",
    "purpose": "signup",
    "to": {"email": "Ana@Example.com", "phone": "+1 (415) 555-0100"},
    "method": "both",
    "expires_at": "2026-03-01T14:10:00+02:00",
    "return_url": "https://shop.example/welcome?to=cart",
    "route": ["sms", "email"],
    "kind": "signup_verification",
    "fields": {"name": "Ana"},
}
LEAST: Json = {
    "account_id": "acc-7",
    "purpose": "signup",
    "to": {"email": "ana@example.com"},
    "expires_at": "2026-03-01T12:10:00Z",
}
TIME = "a time with its zone, like 2026-01-31T18:00:00Z"
KEYS = "account_id, challenge_id, purpose, to, method, expires_at, return_url, route, kind, fields"


def but(**changes: object) -> Json:
    """Return the good document with some members changed; `to__email` goes one deeper."""
    made = json.loads(json.dumps(GOOD))
    for name, value in changes.items():
        *above, key = name.split("__")
        (made[above[0]] if above else made)[key] = value
    return dict(made)


def mistakes(document: str | bytes | object) -> tuple[str, ...]:
    with pytest.raises(ContractError) as caught:
        _ = parse(document) if isinstance(document, str | bytes) else validate(document)
    assert not any("\n" in each for each in caught.value.problems)
    return caught.value.problems


def test_a_good_document_is_a_verification_with_normal_addresses() -> None:
    request = parse(json.dumps(GOOD))
    assert (request.to.email, request.to.phone) == ("Ana@example.com", "+14155550100")
    assert request.expires_at == datetime(2026, 3, 1, 12, 10, tzinfo=UTC)
    assert (request.method, request.route) == (Method.BOTH, (Channel.SMS, Channel.EMAIL))
    assert request.return_url == GOOD["return_url"]


def test_what_may_be_left_out_is_a_link_by_the_kind_of_sign_ups() -> None:
    request = validate(LEAST)
    assert (request.challenge_id, request.return_url, request.route) == (None, None, None)
    assert (request.method, request.kind) == (Method.LINK, KIND)


def test_an_account_of_any_characters_is_taken_up_to_its_length() -> None:
    for account_id in ("a" * 160, "é" * 26, "~tilde/slash: 7"):
        assert validate(LEAST | {"account_id": account_id}).account_id == account_id


def test_a_request_passes_the_door_as_its_document_does() -> None:
    request = parse(json.dumps(GOOD))
    assert validate(request) == request == validate(request.model_dump())
    assert parse(request.model_dump_json()) == request


def test_no_address_and_no_link_is_in_a_repr() -> None:
    shown = repr(parse(json.dumps(GOOD)))
    assert not any(each in shown for each in ("example", "415", "name"))


FIELD_ROWS: list[tuple[Json, str]] = [
    (but(account_id=""), "account_id: empty; allowed: text of at most 1000 characters"),
    (but(challenge_id="short"), "challenge_id: unfit; allowed: text that matches ^[A-Za-z0-9_-]{8,64}$"),
    (but(challenge_id="a" * 65), "challenge_id: unfit; allowed: text that matches ^[A-Za-z0-9_-]{8,64}$"),
    (but(challenge_id="12345678."), "challenge_id: unfit; allowed: text that matches ^[A-Za-z0-9_-]{8,64}$"),
    (but(purpose=""), "purpose: empty; allowed: text of at most 64 characters"),
    (but(purpose="p" * 65), "purpose: too long; allowed: text of at most 64 characters"),
    (but(purpose="sign\nup"), "purpose: unfit; allowed: text of at most 64 characters"),
    (but(to=None), "to: wrong type; allowed: the keys email, phone"),
    (but(to__emial="a"), "to.emial: unknown key, did you mean email?; allowed: email, phone"),
    (but(method="sms"), "method: unknown word; allowed: link, code, both"),
    (but(expires_at=1_772_366_400), f"expires_at: not a time; allowed: {TIME}"),
    (but(route=[]), "route: empty; allowed: a list of: email, sms"),
    (but(route=["sms", "post"]), "route.1: unknown word; allowed: email, sms"),
    (but(return_url="h" * 2001), "return_url: too long; allowed: text of at most 2000 characters"),
    (but(fields=[]), "fields: wrong type; allowed: keys and values"),
    (but(retrun_url="x"), f"retrun_url: unknown key, did you mean return_url?; allowed: {KEYS}"),
]

OPAQUE = "looks like an address: ids appear in the UI and in logs, so use an opaque one"
SUBTLE_ROWS: list[tuple[Json, str]] = [
    (but(expires_at="2026-03-01T12:00:00"), f"expires_at: has no zone; allowed: {TIME}"),
    (but(to__email="ana@"), "to.email: must be one address like name@example.com, without a name"),
    (
        but(to__phone="0171 5550100"),
        "to.phone: must be + and the country code, then digits only, like +14155550100",
    ),
    (LEAST | {"to": {}}, "to: needs an email or a phone"),
    (LEAST | {"to": {"email": None, "phone": None}}, "to: needs an email or a phone"),
    (but(route=["sms", "sms"]), "route: names a channel more than once"),
    (LEAST | {"route": ["sms", "email"]}, "route: names sms, and to.phone is not given"),
    (
        LEAST | {"route": ["email"], "to": {"phone": "+14155550100"}},
        "route: names email, and to.email is not given",
    ),
    (but(account_id="a" * 161), "account_id: too long: at most 160 characters when percent-encoded"),
    (but(account_id="é" * 27), "account_id: too long: at most 160 characters when percent-encoded"),
    (but(account_id="ana@example.com"), f"account_id: {OPAQUE}"),
    (but(account_id="+4915112345678"), f"account_id: {OPAQUE}"),
    (but(account_id="user:ana@EXAMPLE.com:1"), f"account_id: {OPAQUE}"),
    (but(challenge_id="14155550100"), f"challenge_id: {OPAQUE}"),
    (but(challenge_id="sms_14155550100_1"), f"challenge_id: {OPAQUE}"),
    (but(purpose="verify ana@example.com"), f"purpose: {OPAQUE}"),
    (but(purpose="https://shop.example/x"), f"purpose: {OPAQUE}"),
    (but(kind="ana@example.com"), f"kind: {OPAQUE}"),
    (but(return_url="shop.example"), "return_url: must be a whole link: https://host/…"),
    (but(return_url="//shop.example/x"), "return_url: must be a whole link: https://host/…"),
    (but(return_url="ftp://shop.example/x"), "return_url: must be a whole link: https://host/…"),
    (but(return_url="https://ana@shop.example/x"), "return_url: must not name a user before the host"),
    (but(return_url="http://shop.example/x"), "return_url: must be https (http is for loopback hosts)"),
]


@pytest.mark.parametrize(("document", "line"), FIELD_ROWS + SUBTLE_ROWS, ids=lambda value: str(value)[:60])
def test_a_mistake_is_one_line_that_names_its_field(document: Json, line: str) -> None:
    assert mistakes(json.dumps(document)) == mistakes(document) == (line,)


@pytest.mark.parametrize("name", ["account_id", "purpose", "to", "expires_at"])
def test_what_is_required_is_said(name: str) -> None:
    document = {key: value for key, value in LEAST.items() if key != name}
    assert [each.partition(";")[0] for each in mistakes(document)] == [f"{name}: required"]


def test_several_mistakes_are_told_at_once() -> None:
    told = mistakes(
        but(to__email="a", to__phone="b", purpose="a@b.example", route=["sms", "sms"], return_url="x")
    )
    assert [each.split(":")[0] for each in told] == ["to.email", "to.phone", "purpose", "route", "return_url"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "line 1, column 1: not JSON: Expecting value"),
        (b"\xff", "document: not UTF-8"),
        ("[]", "document: must be one JSON object"),
        ('{"purpose": "a", "purpose": "b"}', "purpose: given more than once"),
    ],
)
def test_json_that_programs_read_differently_is_refused(text: str | bytes, line: str) -> None:
    assert mistakes(text) == (line,)


def test_no_line_repeats_what_was_in_a_field() -> None:
    secret = "ana.secret@example"
    documents = [
        but(account_id=[secret]),
        but(challenge_id=secret),
        but(to__email=secret),
        but(to__phone=secret),
        but(to={secret: secret}),
        but(method=secret),
        but(expires_at=secret),
        but(return_url=f"https://{secret}/x"),
        but(route=[secret]),
        but() | {secret: secret},
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
        assert isinstance(request, VerificationRequest)
        assert parse(request.model_dump_json()) == request


def test_the_published_schema_is_the_contract() -> None:
    kept = (ROOT / "docs" / "verification.schema.json").read_text(encoding="utf-8")
    assert kept == published(), (
        "the contract has changed; publish it:"
        " python -m workflows.policy.verification_contract > docs/verification.schema.json"
    )


@pytest.mark.parametrize("document", [GOOD, LEAST], ids=["all", "the least"])
def test_the_schema_is_valid_and_takes_a_good_document(document: Json) -> None:
    Draft202012Validator.check_schema(schema())
    Draft202012Validator(schema()).validate(document)


@pytest.mark.parametrize("document", [row[0] for row in FIELD_ROWS], ids=[row[1][:50] for row in FIELD_ROWS])
def test_the_schema_refuses_what_the_door_refuses(document: Json) -> None:
    """What a schema can say, it says; times in words, addresses, and rules between fields are the door's."""
    assert not Draft202012Validator(schema()).is_valid(document)


def test_every_field_of_the_schema_is_explained() -> None:
    made = json.loads(published())
    for model in (made, made["$defs"]["Destination"]):
        assert model["additionalProperties"] is False
        assert all(each["description"] for each in model["properties"].values())
