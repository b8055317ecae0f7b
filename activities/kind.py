"""One kind of notice: its terms and its words, and the proof that these make every message they promise."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from activities.fields import FieldError, unsubscribe_url
from activities.render import MissingFieldError, Rendered, render
from activities.supplying import SECRETS, StandIns
from activities.templates import Part, Templates
from workflows.policy import policy_file
from workflows.policy.lifetime import LifetimeError, expiry
from workflows.policy.models import Fields, NoticeRequest
from workflows.policy.terms import Policy
from workflows.policy.words import Channel, Method

ONLY_BY_VERIFICATION: Final = "kind: carries a challenge, and is only sent by a verification"
"""What is said to anyone else who asks for such a kind."""

_NOWHERE: Final = "example.test"
_ANY_DAY: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Whether a sample has an expiry does not depend on the day."""
_UNAIDED: Final = StandIns()


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of notice: a folder, compiled."""

    name: str
    policy: Policy
    digest: str
    """Names the policy's terms in every decision on record."""
    templates: Templates = field(repr=False)
    sample: NoticeRequest = field(repr=False)

    @property
    def methods(self) -> tuple[Method | None, ...]:
        """Return the methods of the challenges that it may carry; None alone where it carries none."""
        return (None,) if self.policy.challenge is None else tuple(Method)

    def render(self, channel: Channel, fields: Fields) -> Rendered:
        """Write the message of one channel; raises FieldError, which names the field."""
        may_end = channel is Channel.EMAIL and not self.policy.essential
        # Before the templates, which may name it too: only this says what to do.
        end = unsubscribe_url(fields) if may_end else None
        return replace(render(self.templates, channel, fields), unsubscribe_url=end)

    def prove(self, fields: Fields, channels: Iterable[Channel], stand_ins: StandIns = _UNAIDED) -> None:
        """Render every template of these channels once; raises FieldError, which names the field."""
        for channel in channels:
            self.render(channel, stand_ins.beside(fields, self.policy, channel))

    def scaled(self, factor: float) -> Self:
        """Return the kind with every duration of its policy multiplied."""
        policy = policy_file.scaled(self.policy, factor)
        return replace(self, policy=policy, digest=policy_file.digest(policy))


def unproved(kind: Kind, folder: Path, public_url: str | None) -> Iterator[str]:
    """Say what keeps the sample from being sent as it stands."""
    sample, path = kind.sample, folder / "sample.json"
    if sample.kind != kind.name:
        yield f'{path}: kind: must be "{kind.name}", as the folder is named'
    domain = (sample.recipient.email or _NOWHERE).rpartition("@")[2]
    if not f".{domain}".endswith(f".{_NOWHERE}"):
        yield f"{path}: recipient.email: must end in @{_NOWHERE}, where the sandbox is and no person"
    ways = [(channel, method) for channel in kind.policy.route for method in kind.methods]
    lines = [_unwritten(kind, channel, folder, StandIns(public_url, method)) for channel, method in ways]
    # What is wrong for one method is often wrong for all.
    yield from dict.fromkeys(line for each in lines for line in each)
    try:
        expiry(sample, kind.policy, _ANY_DAY)
    except LifetimeError as error:
        yield f"{path}: {error}"


def _unwritten(kind: Kind, channel: Channel, folder: Path, stand_ins: StandIns) -> Iterator[str]:
    """Say why the sample's fields make no message; a missing field may be misspelled in a template."""
    try:
        message = kind.render(channel, stand_ins.beside(kind.sample.fields, kind.policy, channel))
    except MissingFieldError as error:
        for use in error.uses:
            line = kind.templates[use.part].lines[use.name]
            yield f"{folder / use.part.file}:{line}: {use.path}: {_absence(kind, use.name)}"
    except FieldError as error:
        yield f"{folder / 'sample.json'}: {error}"
    else:
        yield from _uncarried(kind, folder, stand_ins, _bodies(channel, message))


def _absence(kind: Kind, name: str) -> str:
    if kind.policy.challenge is not None and name in SECRETS:
        return f"is not there for every method: put it between {{{{#{name}}}}} and {{{{/{name}}}}}"
    return "is not in sample.json"


def _bodies(channel: Channel, message: Rendered) -> dict[Part, str]:
    if channel is Channel.SMS:
        return {Part.SMS: message.text}
    return {Part.HTML: message.html or "", Part.TEXT: message.text}


def _uncarried(kind: Kind, folder: Path, stand_ins: StandIns, bodies: dict[Part, str]) -> Iterator[str]:
    """Say which secret a person would wait for in vain."""
    for name, secret in stand_ins.secrets(kind.policy).items():
        for part, body in bodies.items():
            if secret not in body:
                method = f'a challenge of method "{stand_ins.method}"'
                yield f"{folder / part.file}: lacks {{{{{name}}}}}, which {method} must carry"
