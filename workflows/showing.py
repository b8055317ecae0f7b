"""What people see of a running notice: details in the UI, and the attributes by which it is found."""

from temporalio import workflow

from workflows import attributes
from workflows.policy import plan, telling
from workflows.policy.case import Case
from workflows.policy.words import Channel, Outcome, Phase


class Display:
    """Keeps what the UI shows true: details always, search attributes when the phase changes."""

    def __init__(self, notice_key: str) -> None:
        self._key = notice_key
        self._shown: tuple[Phase, Channel | None] | None = None

    def waiting(self) -> None:
        """Show that nothing is on record yet."""
        workflow.set_current_details("**queued** · being admitted")

    def show(self, case: Case, step: plan.Step) -> None:
        """Show a notice and its next step."""
        workflow.set_current_details(telling.details(case.phase, step, case.progress, case.policy))
        at = (case.phase, case.channel)
        if self._shown == at:
            return
        updates = attributes.moved(case.phase, plan.fallback_at(case.progress, case.policy, workflow.now()))
        if self._shown is None:
            updates = attributes.opened(self._key, case.phase, case.progress.expires_at)
        self._shown = at
        workflow.upsert_search_attributes(updates)

    def refused(self, reason: str) -> None:
        """Show that there is no notice, and why."""
        opened = attributes.opened(self._key, Phase.CLOSED, None)
        workflow.upsert_search_attributes([*opened, *attributes.closed(Outcome.REFUSED)])
        workflow.set_current_details(f"**closed** · refused: {reason}")

    def closed(self, case: Case, step: plan.Close) -> None:
        """Show how a notice ended."""
        workflow.upsert_search_attributes(attributes.closed(step.outcome))
        workflow.set_current_details(telling.details(case.phase, step, case.progress, case.policy))

    def corrected(self, outcome: Outcome) -> None:
        """Show the outcome that was on record before."""
        workflow.upsert_search_attributes(attributes.closed(outcome))
