import json

from activities.store.ledger import Ledger
from tests.store.facts import EMAIL, KEY, NOW, SMS, admit, after, claim, report
from workflows.policy.words import Source, Status


async def test_a_notice_that_is_not_on_record_has_no_story(ledger: Ledger) -> None:
    assert await ledger.story(KEY) is None


async def test_a_story_has_the_published_keys(ledger: Ledger) -> None:
    await admit(ledger)
    story = await ledger.story(KEY)

    assert story is not None
    assert list(json.loads(story.model_dump_json())) == [
        "key",
        "kind",
        "phase",
        "channel",
        "outcome",
        "expires_at",
        "next_at",
        "attempts",
        "observations",
        "decisions",
    ]


async def test_a_story_is_told_in_the_order_of_events(ledger: Ledger) -> None:
    await admit(ledger)
    await claim(ledger, SMS)
    await ledger.evidence.observe(report(Status.PENDING, key=SMS, source=Source.SEND), at=NOW)
    await claim(ledger, at=after(minutes=1))
    await ledger.evidence.observe(report(Status.DELIVERED), at=after(minutes=2))
    await ledger.evidence.observe(report(Status.DELIVERED, key=SMS), at=after(minutes=3))

    story = await ledger.story(KEY)

    assert story is not None
    assert [each.channel for each in story.attempts] == ["sms", "email"]
    assert [(each.attempt_key, each.status) for each in story.observations] == [
        (SMS, Status.PENDING),
        (EMAIL, Status.DELIVERED),
        (SMS, Status.DELIVERED),
    ]
