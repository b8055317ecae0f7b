"""Addresses as they are sent to, and as they are compared; syntax only, nothing is looked up.

An error names the kind of address and the rule, never what was given.
"""

import re
import unicodedata

import phonenumbers
from email_validator import SPECIAL_USE_DOMAIN_NAMES, EmailNotValidError, validate_email

from workflows.policy.words import Channel

_WRITTEN = re.compile(r"\+[0-9][0-9 ().-]{2,40}")
_SPECIAL = tuple(f".{name}" for name in SPECIAL_USE_DOMAIN_NAMES if name != "test")
"""Reserved names that no mail reaches, but for the one that is meant for trying things out."""


class AddressError(ValueError):
    """Nothing can be sent to this; the message never repeats it."""


def email(text: str) -> str:
    """Return one address in NFC with a lower-case Unicode domain.

    The case of the local part is kept: it is the receiving host's to interpret. Raises AddressError.
    """
    if any(unicodedata.category(each) in {"Cc", "Zl", "Zp"} for each in text):
        # A line break in an address is an attempt at another header.
        raise AddressError("email: must not hold line breaks or control characters")
    if text.lower().endswith(_SPECIAL):
        raise AddressError(
            "email: the domain is reserved, and no mail reaches it; to try things out use example.com"
        )
    try:
        return str(validate_email(text, check_deliverability=False, test_environment=True).normalized)
    except EmailNotValidError:
        # The library's own message repeats characters of the address.
        raise AddressError("email: must be one address like name@example.com, without a name") from None


def ascii_domain(address: str) -> str:
    """Return an address with its domain in Punycode, as mail hosts know it; anything else as it is."""
    try:
        found = validate_email(address, check_deliverability=False, test_environment=True)
    except EmailNotValidError:
        return address
    return f"{found.local_part}@{found.ascii_domain}"


def phone(text: str) -> str:
    """Return a number in E.164; spaces, dots, dashes and brackets are dropped. Raises AddressError.

    Its length is checked against its country, its range is not: ranges are opened faster than tables of
    them are updated, and the carrier's answer is better evidence.
    """
    if not _WRITTEN.fullmatch(text):
        raise AddressError("phone: must be + and the country code, then digits only, like +14155550100")
    number = _e164(text)
    if _e164(number) != number:
        # One reading drops a trunk prefix, as in +44 (0)20, and leaves what the next would drop as well.
        raise AddressError("phone: reads in two ways: leave out the 0 that some write after the country code")
    return number


def _e164(text: str) -> str:
    try:
        number = phonenumbers.parse(text, None)
    except phonenumbers.NumberParseException:
        raise AddressError("phone: no country has this code") from None
    if phonenumbers.is_possible_number_with_reason(number) != phonenumbers.ValidationResult.IS_POSSIBLE:
        raise AddressError("phone: too short or too long for its country")
    return str(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164))


def country(e164: str) -> str | None:
    """Return where a number is from, as ISO 3166 has it.

    None for what belongs to no country, as satellite phones and free-of-charge numbers of the whole world do,
    and for a range that is not in the tables where countries share a code: whose it is, nobody can say.
    """
    try:
        region = phonenumbers.region_code_for_number(phonenumbers.parse(e164, None))
    except phonenumbers.NumberParseException:
        return None
    return str(region) if region and region.isalpha() else None


def written(channel: Channel, address: str) -> str:
    """Return an address as providers are told it, whoever wrote it and however; raises AddressError."""
    return email(address) if channel is Channel.EMAIL else phone(address)


def canonical(channel: Channel, address: str) -> str:
    """Return what two spellings of one address have in common: what its hash is computed from.

    Here the case of an email's local part is dropped too: no host that matters tells people apart by it, and
    a suppression must hold however the address is written. Raises AddressError.
    """
    match channel:
        case Channel.EMAIL:
            # What grows too long in lower case is refused here: it could not be recognised again.
            return _folded(_folded(address))
        case Channel.SMS:
            return phone(address)


def _folded(address: str) -> str:
    # Not case-folded: that would make one of straße.de and strasse.de, which are two domains.
    return unicodedata.normalize("NFC", email(address).lower())
