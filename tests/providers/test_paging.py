"""A list that never ends, or an id that nothing can hold, breaks nobody."""

import pytest

from activities import reports
from activities.providers import answers
from activities.providers.answers import Answer
from activities.providers.base import Reported, can_be_kept
from activities.providers.errors import Ambiguous, ReadFailed
from activities.providers.paging import MOST, Pages
from tests.providers.subject import EMAIL, NOW
from workflows.policy.words import Source, Status

UNFIT = ["", ".", "..", "a\nb", "\x00", "\ud800", "x" * 201, "\u200b", "a\tb"]


def test_a_page_that_comes_again_ends_the_list_with_an_error() -> None:
    pages = Pages()
    assert [pages.turn(each) for each in ("a", "b")] == ["a", "b"]
    with pytest.raises(ReadFailed, match="does not end"):
        pages.turn("a")


def test_a_list_of_ever_new_pages_ends_with_an_error() -> None:
    pages = Pages()
    names = [pages.turn(str(number)) for number in range(MOST)]
    assert len(names) == MOST
    with pytest.raises(ReadFailed, match="does not end"):
        pages.turn("one more")


@pytest.mark.parametrize("provider_id", UNFIT, ids=ascii)
def test_an_id_that_cannot_be_kept_is_none_and_an_acceptance_under_it_is_ambiguous(provider_id: str) -> None:
    assert not can_be_kept(provider_id)
    with pytest.raises(Ambiguous):
        answers.accepted_id(Answer(200, {}, b""), {"id": provider_id}, "id")
    reported = Reported(Status.PENDING, is_final=False, raw="queued", provider_id=provider_id)
    seen = reports.observation(reported, EMAIL.key, Source.SEND, at=NOW, event_id="send:email")
    assert seen.provider_id is None


@pytest.mark.parametrize("provider_id", ["x" * 200, "a@b.example", "<2026.1@example.com>", "é", "../x"])
def test_any_other_id_is_kept(provider_id: str) -> None:
    assert (
        Reported(Status.PENDING, is_final=False, raw="", provider_id=provider_id).provider_id == provider_id
    )
