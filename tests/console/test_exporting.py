import json
import stat
from pathlib import Path

import pytest
from temporalio.client import Client

from activities.connect import connect
from activities.keyring import Keyring
from activities.store.ledger import Ledger
from client.starting import begin
from tests.console.conftest import REFUSAL, REFUSING, Town
from tests.console.shell import BAD, REACHED, Shell, document, key
from tests.console.test_explaining import live, pruned
from tests.store import facts
from workflows.policy import contract

UNPROVEN = 1
FILE = "evidence.json"


@pytest.fixture
async def exported(alone: Shell, ledger: Ledger, own: dict[str, str]) -> str:
    """Export a notice where no engine answers, and return what is in the file."""
    await live(ledger)
    said = await alone.run("export", facts.KEY, "--out", FILE, **own)
    assert said.code == REACHED
    assert said.err.startswith("note: the engine's word is not in it: no Temporal engine at ")
    return (alone.folder / FILE).read_text()


@pytest.mark.usefixtures("exported")
async def test_what_was_exported_is_proven_by_the_key_file(alone: Shell) -> None:
    said = await alone.run("verify-export", FILE)
    assert (said.code, said.err) == (REACHED, "")
    assert facts.KEY in said.out


@pytest.mark.usefixtures("exported")
async def test_only_its_owner_reads_an_export(alone: Shell) -> None:
    assert stat.S_IMODE((alone.folder / FILE).stat().st_mode) == 0o600


async def test_an_export_is_not_overwritten(alone: Shell, exported: str, own: dict[str, str]) -> None:
    said = await alone.run("export", facts.KEY, "--out", FILE, **own)
    assert (said.code, (alone.folder / FILE).read_text()) == (BAD, exported)
    assert "cannot be written: File exists" in said.err


async def test_it_says_what_it_was_made_by_and_from(exported: str) -> None:
    told = json.loads(exported)["document"]
    assert told["engine"]["state"] == "not asked"
    assert told["ledger_schema"].isdigit()
    assert told["standby"]
    assert told["signed_by"]["key_id"]
    assert told["recomputed"]["same"]


async def test_no_hash_of_an_address_leaves_the_ledger(exported: str) -> None:
    assert facts.EMAIL_HASH not in exported


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"status":"pending"', '"status":"delivered"'),
        ('"same":true', '"same":false'),
        ('"signature":"', '"signature":"00'),
    ],
)
async def test_a_change_is_found(alone: Shell, exported: str, before: str, after: str) -> None:
    assert before in exported
    (alone.folder / FILE).write_text(exported.replace(before, after, 1))
    said = await alone.run("verify-export", FILE)
    assert (said.code, said.out) == (UNPROVEN, "")
    assert "the signature is not of this document, or not by this key" in said.err


async def test_an_export_of_another_deployment_names_the_key_that_is_missing(
    alone: Shell, exported: str
) -> None:
    told = json.loads(exported)["document"]
    Keyring.create(alone.folder / "other.toml")
    said = await alone.run("verify-export", FILE, STANDBY_KEY_FILE=str(alone.folder / "other.toml"))
    assert said.code == UNPROVEN
    assert f"this key file has no key '{told['signed_by']['key_id']}'" in said.err


async def test_an_export_of_the_development_key_proves_nothing_to_a_deployment_that_seals(
    alone: Shell, ledger: Ledger, own: dict[str, str]
) -> None:
    await live(ledger)
    sealing = "STANDBY_KEY_FILE"
    environ = {name: value for name, value in alone.environ.items() if name != sealing}
    unsealed = Shell(environ, alone.folder, alone.capsys, alone.monkeypatch)
    made = await unsealed.run("export", facts.KEY, "--out", FILE, **own, STANDBY_PLAINTEXT="1")
    assert made.code == REACHED
    said = await alone.run("verify-export", FILE)
    assert said.code == UNPROVEN
    assert "development key, which anybody can compute" in said.err


async def test_the_key_of_an_older_export_can_still_be_handed_out(alone: Shell, exported: str) -> None:
    name = json.loads(exported)["document"]["signed_by"]["key_id"]
    Keyring.rotate(Path(alone.environ["STANDBY_KEY_FILE"]))
    for arguments, code in (((), UNPROVEN), (("--key-id", name), REACHED)):
        pem = (await alone.run("export", "--public-key", *arguments)).out
        (alone.folder / "key.pem").write_text(pem)
        assert (await alone.run("verify-export", FILE, "--public-key", "key.pem")).code == code
    assert (await alone.run("verify-export", FILE)).code == REACHED


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("export",), "KEY: is missing"),
        (("export", "password_reset:nobody:user-1"), "is not in the ledger"),
        (("export", "--public-key", "--key-id", "other"), "--key-id: this key file has no key 'other'"),
        (("verify-export", "nowhere.json"), "cannot be read: No such file"),
        (("verify-export", FILE, "--public-key", "nowhere.pem"), "cannot be read: No such file"),
        (("verify-export", FILE, "--public-key", FILE), "is no public key in PEM"),
    ],
)
@pytest.mark.usefixtures("exported")
async def test_bad_input_is_one_line(
    alone: Shell, own: dict[str, str], arguments: tuple[str, ...], why: str
) -> None:
    said = await alone.run(*arguments, **own)
    assert (said.code, said.out) == (BAD, "")
    assert why in said.err.splitlines()[-1]


async def test_what_is_no_export_is_unproven(alone: Shell) -> None:
    (alone.folder / FILE).write_text("{}")
    said = await alone.run("verify-export", FILE)
    assert (said.code, len(said.err.splitlines())) == (UNPROVEN, 1)


async def test_an_export_of_a_pruned_notice_says_that_nothing_was_left(
    alone: Shell, ledger: Ledger, own: dict[str, str]
) -> None:
    await pruned(ledger)
    told = json.loads((await alone.run("export", facts.KEY, **own)).out)["document"]
    assert told["recomputed"] == {"same": None, "items": []}
    assert (told["record"]["notice"]["pruned_at"], told["record"]["attempts"]) == ("2026-05-30T12:00:00Z", [])


async def test_a_refused_notice_is_exported_as_the_engine_has_it(shell: Shell, town: Town) -> None:
    client: Client = await connect(Keyring.load(Path(town.environ["STANDBY_KEY_FILE"])), environ=town.environ)
    request = contract.validate(document("export-refused"))
    await (await begin(client, request, task_queue=REFUSING)).handle.result()
    said = await shell.run("export", key("export-refused"))
    told = json.loads(said.out)["document"]
    assert (said.code, said.err, told["record"]) == (REACHED, "", None)
    assert (told["engine"]["outcome"], told["engine"]["reason"]) == ("refused", REFUSAL)
