"""The evidence of one notice as one signed JSON document, for somebody who trusts no table of ours.

It holds no personal data, and no hash of an address either: a hash names a person to whoever has the key.
`python -m client.exporting` prints the published JSON Schema.
"""

import sys
from datetime import datetime
from importlib import metadata
from typing import Final, Literal, Self

from pydantic import JsonValue

from activities.signing import ALGORITHM, Checker, Signer, SigningError, canonical
from client.explaining import Explained
from client.runs import Run
from workflows.policy import contract, document, problems
from workflows.policy.compared import Compared
from workflows.policy.models import Result
from workflows.policy.recorded import Record, Recorded

FORMAT: Final = "standby-export/1"
DEVELOPMENT: Final = "signed with the development key, which anybody can compute: it proves nothing"
_DOCUMENT: Final = "document"
_SIGNATURE: Final = "signature"


class SignedBy(Recorded):
    """The key that a document is signed with."""

    algorithm: Literal["Ed25519"] = ALGORITHM
    """Over the canonical form (RFC 8785) of `document`, in UTF-8."""
    key_id: str | None
    """The payload key that the signing key is made from; null is the development key."""
    note: str | None = None
    """What its reader must know of the key."""


class EngineWord(Recorded):
    """What the engine still knew of the notice; the ledger's word does not depend on it."""

    state: Literal["open", "closed", "failed", "forgotten", "not asked"]
    """`forgotten` is what became of every closed notice once its retention has ended."""
    outcome: str | None = None
    """How it closed, by the engine."""
    channel: str | None = None
    """The channel whose evidence settled it."""
    rule: str | None = None
    """The rule that closed it."""
    reason: str | None = None
    """Why: a refused notice is on no other record."""
    closed_at: datetime | None = None
    """When it closed."""

    @classmethod
    def of(cls, run: Run | None) -> Self:
        """Take what the engine says, if it says anything."""
        match run:
            case None:
                return cls(state="forgotten")
            case Run(result=Result() as result):
                return cls.model_validate({"state": "closed", **result.model_dump()})
            case Run(failure=str(why)):
                return cls(state="failed", reason=why)
            case _:
                return cls(state="open")


class Recomputed(Recorded):
    """The record computed again when it was exported."""

    same: bool | None
    """Whether today's code made the same of everything; null where nothing is left to be computed."""
    items: tuple[Compared, ...] = ()
    """Everything that was computed again."""


class Export(Recorded):
    """One notice, as far as it is on record."""

    format: Literal["standby-export/1"] = FORMAT
    """Changes when a member changes its meaning."""
    key: str
    """The notice key."""
    exported_at: datetime
    """When, by the clock of the host that exported it (UTC)."""
    standby: str
    """The version of the code that computed everything again."""
    ledger_schema: str
    """The revision of the ledger's tables."""
    signed_by: SignedBy
    """The key that signed this document."""
    record: Record | None
    """The ledger's rows; null where it has none: the notice was refused."""
    engine: EngineWord
    """What the engine knew."""
    recomputed: Recomputed
    """The same record by today's code."""


class Signed(Recorded):
    """The file: a document and its signature."""

    document: Export
    """What was signed."""
    signature: str
    """Ed25519 over the canonical form (RFC 8785) of `document`, in hex."""


def version() -> str:
    """Return the version that is installed."""
    try:
        return metadata.version("standby")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def recomputed(explained: Explained | None) -> Recomputed:
    """Return what was computed again; of a notice without a record, or a pruned one, that is nothing."""
    if explained is None or explained.pruned_at is not None:
        return Recomputed(same=None)
    return Recomputed(same=explained.same, items=explained.items)


def signed_by(signer: Signer) -> SignedBy:
    """Say which key signs, and what that is worth."""
    return SignedBy(key_id=signer.key_id, note=DEVELOPMENT if signer.key_id is None else None)


def sealed(export: Export, signer: Signer) -> bytes:
    """Return the file, in its canonical form."""
    told: JsonValue = export.model_dump(mode="json")
    return canonical({_DOCUMENT: told, _SIGNATURE: signer.sign(told)}) + b"\n"


class UnprovenError(SigningError):
    """A file that is not what it says it is; one line that says why."""


class Opened(Recorded):
    """A file that has been read and not been believed yet."""

    body: JsonValue
    signature: str
    key_id: str | None

    @classmethod
    def read(cls, text: bytes) -> Self:
        """Read a file; raises UnprovenError for what is no export."""
        try:
            value = document.read(text)
        except document.DocumentError:
            raise UnprovenError("is no JSON, so it is no export") from None
        if next(document.unfit(value), None) is not None:
            raise UnprovenError("is no JSON that every program reads alike, so it is no export")
        match value:
            case {
                "document": {
                    "format": "standby-export/1",
                    "signed_by": {"key_id": str() | None as key_id},
                } as body,
                "signature": str(signature),
                **rest,
            } if not rest:
                return cls(body=body, signature=signature, key_id=key_id)
            case _:
                raise UnprovenError("is no export of a form that this version knows")

    @property
    def told(self) -> Export:
        """The document; only to be asked for once it is proven."""
        return Export.model_validate(self.body)

    def prove(self, checker: Checker) -> None:
        """Raise UnprovenError unless the document is as it was signed by this key."""
        if not checker.signed(self.body, self.signature):
            raise UnprovenError(
                "the signature is not of this document, or not by this key: do not rely on it"
            )


def schema() -> problems.Schema:
    """Return the form of the file as JSON Schema (draft 2020-12)."""
    return contract.strict_schema(Signed, "Export")


def published() -> str:
    """Return the schema as it stands in `docs/export.schema.json`."""
    return contract.printed(schema())


if __name__ == "__main__":
    sys.stdout.write(published())
