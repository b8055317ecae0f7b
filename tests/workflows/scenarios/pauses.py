"""A notice that is late, as the ledger was away: it reads once what it missed, and sends nothing too late.

A report that comes with the receipt cannot be filed for a while, and nothing is decided before it is. The
engine retries after 1, 2, 4, 8 and 16 s, then every 30 s: six failures last 61 s, ten last 181 s.
"""

from tests.workflows.policies import BRIEF, RESET
from tests.workflows.scenario import Scenario, calls_back
from tests.workflows.scripts import ACCEPTED, BOUNCED, EMAIL, PENDING, SMS, Views
from workflows.policy.terms import Policy


def _late(policy: Policy, failures: int, *, end: str, then: str, looks: Views | None = None) -> Scenario:
    """Return a notice that is held up after its email for as long as this many failures take."""
    return Scenario(
        policy,
        end=end,
        story=f"0 admit, check email, send email; {then}",
        looks=looks or {},
        meanwhile={"send email": calls_back(PENDING)},
        outages={"record pending": failures},
    )


PAUSES = {
    "two_missed_polls_are_one_read_at_once_and_the_next_keeps_its_time": _late(
        RESET,
        6,
        end="accepted on email: settled",
        then="60 record pending, look_up email; 105 look_up email, close accepted",
        looks={EMAIL: [PENDING, ACCEPTED]},
    ),
    "past_the_fallback_deadline_the_email_is_read_once_more_before_the_text": _late(
        BRIEF,
        6,
        end="accepted on sms: settled",
        then="60 record pending, look_up email, check sms, send sms; "
        "75 look_up sms, look_up email, close accepted",
        looks={SMS: [ACCEPTED]},
    ),
    "past_the_fallback_deadline_an_accepted_email_still_saves_the_text": _late(
        BRIEF,
        6,
        end="accepted on email: settled",
        then="60 record pending, look_up email, close accepted",
        looks={EMAIL: [ACCEPTED]},
    ),
    "a_hard_bounce_with_less_than_min_useful_left_sends_no_text": _late(
        BRIEF,
        8,
        end="expired: expired",
        then="120 record pending, look_up email, suppress email, close expired",
        looks={EMAIL: [BOUNCED]},
    ),
    "past_the_cutoff_nobody_is_asked_and_nobody_is_texted": _late(
        BRIEF,
        9,
        end="expired: cutoff",
        then="150 record pending, close expired",
    ),
    "past_both_deadlines_nothing_is_sent": _late(
        BRIEF,
        10,
        end="expired: expired",
        then="180 record pending, close expired",
    ),
}
