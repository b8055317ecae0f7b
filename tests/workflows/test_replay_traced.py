"""Histories that were recorded without tracing replay under a worker that traces, and make no span."""

from pathlib import Path

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from temporalio.worker import Plugin, Replayer

from activities.tracing import tracing
from tests.workflows.recordings import load, recorded
from tests.workflows.stage import PLAIN
from workflows.hosting import FAILURES, WORKFLOWS
from workflows.sandbox import RUNNER


@pytest.mark.parametrize("file", [pytest.param(file, id=file.stem) for file in recorded()])
async def test_a_recorded_notice_replays_and_is_not_traced_again(file: Path) -> None:
    exporter = InMemorySpanExporter()
    plugins = [each for each in tracing(SimpleSpanProcessor(exporter)) if isinstance(each, Plugin)]
    replayer = Replayer(
        workflows=WORKFLOWS,
        workflow_runner=RUNNER,
        data_converter=PLAIN,
        workflow_failure_exception_types=FAILURES,
        plugins=plugins,
    )
    result = await replayer.replay_workflow(load(file), raise_on_replay_failure=False)
    assert result.replay_failure is None
    assert len(plugins) == 2
    assert exporter.get_finished_spans() == ()
