import pytest

from activities.store.ledger import Ledger
from tests.store.facts import NOW, after
from workflows.policy.controls import Control, Controls, Switch


async def test_a_control_that_nobody_has_set_is_fully_on(ledger: Ledger) -> None:
    assert await ledger.controls.read() == Controls()


@pytest.mark.parametrize("switch", list(Switch))
async def test_a_control_is_read_as_it_was_set_last(ledger: Ledger, switch: Switch) -> None:
    await ledger.controls.put(switch, Control(on=False), by="ops", why="incident", at=NOW)
    await ledger.controls.put(switch, Control(percent=10), by="ops", why="canary", at=after(hours=1))

    assert await ledger.controls.read() == Controls(**{switch: Control(percent=10)})
