"""Instruments that know their labels: each set of words is bound once, and found again in a dict."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final, Generic, TypeVar

from temporalio.common import (
    MetricCommon,
    MetricCounter,
    MetricGauge,
    MetricGaugeFloat,
    MetricHistogramTimedelta,
    MetricMeter,
)

_DURATION: Final = "duration"
"""The SDK writes it as seconds, and appends the unit to the name."""

NONE: Final = "none"
"""The word of a label where there is nothing to name."""

Bound = TypeVar("Bound", bound=MetricCommon)
Words = tuple[str, ...]


class Instrument(Generic[Bound]):
    """One metric with labels; words for them come in the order of the labels, and there are few of each."""

    ending = ""

    def __init__(self, made: Bound, labels: Words) -> None:
        self._made = made
        self.labels = labels
        self._bound: dict[Words, Bound] = {}

    @property
    def shown(self) -> str:
        """Its name as Prometheus has it."""
        return f"{self._made.name}{self.ending}"

    def _with(self, words: Words) -> Bound:
        bound = self._bound.get(words)
        if bound is None:
            named = {label: str(word) for label, word in zip(self.labels, words, strict=True)}
            bound = self._made.with_additional_attributes(named) if named else self._made
            self._bound[words] = bound
        return bound


class Counter(Instrument[MetricCounter]):
    """Counts what happened."""

    ending = "_total"

    def add(self, *words: str) -> None:
        """Count one more."""
        self._with(words).add(1)


class Timer(Instrument[MetricHistogramTimedelta]):
    """Sorts durations into buckets."""

    ending = "_seconds"

    def record(self, took: timedelta, *words: str) -> None:
        """Sort one in; clocks that disagree make none negative."""
        self._with(words).record(max(took, timedelta()))


class Gauge(Instrument[MetricGauge]):
    """Says how many there are now."""

    def set(self, number: int, *words: str) -> None:
        """Say how many."""
        self._with(words).set(number)

    def vanished(self, present: Iterable[Words]) -> None:
        """Set to 0 what was once said of words that nothing has now: a gauge keeps what it was told last."""
        for words in self._bound.keys() - set(present):
            self._bound[words].set(0)


class Level(Instrument[MetricGaugeFloat]):
    """Says how much there is now, in the unit that its name ends in."""

    def set(self, amount: float) -> None:
        """Say how much."""
        self._with(()).set(amount)


class Maker:
    """Makes instruments by one meter of the SDK's, under the names of this product."""

    def __init__(self, meter: MetricMeter) -> None:
        self._meter = meter

    def counter(self, name: str, about: str, *labels: str) -> Counter:
        """Make a counter; its name comes without `_total`."""
        return Counter(self._meter.create_counter(name, about), labels)

    def timer(self, name: str, about: str, *labels: str) -> Timer:
        """Make a histogram of durations; its name comes without `_seconds`."""
        return Timer(self._meter.create_histogram_timedelta(name, about, _DURATION), labels)

    def gauge(self, name: str, about: str, *labels: str) -> Gauge:
        """Make a gauge of whole numbers."""
        return Gauge(self._meter.create_gauge(name, about), labels)

    def level(self, name: str, about: str) -> Level:
        """Make a gauge without labels whose name says its unit."""
        return Level(self._meter.create_gauge_float(name, about), ())
