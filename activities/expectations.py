"""What kinds of notices ask of the provider that serves a channel, held against what it can do."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from activities.providers.base import Callbacks, Capabilities, Finding, Level
from workflows.policy.telling import NOUN
from workflows.policy.terms import Policy
from workflows.policy.words import Channel, OnUnresolved, Outcome, SettlesOn


@dataclass(frozen=True, slots=True)
class Post:
    """One provider on one channel, as it is set up."""

    provider: str
    channel: Channel
    can: Capabilities
    deaf: str | None = None
    """Why its callbacks would not be heard; None where they would, or it makes none."""

    @property
    def label(self) -> str:
        """What its findings are about."""
        return f"{self.provider} {self.channel}"

    @property
    def calls_back(self) -> bool:
        """Whether it would tell us by itself, if only it were heard."""
        return self.can.callbacks is not Callbacks.NONE

    @property
    def is_silent(self) -> bool:
        """Whether nothing is ever learned after the acceptance."""
        return not self.can.reads and (not self.calls_back or self.deaf is not None)


def unmet(post: Post, kinds: Mapping[str, Policy], *, shares: bool) -> Iterator[Finding]:
    """Say what a provider cannot do for the kinds that it serves, where suppressions are shared or not."""
    yield from _unlearned(post)
    if shares and not post.can.takes_suppressions:
        yield Finding(
            Level.NOTE, post.label, "takes no suppressions from us: STANDBY_SHARE_SUPPRESSIONS has no effect"
        )
    for name, policy in kinds.items():
        if policy.settles_on is SettlesOn.DELIVERED and post.is_silent:
            yield Finding(Level.PROBLEM, name, _unconfirmed(post, policy))
        if post.channel is Channel.EMAIL and not policy.essential and not post.can.takes_headers:
            yield Finding(Level.PROBLEM, name, _unlisted(post))


def _unlearned(post: Post) -> Iterator[Finding]:
    lost = "its acceptance is all there is, and what becomes of a message is never learned"
    if not post.calls_back:
        if not post.can.reads:
            yield Finding(Level.NOTE, post.label, f"it can neither be asked nor calls back: {lost}")
    elif post.deaf is not None:
        rest = "it is only asked" if post.can.reads else f"it cannot be asked either: {lost}"
        yield Finding(Level.NOTE, post.label, f"its callbacks are not heard ({post.deaf}); {rest}")


def _unconfirmed(post: Post, policy: Policy) -> str:
    channel, later = post.channel, policy.route[policy.route.index(post.channel) + 1 :]
    escalates = policy.on_unresolved is OnUnresolved.ESCALATE
    if later and escalates:
        fate = f"every one goes on to {later[0]}, also where the {channel} arrived"
    else:
        fate = f"every notice that ends there closes {Outcome.UNKNOWN if escalates else Outcome.EXPIRED}"
    if post.calls_back:
        remedy = f"let {post.provider} call back ({post.deaf})"
    else:
        remedy = f"name another provider ({channel}.provider in its policy.toml)"
    says = f"its {NOUN[channel]} by {post.provider} can never be confirmed: {fate}"
    return f'{says}; {remedy}, or settle on "accepted"'


def _unlisted(post: Post) -> str:
    return (
        f"is not essential, and {post.label} cannot carry List-Unsubscribe, which Gmail and Yahoo ask for:"
        " name another provider (email.provider in its policy.toml)"
    )
