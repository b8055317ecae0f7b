"""The strict door for what people and programs write: one JSON document, one notice.

Nothing unknown passes, nothing is guessed, and every mistake is one line that names its field and never
repeats what was in it. `python -m workflows.policy.contract` prints the published JSON Schema.
"""

import json
import sys

from pydantic import BaseModel, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import to_json

from workflows.policy import address, document, problems
from workflows.policy.models import NoticeRequest


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
    if found:
        raise ContractError(found)
    return request.model_copy(update={"recipient": recipient.model_copy(update=normal)})


if __name__ == "__main__":
    sys.stdout.write(published())
