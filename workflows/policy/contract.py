"""The strict door for what people and programs write: one JSON document, one notice.

Nothing unknown passes, nothing is guessed, and every mistake is one line that names its field and never
repeats what was in it. `python -m workflows.policy.contract` prints the published JSON Schema.
"""

import json
import re
import sys
from collections.abc import Iterator

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
    """Not a notice."""


def parse(text: str | bytes) -> NoticeRequest:
    """Return the notice that a JSON document asks for; raises ContractError."""
    try:
        return validate(document.read(text))
    except document.DocumentError as error:
        raise ContractError(error.problems) from None


def validate(data: object) -> NoticeRequest:
    """Return the notice that a JSON value or a request asks for, its addresses normalised.

    Raises ContractError.
    """
    plain = data.model_dump() if isinstance(data, BaseModel) else data
    if not isinstance(plain, dict):
        raise ContractError(["document: must be one JSON object"])
    if unfit := tuple(document.unfit(plain)):
        raise ContractError(unfit)
    try:
        request = NoticeRequest.model_validate_json(to_json(plain), strict=True, extra="forbid")
    except ValidationError as error:
        raise ContractError(problems.lines(error, NoticeRequest.model_json_schema())) from None
    return _addressed(request)


def schema() -> problems.Schema:
    """Return the contract as JSON Schema (draft 2020-12), as strict as this door."""
    made: problems.Schema = NoticeRequest.model_json_schema()
    models = made["$defs"]
    for model in (made, *(models.values() if isinstance(models, dict) else ())):
        if isinstance(model, dict) and "properties" in model:
            model["additionalProperties"] = False
    return {"$schema": GenerateJsonSchema.schema_dialect, **made, "title": "Notice"}


def published() -> str:
    """Return the schema as it stands in `docs/notice.schema.json`."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _addressed(request: NoticeRequest) -> NoticeRequest:
    """Normalise the addresses, or say what is wrong with each."""
    recipient, found = request.recipient, []
    normal: dict[str, str] = {}
    for name, written, read in (
        ("email", recipient.email, address.email),
        ("phone", recipient.phone, address.phone),
    ):
        try:
            if written is not None:
                normal[name] = read(written)
        except address.AddressError as error:
            found.append(f"recipient.{error}")
    found += _personal(request, normal)
    if found:
        raise ContractError(found)
    return request.model_copy(update={"recipient": recipient.model_copy(update=normal)})


def _personal(request: NoticeRequest, normal: dict[str, str]) -> Iterator[str]:
    """Yield a line for each id that is, or holds, an address: the recipient's own, or what looks like one."""
    recipient = request.recipient
    written = (recipient.email if "email" in normal else None, recipient.phone if "phone" in normal else None)
    digits = normal.get("phone", "").removeprefix("+")
    own = [each.casefold() for each in (*written, *normal.values(), digits) if each]
    for name, value in (
        ("kind", request.kind),
        ("event_id", request.event_id),
        ("recipient.id", recipient.id),
    ):
        if _ADDRESS.search(value) or any(each in value.casefold() for each in own):
            yield f"{name}: looks like an address: ids appear in the UI and in logs, so use an opaque one"


if __name__ == "__main__":
    sys.stdout.write(published())
