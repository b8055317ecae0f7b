import pytest

from activities.store.ledger import Ledger
from tests.store.facts import NOW, after
from workflows.policy.controls import Control, Controls, Switch


async def test_a_control_that_nobody_has_set_is_as_it_comes(ledger: Ledger) -> None:
    assert await ledger.controls.read() == Controls()


@pytest.mark.parametrize("switch", list(Switch))
async def test_a_control_is_read_as_it_was_set_last(ledger: Ledger, switch: Switch) -> None:
    await ledger.controls.put(switch, Control(on=False), by="ops", why="incident", at=NOW)
    await ledger.controls.put(switch, Control(percent=10), by="ops", why="canary", at=after(hours=1))

    assert await ledger.controls.read() == Controls(**{switch: Control(percent=10)})


async def test_every_setting_is_kept_newest_first_and_the_last_of_each_control_holds(ledger: Ledger) -> None:
    settings = [(Switch.RESEND, "a"), (Switch.DISPATCH, "b"), (Switch.RESEND, "c")]
    for number, (switch, why) in enumerate(settings):
        control = Control(on=False, percent=number)
        await ledger.controls.put(switch, control, by="ops", why=why, at=after(hours=number))

    changes = await ledger.controls.changes(10)
    board = await ledger.controls.board()

    assert [(each.name, each.why, each.percent) for each in changes] == [
        (Switch.RESEND, "c", 2),
        (Switch.DISPATCH, "b", 1),
        (Switch.RESEND, "a", 0),
    ]
    assert board == {Switch.RESEND: changes[0], Switch.DISPATCH: changes[1]}
    assert await ledger.controls.changes(1) == changes[:1]
