"""Documents that are nearly right, and values that are nothing at all, for hypothesis."""

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

Path = tuple[str | int, ...]

TEXTS = st.text(st.characters(), max_size=12)
"""Any, with NUL and halves of characters, which JSON can escape and databases cannot keep."""

EXTREMES = st.sampled_from(
    [0, -1, 2**63, 10**400, -(10**400), 1e308, float("inf"), float("nan"), 32503680000]
)
NUMBERS = st.integers(-(2**70), 2**70) | st.floats() | EXTREMES
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    NUMBERS,
    TEXTS,
    st.sampled_from(["", "\0", "\ud800", "x" * 3000, "2026-12-01T10:00:00Z", "9999-12-31T23:59:59-23:59"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, at: Path = ()) -> Iterator[Path]:  # noqa: ANN401 - any JSON
    """Yield the path of every value within a document, and of the document itself."""
    yield at
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inside:
        yield from places(each, (*at, name))


@st.composite
def bent(draw: st.DrawFn, text: str) -> str:
    """Draw a text that lacks a character, or has another one there."""
    at = draw(st.integers(0, max(0, len(text) - 1)))
    return text[:at] + draw(st.just("") | st.characters() | st.sampled_from("A=-_.%\0")) + text[at + 1 :]


def other(value: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401 - any JSON
    """Draw what stands in the place of a value: something like it, or anything."""
    match value:
        case bool() | None:
            return VALUES
        case int() | float():
            return EXTREMES | VALUES
        case str():
            return bent(value) | VALUES
        case _:
            return VALUES


@st.composite
def nearly(draw: st.DrawFn, document: Any, most: int = 3) -> Any:  # noqa: ANN401 - any JSON
    """Draw a document as it is, or with a few of its values dropped, replaced or joined by others."""
    made = copy.deepcopy(document)
    for _ in range(draw(st.integers(0, most))):
        at = draw(st.sampled_from(list(places(made))))
        if not at:
            made = draw(st.just(made) | VALUES)
            continue
        holder = made
        for name in at[:-1]:
            holder = holder[name]
        match draw(st.sampled_from(["drop", "replace", "replace", "join"])):
            case "drop":
                del holder[at[-1]]
            case "replace":
                holder[at[-1]] = draw(other(holder[at[-1]]))
            case _ if isinstance(holder, dict):
                holder[draw(TEXTS)] = draw(VALUES)
            case _:
                holder.append(draw(VALUES))
    return made


def as_json(value: object) -> bytes:
    """Write JSON as strangers do: NaN too, and half a character escaped."""
    return json.dumps(value).encode()


@st.composite
def nearly_a_form(draw: st.DrawFn, fields: dict[str, str]) -> dict[str, str]:
    """Draw a form as it is, or with fields dropped, replaced or joined by others; UTF-8 throughout."""
    texts = st.text(max_size=12) | st.sampled_from(["", "\0", "x" * 3000, "-1", "delivered"])
    left = draw(st.just(set(fields)) | st.sets(st.sampled_from(sorted(fields)), max_size=3))
    made = {name: value for name, value in fields.items() if name in left}
    for _ in range(draw(st.integers(0, 4))):
        name = draw(st.sampled_from([*sorted(made), "Other"]) | st.text(max_size=8))
        if draw(st.booleans()):
            made.pop(name, None)
        else:
            made[name] = draw(texts)
    return made
