"""The strict door for what people and programs write: one JSON document, one notice.

Nothing unknown passes, nothing is guessed, and every mistake is one line that names its field and never
repeats what was in it. `python -m workflows.policy.contract` prints the published JSON Schema.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import to_json

from workflows.policy import address, document, problems
from workflows.policy.models import NoticeRequest

_ADDRESS = re.compile(
    r"[^\s@]@[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}"  # an email address
    r"|(?<!\w)\+[0-9]{7,15}(?![0-9])"  # a number in E.164
    r"|[a-z][a-z0-9+.-]*://",  # a URL
    re.IGNORECASE,
)
"""What an id that is no address never holds."""


class ContractError(problems.Mistakes):
    """Not a notice, nor whatever else the door is of."""


class Addresses(NamedTuple):
    """One person's, as they were written."""

    email: str | None
    phone: str | None


_Model = TypeVar("_Model", bound=BaseModel)


def parse(text: str | bytes) -> NoticeRequest:
    """Return the notice that a JSON document asks for; raises ContractError."""
    return validate(read(text))


def validate(data: object) -> NoticeRequest:
    """Return the notice that a JSON value or a request asks for, its addresses normalised.

    Raises ContractError.
    """
    request = strictly(NoticeRequest, data)
    recipient = request.recipient
    ids = {"kind": request.kind, "event_id": request.event_id, "recipient.id": recipient.id}
    normal, found = normalised("recipient", Addresses(recipient.email, recipient.phone), ids)
    if found:
        raise ContractError(found)
    return request.model_copy(update={"recipient": recipient.model_copy(update=normal)})


def read(text: str | bytes) -> object:
    """Return the value of a JSON document; raises ContractError."""
    try:
        return document.read(text)
    except document.DocumentError as error:
        raise ContractError(error.problems) from None


def strictly(model: type[_Model], data: object) -> _Model:
    """Return a JSON value as a model that has no member unknown to it; raises ContractError."""
    plain = data.model_dump() if isinstance(data, BaseModel) else data
    if not isinstance(plain, dict):
        raise ContractError(["document: must be one JSON object"])
    if unfit := tuple(document.unfit(plain)):
        raise ContractError(unfit)
    try:
        return model.model_validate_json(to_json(plain), strict=True, extra="forbid")
    except ValidationError as error:
        raise ContractError(problems.lines(error, model.model_json_schema())) from None


def normalised(whose: str, written: Addresses, ids: dict[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return addresses as they are sent to, and a line for each that is wrong and each id that holds one."""
    normal: dict[str, str] = {}
    wrong: list[str] = []
    for name, given, normalise in (
        ("email", written.email, address.email),
        ("phone", written.phone, address.phone),
    ):
        try:
            if given is not None:
                normal[name] = normalise(given)
        except address.AddressError as error:
            wrong.append(f"{whose}.{error}")
    own = [given for name, given in written._asdict().items() if name in normal]
    return normal, (*wrong, *_personal([*own, *normal.values()], ids))


def schema() -> problems.Schema:
    """Return the contract as JSON Schema (draft 2020-12), as strict as this door."""
    return strict_schema(NoticeRequest, "Notice")


def strict_schema(model: type[BaseModel], title: str) -> problems.Schema:
    """Return a model as JSON Schema that knows no other member."""
    made: problems.Schema = model.model_json_schema()
    models = made["$defs"]
    for each in (made, *(models.values() if isinstance(models, dict) else ())):
        if isinstance(each, dict) and "properties" in each:
            each["additionalProperties"] = False
    return {"$schema": GenerateJsonSchema.schema_dialect, **made, "title": title}


def published() -> str:
    """Return the schema as it stands in `docs/notice.schema.json`."""
    return printed(schema())


def printed(made: problems.Schema) -> str:
    """Return a schema as it is published."""
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


def _personal(own: Iterable[str], ids: dict[str, str]) -> Iterator[str]:
    """Yield a line for each id that is, or holds, an address: the person's own, or what looks like one."""
    telling = {each.casefold() for each in own if each} | {each[1:] for each in own if each.startswith("+")}
    for name, value in ids.items():
        if _ADDRESS.search(value) or any(each in value.casefold() for each in telling):
            yield f"{name}: looks like an address: ids appear in the UI and in logs, so use an opaque one"


if __name__ == "__main__":
    sys.stdout.write(published())
