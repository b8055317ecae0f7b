"""Addresses: one spelling to send to, one to compare, and errors that repeat nothing."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from phonenumbers import COUNTRY_CODE_TO_REGION_CODE

from workflows.policy.address import AddressError, canonical, country, email, phone
from workflows.policy.words import Channel


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        pytest.param("ana@example.com", "ana@example.com", id="plain"),
        pytest.param(
            "Ana.B+tag@EXAMPLE.Com", "Ana.B+tag@example.com", id="the domain is lower case, the rest stays"
        ),
        pytest.param("u\u0308@example.com", "\u00fc@example.com", id="NFC"),
        pytest.param(
            "ana@xn--bcher-kva.example.com", "ana@bücher.example.com", id="one spelling of a domain"
        ),
        pytest.param("silent+ana@example.test", "silent+ana@example.test", id="the domain for tests"),
    ],
)
def test_an_email_address_is_normalised(text: str, normal: str) -> None:
    assert email(text) == normal


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param("ana@example.com\r\nBcc: b@example.com", "line breaks", id="header injection"),
        pytest.param("ana@example.com\n", "line breaks", id="line feed at the end"),
        pytest.param("ana\u2028@example.com", "line breaks", id="line separator"),
        pytest.param("ana\x00@example.com", "control", id="control character"),
        pytest.param("ana@localhost.localdomain.invalid", "reserved", id="reserved domain"),
        pytest.param("ana", "one address", id="no domain"),
        pytest.param("", "one address", id="nothing"),
        pytest.param("Ana <ana@example.com>", "one address", id="display name"),
        pytest.param("ana@example.com, bo@example.com", "one address", id="two addresses"),
        pytest.param(" ana@example.com", "one address", id="space"),
        pytest.param("ana@[127.0.0.1]", "one address", id="address literal"),
        pytest.param('"a b"@example.com', "one address", id="quoted local part"),
        pytest.param("ana\u202e@example.com", "one address", id="right-to-left override"),
        pytest.param("\ud800@example.com", "one address", id="half of a surrogate pair"),
        pytest.param("ana@" + "x" * 300 + ".com", "one address", id="too long"),
    ],
)
def test_what_is_no_email_address_is_refused_by_rule(text: str, rule: str) -> None:
    with pytest.raises(AddressError, match=f"^email: .*{rule}") as caught:
        email(text)
    assert not text or text not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["+14155550100", "+1 (415) 555-0100", "+1.415.555.0100"],
)
def test_a_number_is_normalised_to_e164(text: str) -> None:
    assert phone(text) == "+14155550100"


def test_a_range_that_no_table_knows_is_not_refused() -> None:
    """Numbers for fiction, and ranges that were opened after the tables were made."""
    assert phone("+447700900123") == "+447700900123"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param("2025550142", "country code", id="no country"),
        pytest.param("0171 5550100", "country code", id="national"),
        pytest.param("", "country code", id="nothing"),
        pytest.param("+14155550100;ext=5", "country code", id="extension: the text would go elsewhere"),
        pytest.param("+1-800-FLOWERS", "country code", id="letters"),
        pytest.param("+" + "\uff11\uff14\uff11" + "5550100", "country code", id="full-width digits"),
        pytest.param("+14155550100\n", "country code", id="line feed"),
        pytest.param("+1" + "5" * 60, "country code", id="very long"),
        pytest.param("+44)00555018344", "two ways", id="a zero that is dropped, and one that is left"),
        pytest.param("+9995550100", "no country", id="unassigned country code"),
        pytest.param("+1415555", "too short", id="too short"),
        pytest.param("+141555501001", "too long", id="too long"),
    ],
)
def test_what_is_no_number_is_refused_by_rule(text: str, rule: str) -> None:
    with pytest.raises(AddressError, match=f"^phone: .*{rule}") as caught:
        phone(text)
    assert not text or text not in str(caught.value)


@pytest.mark.parametrize(
    ("channel", "one", "other"),
    [
        (Channel.EMAIL, "Ana@Example.com", "ana@EXAMPLE.COM"),
        (Channel.EMAIL, "U\u0308ber@example.com", "\u00fcber@example.com"),
        (Channel.SMS, "+1 (415) 555-0100", "+14155550100"),
    ],
)
def test_spellings_of_one_address_compare_equal(channel: Channel, one: str, other: str) -> None:
    assert canonical(channel, one) == canonical(channel, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ana@example.com", "ana+1@example.com"),
        ("ana@straße.example.com", "ana@strasse.example.com"),
        ("ana@example.com", "ana@example.org"),
    ],
)
def test_two_addresses_stay_two(one: str, other: str) -> None:
    assert canonical(Channel.EMAIL, one) != canonical(Channel.EMAIL, other)


@pytest.mark.parametrize(
    ("number", "region"),
    [
        pytest.param("+4915112345678", "DE", id="a code of one country"),
        pytest.param("+12025550182", "US", id="a code of many: North America"),
        pytest.param("+18768585858", "JM", id="a code of many: an island"),
        pytest.param("+442012345678", "GB", id="a code of many: Britain"),
        pytest.param("+447781000000", "GG", id="a code of many: an island beside it"),
        pytest.param("+79161234567", "RU", id="a code of two: Russia"),
        pytest.param("+77012345678", "KZ", id="a code of two: Kazakhstan"),
        pytest.param("+383441234567", "XK", id="a region that ISO leaves to its users"),
        pytest.param("+881612345678", None, id="satellites"),
        pytest.param("+80012345678", None, id="free of charge everywhere"),
        pytest.param("+447700900123", None, id="a range of nobody's, in a code of several"),
        pytest.param("+9995550100", None, id="a code of nobody's"),
        pytest.param("2025550182", None, id="no code"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_a_number_is_from_one_country_or_from_none(number: str, region: str | None) -> None:
    assert country(number) == region


LETTERS = st.sampled_from(["a", "A", "\u0130", "\u0130" * 22, "\u03a3", "\u1e9e", "u\u0308", "-", "."])
SPELT = st.lists(LETTERS, min_size=1, max_size=5).map("".join)
EMAILS = st.emails() | st.builds("{}@{}.com".format, SPELT, SPELT)
NUMBERS = st.builds(
    "+{}{}".format,
    st.sampled_from(sorted(COUNTRY_CODE_TO_REGION_CODE)),
    st.lists(st.sampled_from(["0", "(0)", "1", "8", "44", "5550183", " ", ")", "-"]), max_size=8).map(
        "".join
    ),
)


ADDRESSES = st.tuples(st.just(Channel.EMAIL), EMAILS) | st.tuples(st.just(Channel.SMS), NUMBERS)


@given(ADDRESSES)
@example((Channel.SMS, "+44)00555018344"))
@example((Channel.EMAIL, "\u0130" * 32 + "@example.com"))
def test_what_is_normal_or_comparable_stays_as_it_is(address: tuple[Channel, str]) -> None:
    channel, text = address
    for spell in ({Channel.EMAIL: email, Channel.SMS: phone}[channel], partial(canonical, channel)):
        with suppress(AddressError):
            once = spell(text)
            assert _again(spell, once) == once


def _again(spell: Callable[[str], str], text: str) -> str:
    try:
        return spell(text)
    except AddressError:
        return "refused, though it is the form that is kept"


@given(st.text(), st.sampled_from(Channel))
def test_any_text_is_an_address_or_an_address_error(text: str, channel: Channel) -> None:
    try:
        assert canonical(channel, text)
    except AddressError:
        return
