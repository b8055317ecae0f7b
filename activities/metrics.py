"""What can be counted, and in which words: docs/metrics.md says what each is for.

All of it goes through the SDK's own meter, so that one endpoint carries the product's metrics beside the
engine's. A label is a word out of few: never a key, an id or an address.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Final, Self

from temporalio.client import Client
from temporalio.common import MetricMeter

from activities.instruments import Counter, Gauge, Instrument, Level, Maker, Timer

OTHER_KIND: Final = "other"
"""The kind of a notice whose kind nobody knows: a caller can write anything there."""

_PROMPT: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20, 30, 60, 120, 300, 600, 1800, 3600)
_LIFE: Final = (
    1,
    2,
    5,
    10,
    15,
    30,
    45,
    60,
    120,
    300,
    600,
    1800,
    3600,
    7200,
    21_600,
    86_400,
    259_200,
    604_800,
)

BUCKETS: Final[Mapping[str, tuple[float, ...]]] = MappingProxyType(
    {
        "standby_notice": _LIFE,
        "standby_poll_lateness": _PROMPT,
        "standby_fallback_lateness": _PROMPT,
        "standby_provider_call": (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30),
    }
)
"""Upper bounds in seconds; the SDK's own end at ten."""


@dataclass(frozen=True, slots=True)
class Meters:
    """Every instrument of the product."""

    is_on: bool
    """Whether anybody can read them."""
    started: Counter
    closed: Counter
    refused: Counter
    dispatches: Counter
    checks: Counter
    escalations: Counter
    reads: Counter
    reports: Counter
    suppressions: Counter
    challenges: Counter
    wrong_codes: Counter
    callbacks: Counter
    provider_calls: Counter
    life: Timer
    poll_lateness: Timer
    fallback_lateness: Timer
    provider_call: Timer
    open_notices: Gauge
    oldest_due: Level
    past_fallback: Gauge
    claimed_without_id: Gauge
    open_challenges: Gauge
    strays: Gauge
    snapshot_at: Level

    @classmethod
    def of(cls, meter: MetricMeter) -> Self:
        """Make them by a meter; the same meter counts on where it was."""
        make = Maker(meter)
        return cls(
            is_on=meter is not MetricMeter.noop,
            started=make.counter("standby_notices_started", "Notices put on record.", "kind"),
            closed=make.counter(
                "standby_notices_closed",
                "Notices closed, by how and by which rule.",
                *("kind", "outcome", "channel", "rule"),
            ),
            refused=make.counter("standby_notices_refused", "Notices refused at the door.", "kind", "why"),
            dispatches=make.counter(
                "standby_dispatches", "Dispatches by what came of them.", "channel", "provider", "result"
            ),
            checks=make.counter(
                "standby_checks", "Eligibility checks by their answer.", "channel", "answer", "reason"
            ),
            escalations=make.counter(
                "standby_escalations", "Fallbacks that were cleared to send.", "kind", "channel", "rule"
            ),
            reads=make.counter(
                "standby_reads", "Questions to providers about attempts.", "channel", "provider", "result"
            ),
            reports=make.counter(
                "standby_reports",
                "Reports kept, by what they said and did.",
                *("channel", "provider", "source", "status", "verdict"),
            ),
            suppressions=make.counter(
                "standby_suppressions", "Suppressions that are new.", "channel", "reason"
            ),
            challenges=make.counter("standby_challenges", "What happened to challenges.", "kind", "event"),
            wrong_codes=make.counter("standby_wrong_codes", "Wrong codes that count as guesses.", "kind"),
            callbacks=make.counter(
                "standby_callbacks", "Callbacks by what became of them.", "provider", "result"
            ),
            provider_calls=make.counter(
                "standby_provider_calls",
                "Calls of providers by status, or by an error's class.",
                *("verb", "provider", "channel", "outcome"),
            ),
            life=make.timer("standby_notice", "From the record to the close.", "kind", "outcome"),
            poll_lateness=make.timer("standby_poll_lateness", "Polls against plan.", "channel"),
            fallback_lateness=make.timer("standby_fallback_lateness", "Fallbacks against plan.", "channel"),
            provider_call=make.timer(
                "standby_provider_call", "How long providers take.", "verb", "provider", "channel"
            ),
            open_notices=make.gauge("standby_open_notices", "Notices not closed.", "kind", "phase", "left"),
            oldest_due=make.level("standby_oldest_due_seconds", "Age of the oldest due step."),
            past_fallback=make.gauge(
                "standby_past_fallback_notices", "Notices past their fallback deadline, and nothing followed."
            ),
            claimed_without_id=make.gauge(
                "standby_claimed_without_id", "Attempts of open notices that have no id of a provider."
            ),
            open_challenges=make.gauge(
                "standby_open_challenges", "Challenges not consumed.", "kind", "left", "evidence"
            ),
            strays=make.gauge("standby_strays", "Reports about attempts that nobody knows."),
            snapshot_at=make.level(
                "standby_ledger_snapshot_timestamp_seconds", "When the ledger was read for these."
            ),
        )

    @property
    def instruments(self) -> Iterator[Instrument[Any]]:
        """Every instrument, in the order of the documentation."""
        given = (getattr(self, field.name) for field in fields(self))
        return (each for each in given if isinstance(each, Instrument))


NOTHING: Final = Meters.of(MetricMeter.noop)
"""For a process whose metrics nobody reads."""


def meters_of(client: Client) -> Meters:
    """Return the instruments of the process that a client was made in."""
    runtime = client.service_client.config.runtime
    return NOTHING if runtime is None else Meters.of(runtime.metric_meter)
