"""What the UI, the search and a query show of a notice, while it lives and afterwards."""

from collections.abc import Mapping
from datetime import timedelta

from temporalio.api.enums.v1 import EventType
from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.client import WorkflowHistory
from temporalio.converter import PayloadConverter
from temporalio.testing import WorkflowEnvironment

from tests.workflows.fakes import World
from tests.workflows.policies import RESET
from tests.workflows.scripts import ACCEPTED, EMAIL, SMS
from tests.workflows.stage import ASKED, Handle, ask, finish, start, worker
from workflows.policy.words import AttemptState, Channel, Outcome, Phase

TASK = ["WORKFLOW_TASK_SCHEDULED", "WORKFLOW_TASK_STARTED", "WORKFLOW_TASK_COMPLETED"]
CALL = ["ACTIVITY_TASK_SCHEDULED", "ACTIVITY_TASK_STARTED", "ACTIVITY_TASK_COMPLETED", *TASK]
SHOW = ["UPSERT_WORKFLOW_SEARCH_ATTRIBUTES"]
TIMER = ["TIMER_STARTED", "TIMER_FIRED", *TASK]


async def played(engine: WorkflowEnvironment, world: World) -> WorkflowHistory:
    async with worker(engine.client, world):
        handle = await start(engine.client)
        await finish(handle)
    return await handle.fetch_history()


def upserts(history: WorkflowHistory) -> list[Mapping[str, object]]:
    """Return what each upsert set; None is unset."""
    converter = PayloadConverter.default
    return [
        {
            name: converter.from_payload(payload)
            for name, payload in attributes.search_attributes.indexed_fields.items()
        }
        for event in history.events
        if (attributes := event.upsert_workflow_search_attributes_event_attributes).ByteSize()
    ]


async def test_the_common_path_costs_44_events(engine: WorkflowEnvironment) -> None:
    history = await played(engine, World(RESET, looks={EMAIL: [ACCEPTED]}))

    named = [EventType.Name(each.event_type).removeprefix("EVENT_TYPE_") for each in history.events]

    assert named == [
        *["WORKFLOW_EXECUTION_STARTED", *TASK],
        *CALL,  # admit: the obligation goes on record before anything is done for it
        *[*SHOW, *CALL],  # queued; check: fresh facts, and the decision, before the claim
        *[*SHOW, *CALL],  # claimed; send
        *[*SHOW, *TIMER],  # awaiting, until the first poll
        *CALL,  # look_up
        *[*SHOW, *CALL],  # closed; close: the outcome goes on record
        "WORKFLOW_EXECUTION_COMPLETED",
    ]
    assert len(named) == 44


async def test_search_attributes_are_set_once_a_phase(engine: WorkflowEnvironment) -> None:
    history = await played(engine, World(RESET, looks={SMS: [ACCEPTED]}))

    opened, *moved = upserts(history)

    assert {name: opened[name] for name in ("NoticeKind", "NoticeRecipient", "NoticePhase")} == {
        "NoticeKind": "password_reset",
        "NoticeRecipient": "user-1",
        "NoticePhase": "queued",
    }
    assert set(opened) == {"NoticeKind", "NoticeRecipient", "NoticePhase", "NoticeExpiresAt"}
    assert [(each["NoticePhase"], each["NoticeFallbackAt"] is not None) for each in moved] == [
        ("claimed", True),  # email
        ("awaiting", True),
        ("claimed", True),  # sms: the deadline that led to it
        ("awaiting", False),  # after it there is no other channel
        ("closed", False),
    ]
    assert moved[-1]["NoticeOutcome"] == "accepted"


async def test_a_refused_notice_is_found_by_its_kind_and_its_outcome(engine: WorkflowEnvironment) -> None:
    history = await played(engine, World(RESET, refusal="kind: there is no such kind"))

    (shown,) = upserts(history)

    assert (shown["NoticeKind"], shown["NoticePhase"], shown["NoticeOutcome"]) == (
        "password_reset",
        "closed",
        "refused",
    )


async def test_a_waiting_notice_tells_what_comes_next_and_when(engine: WorkflowEnvironment) -> None:
    async with worker(engine.client, World(RESET)):
        await start(engine.client)
        await engine.sleep(timedelta(seconds=20))
        evidence = await ask(engine)

    email, sms = evidence.attempts
    assert (evidence.phase, evidence.channel, evidence.outcome) == (Phase.AWAITING, Channel.EMAIL, None)
    assert (email.state, email.reads, sms.state) == (AttemptState.SUBMITTED, 1, AttemptState.PLANNED)
    assert email.since is not None
    assert evidence.next_at == email.since + timedelta(seconds=45)
    assert evidence.next_step.startswith("wait until the next poll at ")


async def test_a_closed_notice_still_tells_its_story(engine: WorkflowEnvironment) -> None:
    async with worker(engine.client, World(RESET, looks={EMAIL: [ACCEPTED]})):
        await finish(await start(engine.client))
        evidence = await ask(engine)

    assert (evidence.phase, evidence.outcome) == (Phase.CLOSED, Outcome.ACCEPTED)
    assert (evidence.next_at, evidence.next_step, evidence.decisions) == (None, "", 3)
    assert [each.state for each in evidence.attempts] == [AttemptState.CONFIRMED, AttemptState.PLANNED]


async def test_a_notice_that_is_being_admitted_is_queued(engine: WorkflowEnvironment) -> None:
    seen = []

    async def look() -> None:
        seen.append(await ask(engine))

    async with worker(engine.client, World(RESET, sends={EMAIL: [ACCEPTED]}, meanwhile={"admit": look})):
        await finish(await start(engine.client))

    assert [(each.key, each.kind, each.phase) for each in seen] == [
        (ASKED.key, "password_reset", Phase.QUEUED)
    ]


async def test_the_current_details_are_the_notice_at_a_glance(engine: WorkflowEnvironment) -> None:
    async with worker(engine.client, World(RESET)):
        handle = await start(engine.client)
        await engine.sleep(timedelta(seconds=20))
        glance = await details(handle)

    told = " ".join(glance.split())
    assert told.startswith("**awaiting** · next: wait until the next poll at ")
    assert told.endswith("| email | submitted | pending | 1 | fake-1 | | sms | not sent | - | 0 | - |")


async def details(handle: Handle) -> str:
    metadata = await handle.query("__temporal_workflow_metadata", result_type=WorkflowMetadata)
    return str(metadata.current_details)
