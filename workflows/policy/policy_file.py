"""A kind's `policy.toml`: read into its terms, and every mistake in it told in one line."""

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from datetime import timedelta

from pydantic import ValidationError

from workflows.policy import problems
from workflows.policy.terms import Policy, Watch
from workflows.policy.words import Channel

_PLACE = re.compile(
    r"(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)", re.DOTALL
)


class PolicyError(problems.Mistakes):
    """A policy that may not be used."""


def read(text: str, source: str) -> Policy:
    """Return the terms that a file gives; `source` is its path, which begins every line of the error.

    Raises PolicyError.
    """
    try:
        policy = Policy.model_validate(_table(text), extra="forbid")
    except ValidationError as error:
        told = problems.lines(error, Policy.model_json_schema())
    except _MalformedError as error:
        told = (str(error),)
    else:
        told = tuple(_idle(policy))
        if not told:
            return policy
    raise PolicyError(f"{source}: {each}" for each in told)


def digest(policy: Policy) -> str:
    """Name the terms for the record: 16 hex digits that change whenever any of them does."""
    # A policy without a challenge keeps the name that it had before there were any.
    absent = {"challenge"} if policy.challenge is None else set()
    terms = policy.model_dump(mode="json", exclude=absent)
    canonical = json.dumps(terms, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def scaled(policy: Policy, factor: float) -> Policy:
    """Return the same terms with every duration multiplied, so that a demonstration takes seconds."""
    return Policy.model_validate(_scale(policy.model_dump(), factor))


def _idle(policy: Policy) -> Iterator[str]:
    """Say what a file must not leave open or give in vain.

    No rule of the model, which also reads the terms of notices that are open: those stay as they are.
    """
    for channel in Channel:
        if channel in policy.route:
            yield from _unwatched(channel, policy.watch(channel), policy.expires_after)
        elif str(channel) in policy.model_fields_set:
            yield f"{channel}: is not in route; add it there, or remove the table"
    if policy.challenge is not None and Channel.SMS in policy.route and not policy.challenge.countries:
        yield 'challenge.countries: name the countries that texts may go to, like ["US", "CA"]'


def _unwatched(channel: Channel, watch: Watch, life: timedelta | None) -> Iterator[str]:
    """Say which reads of a channel would never come, or that nothing is said of any."""
    if watch.polls is None and watch.backoff is None:
        yield f"{channel}: give polls or backoff; polls = [] never asks what became of a message"
    if life is None:
        return
    late = next((number for number, at in enumerate(watch.polls or ()) if at >= life), None)
    if late is not None:
        yield f"{channel}.polls.{late}: must be earlier than expires_after"
    if watch.backoff is not None and watch.backoff.first >= life:
        yield f"{channel}.backoff.first: must be earlier than expires_after"


class _MalformedError(Exception):
    """Not TOML; the message says where."""


def _table(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _MalformedError(_placed(str(error), text)) from None
    except (ValueError, RecursionError):
        # A number of thousands of digits, or a list in a list in a list.
        raise _MalformedError("not TOML that anybody would write: too long a number, or too deep") from None


def _placed(message: str, text: str) -> str:
    """Put the line first, as compilers do."""
    found = _PLACE.fullmatch(message)
    if found is None:
        return f"not TOML: {message}"
    line = found["line"] or str(text.rstrip().count("\n") + 1)
    column = f", column {found['column']}" if found["column"] else ""
    return f"line {line}{column}: not TOML: {found['what']}"


def _scale(value: object, factor: float) -> object:
    match value:
        case timedelta():
            return value * factor
        case dict():
            return {key: _scale(each, factor) for key, each in value.items()}
        case tuple():
            return tuple(_scale(each, factor) for each in value)
        case _:
            return value
