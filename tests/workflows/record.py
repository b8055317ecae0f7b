"""Records scenarios as histories to replay: `make history NAME=…`, or this module with `--all`.

A history that is there is never overwritten: it stands for notices that run in production.
"""

import asyncio
import logging
import sys

from temporalio.client import WorkflowHistory

from activities.connect import finish as leave
from tests.workflows.recordings import FOLDER, WANTED, path, recorded, without_traces
from tests.workflows.scenario import Scenario, ending
from tests.workflows.scenarios import SCENARIOS
from tests.workflows.stage import finish, open_engine, open_server, start, worker
from tests.workflows.verifications import VERIFICATIONS, play

KNOWN = (*SCENARIOS, *VERIFICATIONS)


class Unusable(Exception):  # noqa: N818 - said to a person
    """Why nothing is recorded; one line that says what to do."""


async def main(arguments: list[str]) -> None:
    """Record what the arguments name; raises Unusable before anything is recorded."""
    for name in _chosen(arguments):
        history = await (_record(SCENARIOS[name]) if name in SCENARIOS else _record_verification(name))
        FOLDER.mkdir(exist_ok=True)
        path(name).write_text(without_traces(history))
        print(f"recorded {path(name).relative_to(FOLDER.parents[2])} ({len(history.events)} events)")  # noqa: T201


def _chosen(arguments: list[str]) -> tuple[str, ...]:
    match arguments:
        case ["--all"] if recorded():
            raise Unusable(f"{FOLDER.name}/ holds histories: --all only fills an empty folder")
        case ["--all"]:
            return (*WANTED, *VERIFICATIONS)
        case [name] if name in KNOWN and path(name).exists():
            raise Unusable(
                f"{path(name).name} exists: a history is never overwritten; record another scenario"
            )
        case [name] if name in KNOWN:
            return (name,)
        case _:
            known = "\n  ".join(KNOWN)
            raise Unusable(f"name one scenario of tests/workflows/scenarios/, or --all:\n  {known}")


async def _record_verification(name: str) -> WorkflowHistory:
    """Play a verification on the server that bears several workflows at once."""
    async with open_server(identity="recorder") as server:
        case = await play(server.client, name)
        return await case.handle.fetch_history()


async def _record(scenario: Scenario) -> WorkflowHistory:
    """Play a scenario and return its history; raises Unusable where it does not end as it says."""
    async with open_engine(identity="recorder") as engine:
        world = scenario.world(engine)
        async with worker(engine.client, world):
            handle = await start(engine.client)
            result = await finish(handle)
        if (ending(result), world.story) != (scenario.end, scenario.story):
            raise Unusable(f"it did not go as the scenario says, but: {ending(result)}; {world.story}")
        return await handle.fetch_history()


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    code = 0
    try:
        asyncio.run(main(sys.argv[1:]))
    except Unusable as error:
        print(error, file=sys.stderr)  # noqa: T201
        code = 2
    leave(code)
