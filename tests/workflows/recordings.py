"""The recorded histories: one file a scenario, only ever added to."""

import json
from pathlib import Path

from temporalio.client import WorkflowHistory

from workflows.policy.keys import workflow_id
from workflows.policy.models import NoticeRequest

FOLDER = Path(__file__).parent / "histories"

WANTED = (
    "accepted_stops_the_polling",
    "delivered_settles_where_accepted_does_not",
    "a_hard_bounce_escalates_at_once_and_suppresses",
    "silence_on_both_channels_is_unknown_and_no_failure",
    "both_channels_fail_is_exhausted",
    "a_silent_digest_expires_and_texts_nobody",
    "withdrawn_after_the_email_sends_no_text",
    "refused_does_nothing_more",
    "a_text_can_come_first",
    "a_text_can_be_the_only_channel",
    "an_email_can_be_the_only_channel",
    "a_lost_text_is_settled_by_later_evidence",
    "an_email_that_no_provider_takes_falls_back",
    "a_held_dispatch_goes_on_when_it_may",
    "a_callback_may_come_before_the_receipt",
    "reports_that_come_while_the_last_one_is_filed_are_filed_too",
    "past_both_deadlines_nothing_is_sent",
)
"""What `--all` records: every outcome, every kind of route, and every branch of the loop."""


def path(name: str) -> Path:
    """Return where the history of a scenario is kept."""
    return FOLDER / f"{name}.json"


def recorded() -> list[Path]:
    """Return every recorded history."""
    return sorted(FOLDER.glob("*.json"))


def load(file: Path) -> WorkflowHistory:
    """Read a history; its id is that of the notice or the verification that it was recorded from."""
    history = WorkflowHistory.from_json("", file.read_text())
    begun = history.events[0].workflow_execution_started_event_attributes
    (asked,) = begun.input.payloads
    if is_verification(history):
        return WorkflowHistory(begun.workflow_id, history.events)
    key = NoticeRequest.model_validate_json(asked.data).key
    return WorkflowHistory(workflow_id(key), history.events)


def is_verification(history: WorkflowHistory) -> bool:
    """Whether a history is that of a verification; else it is that of a notice."""
    return history.events[0].workflow_execution_started_event_attributes.workflow_type.name == "Verification"


def without_traces(history: WorkflowHistory) -> str:
    """Return a history as JSON without what it says of the machine: worker identities and stack traces."""
    return json.dumps(_cleaned(json.loads(history.to_json())), indent=1, sort_keys=True) + "\n"


def _cleaned(value: object) -> object:
    match value:
        case dict():
            return {
                name: "recorder" if name == "identity" else _cleaned(part)
                for name, part in value.items()
                if name != "stackTrace"
            }
        case list():
            return [_cleaned(part) for part in value]
        case _:
            return value
