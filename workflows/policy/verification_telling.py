"""The story of a verification in plain words, for the UI: opaque ids and classified words only."""

from datetime import datetime

from workflows.policy.telling import clock, moment
from workflows.policy.verification import Facts, Told
from workflows.policy.words import ChallengeState

_GAP = "\N{EM SPACE}"
"""The UI draws a table's columns without any space between them."""


def title(account_id: str, purpose: str) -> str:
    """Return the verification's line in the UI."""
    return f"verification of {account_id}: {purpose}"


def pause(until: datetime) -> str:
    """Return the summary of a timer."""
    return f"until {clock(until)}, unless it is consumed"


def details(facts: Facts) -> str:
    """Return the four facts as a table; none of them says anything about another."""
    rows = [("challenge created", _at(facts.created_at))]
    for each in facts.messages:
        rows += [
            (f"message {each.number} asked for", _at(each.asked_at)),
            (f"message {each.number} transport", _transport(each)),
        ]
    rows += [("challenge consumed", _at(facts.consumed_at)), ("expires", _at(facts.expires_at))]
    table = "\n".join(f"| {name}{_GAP} | {value} |" for name, value in rows)
    return f"{_head(facts)}\n\n| fact{_GAP} | when (UTC) |\n|---|---|\n{table}"


def _head(facts: Facts) -> str:
    match facts:
        case Facts(state=ChallengeState.REFUSED):
            return f"**refused** · {facts.reason or 'there is no challenge'}"
        case Facts(state=ChallengeState.ACTIVE, expires_at=datetime() as until):
            return f"**active** · next: until {clock(until)} the link or code may be presented"
        case Facts(state=ChallengeState.ACTIVE):
            return "**active** · next: the challenge is put on record"
        case _:
            return f"**{facts.state}** · nothing further is sent"


def _at(when: datetime | None) -> str:
    return "-" if when is None else moment(when)


def _transport(message: Told) -> str:
    outcome = f"closed: {message.outcome}" if message.outcome else "open"
    return f"{outcome} · `{message.notice_key}`"
