"""What is refused before it is started, where the kinds are at hand: the same as a worker would refuse."""

import pytest

from client.checking import mistakes
from tests.activities.given import NOW, PUBLIC, SHIPPED
from workflows.policy.models import NoticeRequest

NO_END = (
    "fields.unsubscribe_url: missing, and this kind is not essential: its email must offer an end;"
    " set STANDBY_PUBLIC_URL to have it supplied"
)


def sample(kind: str, *, without: str = "", **changes: object) -> NoticeRequest:
    """Return a kind's sample, less one of its fields."""
    given = SHIPPED.get(kind).sample
    fields = {name: value for name, value in given.fields.items() if name != without}
    return NoticeRequest.model_validate(given.model_dump() | {"fields": fields} | changes)


@pytest.mark.parametrize("kind", [name for name, kind in SHIPPED.kinds.items() if not kind.policy.challenge])
def test_a_shipped_sample_has_no_mistake(kind: str) -> None:
    assert mistakes(sample(kind), SHIPPED, NOW) == ()


@pytest.mark.parametrize("public_url", [None, PUBLIC])
def test_a_kind_that_carries_a_challenge_is_only_sent_by_a_verification(public_url: str | None) -> None:
    asked = sample("signup_verification", recipient={"id": "nobody"})
    assert mistakes(asked, SHIPPED, NOW, public_url) == (
        "kind: carries a challenge, and is only sent by a verification",
    )


@pytest.mark.parametrize(("public_url", "told"), [(None, (NO_END,)), (PUBLIC, ())])
def test_where_email_ends_may_be_left_to_a_deployment_that_people_can_reach(
    public_url: str | None, told: tuple[str, ...]
) -> None:
    asked = sample("weekly_digest", without="unsubscribe_url")
    assert mistakes(asked, SHIPPED, NOW, public_url) == told


@pytest.mark.parametrize("public_url", [None, PUBLIC])
def test_any_other_field_stays_the_caller_s_own(public_url: str | None) -> None:
    asked = sample("weekly_digest", without="browse_url")
    assert mistakes(asked, SHIPPED, NOW, public_url) == ("fields.browse_url: missing",)
