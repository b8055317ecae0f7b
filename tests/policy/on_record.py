"""A notice's rows, in as few words as a test has room for."""

from collections.abc import Sequence
from datetime import datetime

from tests.policy.given import EMAIL, KEY, RESET, START, at, notice
from workflows.policy import plan, policy_file
from workflows.policy.keys import attempt_key
from workflows.policy.plan import Close, LookUp, Send
from workflows.policy.progress import Progress
from workflows.policy.recorded import (
    Record,
    RecordedAttempt,
    RecordedControl,
    RecordedDecision,
    RecordedNotice,
    RecordedReport,
    RecordedSuppression,
)
from workflows.policy.terms import Policy
from workflows.policy.words import Channel, Source, Verdict

TERMS = policy_file.digest(RESET)


def decided(
    inputs: Progress,
    seconds: float = 0,
    *,
    policy: Policy = RESET,
    answer: str | None = None,
    **changes: object,
) -> RecordedDecision:
    """Return what today's plan decides, as its row; `changes` are what another code had decided."""
    step = plan.next(inputs, policy, at(seconds))
    actions = {Send: "send", LookUp: "look_up", Close: "close"}
    row = RecordedDecision(
        run="run-1",
        number=1,
        rule=step.rule,
        action=actions.get(type(step), "wait"),
        channel=getattr(step, "channel", None),
        at=at(seconds),
        inputs=inputs.model_dump(mode="json"),
        answer=answer,
        answered_at=at(seconds),
        policy_digest=TERMS,
    )
    return row.model_copy(update=changes)


def reported(
    status: str, *, is_final: bool = False, verdict: str = Verdict.APPLIED, channel: Channel = EMAIL
) -> RecordedReport:
    """Return a report's row."""
    return RecordedReport(
        attempt_key=attempt_key(KEY, channel),
        event_id=f"{status}-{is_final}-{verdict}",
        source=Source.POLL,
        status=status,
        is_final=is_final,
        raw=status,
        at=START,
        verdict=verdict,
        reason="",
    )


def attempted(state_: str, status: str | None = None, **facts: object) -> RecordedAttempt:
    """Return an attempt's row."""
    given = {"key": attempt_key(KEY, EMAIL), "channel": EMAIL, "state": state_, "status": status}
    return RecordedAttempt.model_validate({**given, "dispatches": 1, "has_address": True, **facts})


def suppressed(reason: str, seconds: float, **facts: object) -> RecordedSuppression:
    """Return a suppression's row."""
    given = {"channel": EMAIL, "reason": reason, "source_notice": KEY, "observed_at": at(seconds)}
    return RecordedSuppression.model_validate({**given, **facts})


def turned(name: str, seconds: float, *, on: bool, percent: int = 100) -> RecordedControl:
    """Return the row of a setting."""
    return RecordedControl(name=name, is_on=on, percent=percent, changed_at=at(seconds))


def record(
    *decisions: RecordedDecision,
    attempts: Sequence[RecordedAttempt] = (),
    observations: Sequence[RecordedReport] = (),
    suppressions: Sequence[RecordedSuppression] = (),
    controls: Sequence[RecordedControl] = (),
    closed_at: datetime | None = None,
    outcome: str | None = None,
    channel: str | None = None,
) -> Record:
    """Return all rows of a notice."""
    return Record(
        notice=RecordedNotice(
            key=KEY,
            kind="password_reset",
            event_id="event-1",
            recipient_id="ana",
            chain="run-1",
            policy_digest=TERMS,
            route=RESET.route,
            phase="closed" if closed_at else "awaiting",
            channel=channel,
            outcome=outcome,
            expires_at=notice().expires_at,
            created_at=START,
            closed_at=closed_at,
        ),
        policies={TERMS: RESET.model_dump(mode="json")},
        attempts=tuple(attempts),
        observations=tuple(observations),
        decisions=decisions,
        suppressions=tuple(suppressions),
        controls=tuple(controls),
    )
