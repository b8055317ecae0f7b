"""One sandbox for worker, tests and replayer: pure modules are shared, anything else is refused."""

from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions
from temporalio.workflow import SandboxImportNotificationPolicy

SHARED = (
    "workflows.asking",
    "workflows.attributes",
    "workflows.calls",
    "workflows.challenge_calls",
    "workflows.challenging",
    "workflows.messages",
    "workflows.options",
    "workflows.policy",
    "workflows.showing",
)
"""Loaded once a process: 5 ms a workflow instead of 19; they hold no mutable value."""

RUNNER = SandboxedWorkflowRunner(
    restrictions=SandboxRestrictions.default.with_passthrough_modules(
        *SHARED,
    ).with_import_notification_policy(
        SandboxImportNotificationPolicy.WARN_ON_DYNAMIC_IMPORT
        | SandboxImportNotificationPolicy.RAISE_ON_UNINTENTIONAL_PASSTHROUGH,
    ),
)
