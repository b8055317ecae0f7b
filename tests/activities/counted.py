"""What was counted, read from the SDK's own meter: no endpoint, and nothing made up."""

from collections.abc import Mapping

from temporalio.runtime import (
    BUFFERED_METRIC_KIND_COUNTER,
    BUFFERED_METRIC_KIND_HISTOGRAM,
    LoggingConfig,
    MetricBuffer,
    MetricBufferDurationFormat,
    Runtime,
    TelemetryConfig,
)

from activities.metrics import Meters

_ROOM = 100_000


class Counted:
    """One meter, and what was counted by it since it was read last."""

    def __init__(self) -> None:
        self._buffer = MetricBuffer(_ROOM, MetricBufferDurationFormat.SECONDS)
        config = TelemetryConfig(
            logging=LoggingConfig.default, metrics=self._buffer, attach_service_name=False
        )
        self.runtime = Runtime(telemetry=config)
        self.meters = Meters.of(self.runtime.metric_meter)

    def read(self) -> Mapping[str, float]:
        """Return each metric with its labels: a counter's sum, a duration's count, a gauge's last word."""
        found: dict[str, float] = {}
        for each in self._buffer.retrieve_updates():
            name = _shown(each.metric.name, each.attributes)
            match each.metric.kind:
                case kind if kind == BUFFERED_METRIC_KIND_COUNTER:
                    found[name] = found.get(name, 0) + each.value
                case kind if kind == BUFFERED_METRIC_KIND_HISTOGRAM:
                    found[name] = found.get(name, 0) + 1
                case _:
                    found[name] = each.value
        return found

    def durations(self, name: str) -> list[float]:
        """Return the seconds that were sorted into a histogram."""
        return [each.value for each in self._buffer.retrieve_updates() if each.metric.name == name]


def _shown(name: str, attributes: Mapping[str, object]) -> str:
    words = ",".join(f"{label}={attributes[label]}" for label in sorted(attributes))
    return f"{name.removeprefix('standby_')}{{{words}}}" if words else name.removeprefix("standby_")
