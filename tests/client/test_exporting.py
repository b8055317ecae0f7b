import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import JsonValue

from activities.keyring import Keyring
from activities.signing import Signer
from client.explaining import Explained, Terms
from client.exporting import (
    EngineWord,
    Export,
    Opened,
    UnprovenError,
    published,
    recomputed,
    schema,
    sealed,
    signed_by,
)
from client.runs import Run
from tests.policy.given import EMAIL, SMS, START, at, delivered, notice, planned
from tests.policy.on_record import attempted, decided, record, reported, suppressed, turned
from workflows.policy.evidence import Evidence
from workflows.policy.models import Result
from workflows.policy.recorded import Record
from workflows.policy.words import Channel, Outcome, Phase

ROOT = Path(__file__).parents[2]

RESULT = Result(
    key=notice().key, outcome=Outcome.DELIVERED, channel=Channel.EMAIL, rule="settled", closed_at=at(15)
)
WHOLE = record(
    decided(notice(), answer="yes"),
    decided(notice(delivered(EMAIL), planned(SMS)), 15, number=2),
    attempts=[attempted("confirmed", "delivered", is_final=True)],
    observations=[reported("delivered", is_final=True)],
    suppressions=[suppressed("unsubscribed", 60, lifted_at=at(90))],
    controls=[turned("dispatch", -60, on=True, percent=50)],
    closed_at=at(15),
    outcome="delivered",
    channel="email",
)


def exported(signer: Signer, rows: Record | None = WHOLE, run: Run | None = None) -> bytes:
    """Export a notice as it was at the start."""
    explained = Explained.of(rows, Terms(recorded="digest")) if rows else None
    made = Export(
        key=notice().key,
        exported_at=START,
        standby="0.1.0",
        ledger_schema="0003",
        signed_by=signed_by(signer),
        record=rows,
        engine=EngineWord.of(run),
        recomputed=recomputed(explained),
    )
    return sealed(made, signer)


@pytest.fixture(scope="module")
def signer(tmp_path_factory: pytest.TempPathFactory) -> Signer:
    return Signer.current(Keyring.create(tmp_path_factory.mktemp("export") / "keys.toml"))


def prove(text: bytes, signer: Signer) -> Export:
    opened = Opened.read(text)
    opened.prove(signer.public)
    return opened.told


@pytest.mark.parametrize("rows", [WHOLE, None], ids=["on record", "refused"])
def test_what_was_exported_is_proven_and_read_back(signer: Signer, rows: Record | None) -> None:
    told = prove(exported(signer, rows), signer)
    assert (told.key, told.record) == (notice().key, rows)


def test_a_file_that_was_only_laid_out_anew_is_proven(signer: Signer) -> None:
    laid_out = json.dumps(json.loads(exported(signer)), indent=4).encode()
    assert prove(laid_out, signer).recomputed.same


def places(value: JsonValue, place: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return every leaf of a document."""
    match value:
        case dict() if value:
            return [each for name, inner in value.items() for each in places(inner, (*place, name))]
        case list() if value:
            return [each for index, inner in enumerate(value) for each in places(inner, (*place, index))]
        case _:
            return [place]


def test_a_change_anywhere_is_found(signer: Signer) -> None:
    original = exported(signer)
    leaves = places(json.loads(original)["document"])
    assert len(leaves) > 100
    for *way, last in leaves:
        value = json.loads(original)
        node = value["document"]
        for name in way:
            node = node[name]
        node[last] = "changed" if node[last] != "changed" else "again"
        with pytest.raises(UnprovenError):
            prove(json.dumps(value).encode(), signer)


def test_a_member_that_was_added_is_found(signer: Signer) -> None:
    value = json.loads(exported(signer))
    value["document"]["note"] = "trust me"
    with pytest.raises(UnprovenError, match="not of this document"):
        prove(json.dumps(value).encode(), signer)


def test_a_key_given_twice_is_found_whichever_is_the_true_one(signer: Signer) -> None:
    """Readers differ in which of the two they take."""
    forged = exported(signer).replace(b'{"engine":', b'{"key":"another","engine":', 1)
    with pytest.raises(UnprovenError, match="every program reads alike"):
        prove(forged, signer)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"{",
        b"null",
        b'"text"',
        b'{"document":{},"signature":""}',
        b'{"document":{"format":"standby-export/1"},"signature":""}',
        b'{"document":{"format":"standby-export/2","signed_by":{"key_id":null}},"signature":""}',
        b'{"document":{"format":"standby-export/1","signed_by":{"key_id":1}},"signature":""}',
        b'{"document":{"format":"standby-export/1","signed_by":{"key_id":null}},"signature":7}',
        b'{"document":{"format":"standby-export/1","signed_by":{"key_id":null}},"signature":"","more":1}',
        b'{"document":{"format":"standby-export/1","a":NaN,"signed_by":{"key_id":null}},"signature":""}',
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_what_is_no_export_is_told_so(text: bytes) -> None:
    with pytest.raises(UnprovenError, match="no export"):
        Opened.read(text)


def test_the_same_record_is_the_same_file(signer: Signer) -> None:
    assert exported(signer) == exported(signer)
    assert b"\n" not in exported(signer).rstrip(b"\n")


@pytest.mark.parametrize(
    ("run", "state"),
    [
        (None, "forgotten"),
        (Run(result=RESULT), "closed"),
        (Run(failure="DamagedPayload"), "failed"),
        (Run(evidence=Evidence(key="k", kind="k", phase=Phase.AWAITING)), "open"),
        (Run(note="no worker answers"), "open"),
    ],
)
def test_what_the_engine_knows_is_told_in_one_word(signer: Signer, run: Run | None, state: str) -> None:
    assert prove(exported(signer, run=run), signer).engine.state == state


def test_how_the_engine_says_it_closed_is_in_it(signer: Signer) -> None:
    word = prove(exported(signer, run=Run(result=RESULT)), signer).engine
    assert (word.outcome, word.channel, word.closed_at) == ("delivered", "email", RESULT.closed_at)


def test_the_published_schema_is_the_form() -> None:
    kept = (ROOT / "docs" / "export.schema.json").read_text(encoding="utf-8")
    assert kept == published(), (
        "the form has changed; publish it: python -m client.exporting > docs/export.schema.json"
    )


@pytest.mark.parametrize("rows", [WHOLE, None], ids=["on record", "refused"])
def test_the_schema_is_valid_and_takes_an_export(signer: Signer, rows: Record | None) -> None:
    Draft202012Validator.check_schema(schema())
    Draft202012Validator(schema()).validate(json.loads(exported(signer, rows)))


def test_the_schema_refuses_another_form(signer: Signer) -> None:
    value = json.loads(exported(signer))
    value["document"]["format"] = "standby-export/2"
    assert not Draft202012Validator(schema()).is_valid(value)


def test_every_field_of_the_schema_is_explained() -> None:
    models: Any = schema()["$defs"]
    fields = {
        f"{name}.{field}": told
        for name, model in models.items()
        for field, told in model.get("properties", {}).items()
    }
    assert len(fields) > 60
    assert not [name for name, told in fields.items() if "description" not in told]
