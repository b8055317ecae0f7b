"""What kinds ask of a provider, as rows of what it can do."""

from datetime import timedelta

import pytest

from activities.expectations import Post, unmet
from activities.providers.base import Callbacks, Capabilities, Finding, Level
from workflows.policy.terms import Policy
from workflows.policy.words import Channel, OnUnresolved, SettlesOn

EMAIL, SMS = Channel.EMAIL, Channel.SMS
MUTE = Capabilities(takes_headers=True)
READ = Capabilities(reads_by_id=True, takes_headers=True)
TAKES = Capabilities(reads_by_id=True, takes_suppressions=True)
HEARD = Capabilities(callbacks=Callbacks.SIGNED, takes_headers=True)
UNSET = "STANDBY_PUBLIC_URL is not set"


def kind(
    *route: Channel,
    settles_on: SettlesOn = SettlesOn.DELIVERED,
    on_unresolved: OnUnresolved = OnUnresolved.ESCALATE,
    essential: bool = True,
) -> Policy:
    return Policy(
        route=route or (EMAIL,),
        settles_on=settles_on,
        on_unresolved=on_unresolved,
        essential=essential,
        expires_after=timedelta(hours=1),
    )


def found(post: Post, *, shares: bool = False, **kinds: Policy) -> list[Finding]:
    return list(unmet(post, kinds, shares=shares))


def problems(post: Post, policy: Policy) -> list[str]:
    return [each.says for each in found(post, payout=policy) if each.level is Level.PROBLEM]


@pytest.mark.parametrize(
    "post",
    [
        pytest.param(Post("x", EMAIL, READ), id="it can be asked"),
        pytest.param(Post("x", EMAIL, HEARD), id="it calls back"),
        pytest.param(Post("x", EMAIL, Capabilities(reads_by_key=True, takes_headers=True)), id="by key"),
    ],
)
def test_nothing_is_said_of_what_can_be_kept(post: Post) -> None:
    assert found(post, payout=kind(), digest=kind(essential=False)) == []


@pytest.mark.parametrize(
    ("route", "on_unresolved", "fate"),
    [
        pytest.param((SMS,), OnUnresolved.ESCALATE, "every notice that ends there closes unknown", id="only"),
        pytest.param(
            (SMS,), OnUnresolved.EXPIRE, "every notice that ends there closes expired", id="silence"
        ),
        pytest.param((EMAIL, SMS), OnUnresolved.ESCALATE, "ends there closes unknown", id="the last"),
        pytest.param((SMS, EMAIL), OnUnresolved.ESCALATE, "every one goes on to email", id="not the last"),
        pytest.param(
            (SMS, EMAIL), OnUnresolved.EXPIRE, "ends there closes expired", id="not the last, silent"
        ),
    ],
)
def test_a_delivery_that_nobody_will_tell_of_can_never_be_confirmed(
    route: tuple[Channel, ...], on_unresolved: OnUnresolved, fate: str
) -> None:
    (says,) = problems(Post("sns", SMS, Capabilities()), kind(*route, on_unresolved=on_unresolved))
    assert says.startswith("its text by sns can never be confirmed: ")
    assert fate in says
    assert "name another provider (sms.provider in its policy.toml)" in says


def test_callbacks_that_are_not_heard_are_none_and_the_remedy_is_to_hear_them() -> None:
    (says,) = problems(Post("ses", EMAIL, HEARD, UNSET), kind())
    assert f"let ses call back ({UNSET})" in says


def test_a_kind_that_settles_on_acceptance_asks_for_no_more() -> None:
    assert problems(Post("sns", SMS, Capabilities()), kind(SMS, settles_on=SettlesOn.ACCEPTED)) == []


@pytest.mark.parametrize(
    ("post", "says"),
    [
        pytest.param(Post("sns", SMS, MUTE), "its acceptance is all there is", id="mute"),
        pytest.param(Post("ses", EMAIL, HEARD, UNSET), "its acceptance is all there is", id="not heard"),
        pytest.param(
            Post("x", EMAIL, Capabilities(reads_by_id=True, callbacks=Callbacks.SECRET), UNSET),
            f"its callbacks are not heard ({UNSET}); it is only asked",
            id="only asked",
        ),
    ],
)
def test_what_is_never_learned_is_a_note(post: Post, says: str) -> None:
    (note,) = found(post)
    assert (note.level, note.about, says in note.says) == (Level.NOTE, post.label, True)


def test_an_email_that_may_be_unsubscribed_from_needs_a_header_for_it() -> None:
    mute = Post("courier", EMAIL, Capabilities(reads_by_id=True))
    (finding,) = found(mute, digest=kind(essential=False), payout=kind())
    assert (finding.level, finding.about) == (Level.PROBLEM, "digest")
    assert "courier email cannot carry List-Unsubscribe" in finding.says


def test_a_text_needs_no_header() -> None:
    assert found(Post("x", SMS, Capabilities(reads_by_id=True)), digest=kind(SMS, essential=False)) == []


@pytest.mark.parametrize(("can", "shares", "notes"), [(READ, True, 1), (TAKES, True, 0), (READ, False, 0)])
def test_suppressions_that_cannot_be_shared_are_a_note(
    can: Capabilities, *, shares: bool, notes: int
) -> None:
    said = found(Post("x", SMS, can), shares=shares)
    assert [each.level for each in said] == [Level.NOTE] * notes
    assert all("STANDBY_SHARE_SUPPRESSIONS has no effect" in each.says for each in said)
