"""A worker that could not do its work does not begin, and says why in one line."""

from pathlib import Path

import pytest

from activities.hosting import Parts, hosted
from activities.settings import SettingsError
from activities.store.errors import Unmigrated
from tests.endtoend.deployment import Manner, Town


async def begin(manner: Manner, **environ: str) -> None:
    parts = manner.parts
    settings = parts.settings.read(manner.environ | environ)
    async with hosted(await manner.client(), Parts(settings, parts.keyring, parts.catalogue)):
        pytest.fail("it works")


async def test_a_worker_does_not_begin_on_a_ledger_that_has_not_been_migrated(
    town: Town, tmp_path: Path
) -> None:
    empty = tmp_path / "empty.db"
    empty.touch()
    async with town.deployment() as manner:
        with pytest.raises(Unmigrated) as refused:
            await begin(manner, STANDBY_DATABASE_URL=f"sqlite:///{empty}")

    assert str(refused.value) == (f"ledger: SQLite file {empty} has not been migrated; run: standby migrate")


@pytest.mark.parametrize("channel", ["email", "sms"])
async def test_a_worker_does_not_begin_with_a_provider_that_nobody_knows(town: Town, channel: str) -> None:
    async with town.deployment() as manner:
        with pytest.raises(SettingsError) as refused:
            await begin(manner, **{f"STANDBY_{channel.upper()}": "sandbax"})

    (line,) = str(refused.value).splitlines()
    assert line.startswith(f"STANDBY_{channel.upper()}: provider 'sandbax' is not known: choose one of ")
