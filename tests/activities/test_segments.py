import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.gsm import Encoding, Segments, segments

GSM, UCS = Encoding.GSM_7, Encoding.UCS_2


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 1),
        ("a" * 160, 1),
        ("a" * 161, 2),
        ("a" * 306, 2),
        ("a" * 307, 3),
        ("€" * 80, 1),
        ("€" * 80 + "a", 2),
        ("ÄÖÜäöüßñÑåÅæÆøØÇéèùìòà¿¡§£¥¤\n", 1),
    ],
)
def test_a_text_in_the_default_alphabet_fills_160_septets_alone_and_153_joined(text: str, count: int) -> None:
    assert segments(text) == Segments(count, GSM)


def test_an_escaped_character_is_not_divided_between_two_parts() -> None:
    assert segments("a" * 152 + "€" + "a" * 152).count == 3, "306 septets would fit into two parts"


@pytest.mark.parametrize(
    ("text", "count", "forcing"),
    [
        ("я" * 70, 1, "я"),
        ("я" * 71, 2, "я"),
        ("я" * 135, 3, "я"),
        ("Hi “Anna”", 1, "“"),
        ("garçon", 1, "ç"),
        ("`", 1, "`"),
        ("see you 😀 then", 1, "😀"),
        ("😀" * 35, 1, "😀"),
        ("😀" * 36, 2, "😀"),
    ],
)
def test_one_character_outside_the_alphabet_forces_ucs_2_and_is_named(
    text: str, count: int, forcing: str
) -> None:
    assert segments(text) == Segments(count, UCS, forcing)


def test_a_surrogate_pair_is_not_divided_between_two_parts() -> None:
    assert segments("я" * 66 + "😀" + "я" * 66).count == 3, "134 units would fit into two parts"


@given(st.text(max_size=400), st.text(max_size=40))
def test_a_longer_text_never_takes_fewer_parts(text: str, more: str) -> None:
    assert segments(text + more).count >= segments(text).count
