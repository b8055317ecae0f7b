"""Notices that were begun by an older worker go on under this one: their histories still replay."""

import json
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner, WorkflowRunner
from temporalio.workflow import NondeterminismError

from tests.workflows import record
from tests.workflows.hasty import Hasty
from tests.workflows.recordings import WANTED, is_verification, load, path, recorded, without_traces
from tests.workflows.scenarios import SCENARIOS
from tests.workflows.stage import PLAIN
from tests.workflows.verifications import VERIFICATIONS
from workflows.hosting import FAILURES, WORKFLOWS
from workflows.policy.words import ChallengeState, Outcome
from workflows.sandbox import RUNNER

HISTORIES = [pytest.param(file, id=file.stem) for file in recorded()]


async def failure(
    history: WorkflowHistory,
    workflows: Sequence[type] = WORKFLOWS,
    runner: WorkflowRunner = RUNNER,
) -> Exception | None:
    """Replay as a worker would, and return what went wrong."""
    replayer = Replayer(
        workflows=workflows,
        workflow_runner=runner,
        data_converter=PLAIN,
        workflow_failure_exception_types=FAILURES,
    )
    result = await replayer.replay_workflow(history, raise_on_replay_failure=False)
    return result.replay_failure


def explain(file: Path, error: Exception) -> str:
    """Return what to do about a history that no longer replays."""
    return (
        f"{file.name}: a notice that runs in production as this one did would stop here, and stay stuck.\n"
        f"  {error}\n"
        "Keep the old order of calls for notices that are under way: put the new one behind\n"
        '  if workflow.patched("what-changed"): …  else: what it did before\n'
        "and record a scenario that takes the new branch: make history NAME=… (CONTRIBUTING.md, change a\n"
        "workflow safely). Never edit or replace this file: it is what a running notice looks like."
    )


def of(*, verifications: bool) -> list[Path]:
    """Return the histories of verifications, or those of notices."""
    return [file for file in recorded() if is_verification(load(file)) is verifications]


def outcome(file: Path) -> Outcome:
    """Return how the recorded notice closed."""
    return Outcome(result(file)["outcome"])


def result(file: Path) -> dict[str, str]:
    """Return what the recorded workflow returned."""
    (payload,) = load(file).events[-1].workflow_execution_completed_event_attributes.result.payloads
    found: dict[str, str] = json.loads(payload.data)
    return found


@pytest.mark.parametrize("file", HISTORIES)
async def test_a_recorded_notice_replays(file: Path) -> None:
    error = await failure(load(file))

    if error is not None:
        pytest.fail(explain(file, error), pytrace=False)


def test_every_outcome_and_every_kind_of_route_has_a_recorded_history() -> None:
    notices = of(verifications=False)
    assert {outcome(file) for file in notices} == set(Outcome)
    assert {SCENARIOS[file.stem].policy.route for file in notices} == {
        each.policy.route for each in SCENARIOS.values()
    }
    assert {file.stem for file in recorded()} >= set(WANTED)


def test_every_end_of_a_verification_has_a_recorded_history() -> None:
    verifications = of(verifications=True)
    ends = {ChallengeState(result(file)["state"]) for file in verifications}
    assert ends == set(ChallengeState) - {ChallengeState.ACTIVE}
    assert {file.stem for file in verifications} >= set(VERIFICATIONS)


@pytest.mark.parametrize("name", ["accepted_stops_the_polling", "a_text_can_come_first"])
async def test_a_workflow_that_sends_without_asking_does_not_replay(name: str) -> None:
    # The sandbox admits no workflow that is built on another one.
    error = await failure(load(path(name)), [Hasty], UnsandboxedWorkflowRunner())

    assert isinstance(error, NondeterminismError)
    told = explain(path(name), error)
    assert 'workflow.patched("' in told
    assert "make history NAME=" in told


async def test_a_history_that_lost_a_call_does_not_replay() -> None:
    whole = load(path("accepted_stops_the_polling"))
    edited = whole.to_json().replace('"look_up"', '"look_away"')

    error = await failure(WorkflowHistory.from_json(whole.workflow_id, edited))

    assert isinstance(error, NondeterminismError)


@pytest.mark.parametrize("file", HISTORIES)
def test_a_recorded_history_says_nothing_of_the_machine(file: Path) -> None:
    text = file.read_text()

    assert text == without_traces(load(file))
    assert not [
        word for word in (f"@{socket.gethostname()}", str(Path.cwd()), "site-packages") if word in text
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["accepted_stops_the_polling"], "accepted_stops_the_polling.json exists: a history is never"),
        (["--all"], "histories/ holds histories: --all only fills an empty folder"),
        (["acepted"], "name one scenario of tests/workflows/scenarios/, or --all:\n  accepted_stops"),
        ([], "name one scenario"),
    ],
)
async def test_the_recorder_overwrites_nothing_and_names_what_it_knows(
    arguments: list[str], says: str
) -> None:
    with pytest.raises(record.Unusable) as caught:
        await record.main(arguments)

    assert str(caught.value).startswith(says)
