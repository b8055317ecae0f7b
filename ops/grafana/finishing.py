"""Can what is open be finished before its deadline? The rows of one dashboard."""

from ops.grafana.panels import Panel, quantile, share

NOTICES = "max by (kind, phase, left) (standby_open_notices)"
CHALLENGES = 'max by (kind, left) (standby_open_challenges{evidence="none"})'
"""Whose messages nobody has even accepted."""

FINISHING = (
    Panel(
        "Open notices by time left",
        "How much work is open, and how long until it is of no use? `past` must be empty.",
        "short",
        [(f"sum by (left) ({NOTICES})", "{{left}}")],
        stacked=True,
    ),
    Panel(
        "Open notices by phase",
        "Does work pile up before it is claimed, while it is claimed, or while evidence is awaited?",
        "short",
        [(f"sum by (phase) ({NOTICES})", "{{phase}}")],
        stacked=True,
    ),
    Panel(
        "Oldest step that is due",
        "For how long has the oldest due step waited for a worker?",
        "s",
        [("max(standby_oldest_due_seconds)", "oldest due")],
    ),
    Panel(
        "Past the fallback deadline, and claims without an id",
        "Do fallbacks follow, and do sends that begin also end?",
        "short",
        [
            ("max(standby_past_fallback_notices)", "past their fallback deadline"),
            ("max(standby_claimed_without_id)", "claimed without a provider's id"),
        ],
    ),
    Panel(
        "Polls against plan",
        "How late do polls come, for one in two and for one in a hundred?",
        "s",
        [
            (quantile("standby_poll_lateness_seconds", 0.5), "{{channel}} median"),
            (quantile("standby_poll_lateness_seconds", 0.99), "{{channel}} 99 %"),
        ],
    ),
    Panel(
        "Fallbacks against plan",
        "How late are fallback decisions, for one in two and for one in a hundred?",
        "s",
        [
            (quantile("standby_fallback_lateness_seconds", 0.5), "{{channel}} median"),
            (quantile("standby_fallback_lateness_seconds", 0.99), "{{channel}} 99 %"),
        ],
    ),
    Panel(
        "Open challenges without evidence, by time left",
        "Whose link or code will end soon, and nothing says that any message was even accepted?",
        "short",
        [(f"sum by (left) ({CHALLENGES})", "{{left}}")],
        stacked=True,
    ),
    Panel(
        "Notices that expire",
        "Which share of what closes did so because its time was over?",
        "percentunit",
        [(share("standby_notices_closed_total", 'outcome="expired"', "kind"), "{{kind}}")],
    ),
    Panel(
        "Who is there",
        "How many workers and receivers answer, and how old is the last look at the ledger?",
        "short",
        [
            ('sum(up{job="standby-worker"})', "workers"),
            ('sum(up{job="standby-receiver"})', "receivers"),
            ("time() - max(standby_ledger_snapshot_timestamp_seconds)", "seconds since the ledger was read"),
        ],
    ),
    Panel(
        "Requests to the engine that fail",
        "Does Temporal answer workers and receivers?",
        "reqps",
        [("sum by (operation) (rate(temporal_request_failure_total[5m]))", "{{operation}}")],
    ),
)
