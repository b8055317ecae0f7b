"""One notice from start to end: a test plays it, and the recorder makes a history of it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from temporalio.testing import WorkflowEnvironment

from tests.workflows.fakes import World
from tests.workflows.scripts import Answers, Script, Views, Word
from tests.workflows.stage import ask, play, report, withdraw
from workflows.policy.models import Result
from workflows.policy.terms import Policy
from workflows.policy.words import AttemptState, Channel, Outcome

Act = Callable[[WorkflowEnvironment], Awaitable[None]]


@dataclass(frozen=True)
class Scenario:
    """What the world says to one notice, and how that must end."""

    policy: Policy
    end: str
    """The outcome, the channel that settled it if one did, and the rule that closed it."""
    story: str
    """What the world was asked, with the engine's seconds since the admission, rounded down to fifteen."""
    sends: Script = field(default_factory=dict)
    looks: Views = field(default_factory=dict)
    answers: Answers = field(default_factory=dict)
    news: dict[Channel, Word] = field(default_factory=dict)
    ruled_out: dict[Channel, str] = field(default_factory=dict)
    refusal: str | None = None
    unclaimed: frozenset[Channel] = frozenset()
    filed: AttemptState = AttemptState.SUBMITTED
    stands: Outcome | None = None
    outages: dict[str, int] = field(default_factory=dict)
    meanwhile: dict[str, Act] = field(default_factory=dict)
    """What happens while an activity is at work, by its line of the story."""

    def world(self, engine: WorkflowEnvironment) -> World:
        """Return a fresh world that follows this script."""
        return World(
            policy=self.policy,
            sends=self.sends,
            looks=self.looks,
            answers=self.answers,
            news=self.news,
            ruled_out=self.ruled_out,
            refusal=self.refusal,
            unclaimed=self.unclaimed,
            filed=self.filed,
            stands=self.stands,
            outages=dict(self.outages),
            meanwhile={line: partial(act, engine) for line, act in self.meanwhile.items()},
        )

    async def play(self, engine: WorkflowEnvironment) -> tuple[World, Result]:
        """See the notice through."""
        world = self.world(engine)
        return world, await play(engine, world)


def ending(result: Result) -> str:
    """Return a result as a scenario states it."""
    return f"{result.outcome}{f' on {result.channel}' if result.channel else ''}: {result.rule}"


def calls_back(*words: Word, event_id: str = "") -> Act:
    """Return an act in which the email's provider reports these words in turn, each as its own event."""

    async def act(engine: WorkflowEnvironment) -> None:
        for number, word in enumerate(words):
            await report(engine, word, event_id=event_id or f"callback-{number}")
        # The test server wedges on a call that is cancelled at the moment of its return.
        await ask(engine)

    return act


async def changes_its_mind(engine: WorkflowEnvironment) -> None:
    """The caller withdraws the notice, and the notice acts on it."""
    await withdraw(engine)
    await ask(engine)
