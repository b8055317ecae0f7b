"""What became of it: the rows of one dashboard."""

from ops.grafana.panels import Panel, quantile, rate, share, summed

_SUBMITTED = 'result="submitted"'

OUTCOMES = (
    Panel(
        "Started and refused",
        "What do backends ask for, a minute, and what is turned away at the door?",
        "short",
        [
            (rate("standby_notices_started_total", "kind"), "{{kind}}"),
            (rate("standby_notices_refused_total", "kind, why"), "{{kind}} refused: {{why}}"),
        ],
    ),
    Panel(
        "Closed by outcome",
        "How do notices end, a minute? Each outcome is a line of its own.",
        "short",
        [(rate("standby_notices_closed_total", "outcome, channel"), "{{outcome}} on {{channel}}")],
    ),
    Panel(
        "Escalations by rule",
        "Why are texts sent, a minute?",
        "short",
        [(rate("standby_escalations_total", "kind, rule"), "{{kind}}: {{rule}}")],
    ),
    Panel(
        "Nobody can say",
        "Which share of notices closes as unknown, and which share of dispatches is left in doubt?",
        "percentunit",
        [
            (share("standby_notices_closed_total", 'outcome="unknown"', "kind"), "{{kind}} unknown"),
            (share("standby_dispatches_total", 'result="ambiguous"', "provider"), "{{provider}} ambiguous"),
        ],
    ),
    Panel(
        "Reads a submission",
        "How often is a provider asked for each message that it took?",
        "short",
        [
            (
                f"{summed('standby_reads_total')} / {summed('standby_dispatches_total', _SUBMITTED)}",
                "{{channel}}",
            )
        ],
    ),
    Panel(
        "Reports by what they said",
        "What do providers say, a minute? Words that no table knows are `unrecognized`.",
        "short",
        [(rate("standby_reports_total", "channel, status"), "{{channel}} {{status}}")],
    ),
    Panel(
        "Provider calls",
        "What comes of calls, a minute?",
        "short",
        [
            (
                rate("standby_provider_calls_total", "provider, verb, outcome"),
                "{{provider}} {{verb}}: {{outcome}}",
            )
        ],
    ),
    Panel(
        "How long providers take",
        "For one call in a hundred.",
        "s",
        [
            (
                quantile("standby_provider_call_seconds", 0.99, "provider, verb"),
                "{{provider}} {{verb}}",
            )
        ],
    ),
    Panel(
        "Suppressions",
        "Who is not written to any more, an hour, and why?",
        "short",
        [("sum by (channel, reason) (increase(standby_suppressions_total[1h]))", "{{channel}}: {{reason}}")],
    ),
    Panel(
        "Callbacks",
        "What becomes of what providers bring, a minute?",
        "short",
        [(rate("standby_callbacks_total", "provider, result"), "{{provider}} {{result}}")],
    ),
    Panel(
        "Challenges",
        "Opened, consumed, ended without: what people did, which no provider can say.",
        "short",
        [(rate("standby_challenges_total", "event"), "{{event}}")],
    ),
    Panel(
        "From the record to the close",
        "How long do notices live, for one in two, by how they end?",
        "s",
        [
            (
                quantile("standby_notice_seconds", 0.5, "kind, outcome"),
                "{{kind}} {{outcome}}",
            )
        ],
    ),
)
