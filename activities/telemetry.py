"""Provider calls, traced, timed and counted: whose attempt, which provider, and the classified answer."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from activities import tracing
from activities.metrics import NOTHING, Meters
from workflows.policy.words import Channel, Status


@dataclass(frozen=True, slots=True)
class Called:
    """Who is asked for what: `send` or `look_up`, about which attempt."""

    verb: str
    attempt_key: str
    provider: str
    channel: Channel


@dataclass(slots=True)
class Call:
    """A provider call that is under way."""

    outcome: str = "nothing"

    def answered(self, status: Status) -> None:
        """Note the normalised word that the provider gave."""
        self.outcome = status.value
        tracing.mark(status=status.value)


@contextmanager
def provider_call(called: Called, meters: Meters = NOTHING) -> Iterator[Call]:
    """Trace, time and count one call; of an error the class is kept, never the message."""
    with tracing.calling(called.verb, called.provider, called.attempt_key, called.channel):
        call, began = Call(), time.monotonic()
        try:
            yield call
        except BaseException as error:
            call.outcome = type(error).__name__
            raise
        finally:
            names = (called.verb, called.provider, called.channel)
            meters.provider_calls.add(*names, call.outcome)
            meters.provider_call.record(timedelta(seconds=time.monotonic() - began), *names)
