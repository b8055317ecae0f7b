"""A workflow for tests of the converter: it asks one activity, or breaks where it is told to."""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

from workflows.policy.models import Recipient


@workflow.defn
class Probe:
    @workflow.run
    async def run(self, person: Recipient) -> Recipient:
        workflow.set_current_details("one question")
        if person.id == "breaks":
            raise RuntimeError(f"cannot reach {person.email}")
        if person.id == "validates":
            Recipient.model_validate({"id": 5, "email": person.email})
        answer: Recipient = await workflow.execute_activity(
            "probe",
            person,
            result_type=Recipient,
            summary="ask the world",
            start_to_close_timeout=timedelta(seconds=5),
            retry_policy=RetryPolicy(maximum_attempts=1),
        )
        return answer
