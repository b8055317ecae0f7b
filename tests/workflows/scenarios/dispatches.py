"""What becomes of a dispatch: lost, refused by its provider, held, barred, or not cleared in time."""

from tests.workflows.policies import BRIEF, EMAIL_ONLY, RESET, SMS_ONLY
from tests.workflows.scenario import Scenario
from tests.workflows.scripts import (
    ACCEPTED,
    BLOCKED,
    DELIVERED,
    EMAIL,
    HELD,
    LOST,
    MAY_HAVE_LEFT,
    NOT_SENT,
    SMS,
    SUPPRESSED,
    TOO_LATE,
    YES,
    barred,
    unclaimed,
    unreadable,
)

DISPATCHES = {
    "a_lost_text_is_never_repeated_and_ends_unknown": Scenario(
        RESET,
        end="unknown: cutoff",
        story="0 admit, check email, send email, check sms, send sms; "
        "15 look_up sms; 45 look_up sms; 570 close unknown",
        sends={EMAIL: [BLOCKED], SMS: [LOST]},
        looks={SMS: [None]},
    ),
    "a_lost_text_is_settled_by_later_evidence": Scenario(
        RESET,
        end="delivered on sms: settled",
        story="0 admit, check email, send email, check sms, send sms; "
        "15 look_up sms; 45 look_up sms, close delivered",
        sends={EMAIL: [BLOCKED], SMS: [LOST]},
        looks={SMS: [None, DELIVERED]},
    ),
    "a_lost_email_is_found_by_its_key": Scenario(
        RESET,
        end="accepted on email: settled",
        story="0 admit, check email, send email; 15 look_up email; 45 look_up email, close accepted",
        sends={EMAIL: [LOST]},
        looks={EMAIL: [None, ACCEPTED]},
    ),
    "a_lost_email_that_nobody_can_be_asked_about_is_decided_by_the_deadline": Scenario(
        RESET,
        end="accepted on sms: settled",
        story="0 admit, check email, send email; 105 check sms, send sms, close accepted",
        sends={EMAIL: [unreadable], SMS: [ACCEPTED]},
    ),
    "a_dispatch_without_a_claim_never_left_and_counts_as_not_sent": Scenario(
        RESET,
        end="accepted on sms: settled",
        story="0 admit, check email, send email; 15 look_up email, check sms, send sms, close accepted",
        sends={EMAIL: [LOST], SMS: [ACCEPTED]},
        looks={EMAIL: [unclaimed]},
    ),
    "a_dispatch_is_repeated_under_its_key": Scenario(
        RESET,
        end="accepted on email: settled",
        story="0 admit, check email, send email; 30 send email, close accepted",
        sends={EMAIL: [MAY_HAVE_LEFT, ACCEPTED]},
    ),
    "a_dispatch_that_stays_doubtful_is_watched_from_its_beginning": Scenario(
        RESET,
        end="accepted on sms: settled",
        story="0 admit, check email, send email; 30 send email; 60 send email; "
        "90 send email, reconcile email, look_up email; "
        "105 look_up email, check sms, send sms, look_up email, close accepted",
        sends={EMAIL: [MAY_HAVE_LEFT], SMS: [ACCEPTED]},
    ),
    "a_dispatch_that_the_ledger_has_no_claim_of_was_never_sent": Scenario(
        RESET,
        end="accepted on sms: settled",
        story="0 admit, check email, send email; 30 send email; 60 send email; "
        "90 send email, reconcile email, check sms, send sms, close accepted",
        sends={EMAIL: [MAY_HAVE_LEFT], SMS: [ACCEPTED]},
        unclaimed=frozenset({EMAIL}),
    ),
    "a_text_that_was_never_claimed_expires_and_is_not_unknown": Scenario(
        SMS_ONLY.model_copy(update={"expires_after": BRIEF.expires_after}),
        end="expired: expired",
        story="0 admit, check sms, send sms; 30 send sms; 60 send sms; 90 send sms; 120 send sms; "
        "150 send sms, reconcile sms; 180 close expired",
        sends={SMS: [MAY_HAVE_LEFT]},
        unclaimed=frozenset({SMS}),
    ),
    "a_busy_provider_is_asked_again": Scenario(
        RESET,
        end="accepted on email: settled",
        story="0 admit, check email, send email; 30 send email, close accepted",
        sends={EMAIL: [NOT_SENT, ACCEPTED]},
    ),
    "an_email_that_no_provider_takes_falls_back": Scenario(
        RESET,
        end="accepted on sms: settled",
        story="0 admit, check email, send email; 30 send email; 60 send email; "
        "90 send email, check sms, send sms, close accepted",
        sends={EMAIL: [NOT_SENT], SMS: [ACCEPTED]},
    ),
    "a_text_that_no_provider_takes_leaves_the_email_another_try": Scenario(
        RESET,
        end="accepted on email: settled",
        story="0 admit, check email, send email; 30 send email; 60 send email; "
        "90 send email, check sms, send sms; 120 check email, send email, close accepted",
        sends={EMAIL: [*[NOT_SENT] * 4, ACCEPTED], SMS: [NOT_SENT]},
    ),
    "a_busy_provider_is_not_pressed_at_the_end": Scenario(
        EMAIL_ONLY.model_copy(update={"expires_after": BRIEF.expires_after}),
        end="expired: expired",
        story="0 admit, check email, send email; 30 send email; 60 send email; 90 send email; "
        "120 send email; 150 send email; 180 close expired",
        sends={EMAIL: [NOT_SENT]},
    ),
    "a_held_dispatch_goes_on_when_it_may": Scenario(
        RESET,
        end="accepted on email: settled",
        story="0 admit, check email; 60 check email; 120 check email, send email; "
        "135 look_up email, close accepted",
        answers={EMAIL: [HELD, HELD, YES]},
        looks={EMAIL: [ACCEPTED]},
    ),
    "a_held_dispatch_expires": Scenario(
        BRIEF,
        end="expired: expired",
        story="0 admit, check email; 60 check email; 120 check email; 180 close expired",
        answers={EMAIL: [HELD]},
    ),
    "a_held_fallback_goes_on_when_it_may": Scenario(
        RESET,
        end="accepted on sms: settled",
        story="0 admit, check email, send email; 15 look_up email; 45 look_up email; "
        "105 look_up email, check sms; 165 check sms, send sms, look_up email, close accepted",
        sends={SMS: [ACCEPTED]},
        answers={SMS: [HELD, YES]},
    ),
    "a_dispatch_held_at_the_wire_goes_on_when_it_may": Scenario(
        RESET,
        end="accepted on email: settled",
        story="0 admit, check email, send email; 60 check email, send email, close accepted",
        sends={EMAIL: [barred(HELD), ACCEPTED]},
    ),
    "an_email_suppressed_at_the_wire_falls_back": Scenario(
        RESET,
        end="accepted on sms: settled",
        story="0 admit, check email, send email, check sms, send sms, close accepted",
        sends={EMAIL: [barred(SUPPRESSED)], SMS: [ACCEPTED]},
    ),
    "a_check_that_fails_is_tried_until_it_answers": Scenario(
        BRIEF,
        end="accepted on email: settled",
        story="0 admit; 30 check email, send email, close accepted",
        sends={EMAIL: [ACCEPTED]},
        outages={"check email": 5},
    ),
    "a_check_that_fails_until_expiry_sends_nothing": Scenario(
        BRIEF,
        end="expired: expired",
        story="0 admit; 180 check email, close expired",
        outages={"check email": 10},
    ),
    "expiry_that_passes_before_the_text_is_claimed_sends_no_text": Scenario(
        BRIEF,
        end="expired: expired",
        story="0 admit, check email, send email; 15 look_up email; 45 look_up email; "
        "60 look_up email; 180 check sms, close expired",
        outages={"check sms": 8},
    ),
    "a_check_that_comes_too_late_is_not_asked_again": Scenario(
        BRIEF,
        end="expired: expired",
        story="0 admit, check email; 180 close expired",
        answers={EMAIL: [TOO_LATE]},
    ),
}
