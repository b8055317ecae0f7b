"""What a provider says of an email or a text, and what follows from it."""

from tests.workflows.policies import DIGEST, PATIENT, PAYOUT, RESET
from tests.workflows.scenario import Scenario
from tests.workflows.scripts import (
    ACCEPTED,
    BLOCKED,
    BOUNCED,
    DEFERRED,
    DELIVERED,
    EMAIL,
    GAVE_UP,
    ODD,
    PENDING,
    SMS,
    UNREACHABLE,
)

EVIDENCE = {
    "accepted_stops_the_polling": Scenario(
        RESET,
        end="accepted on email: settled",
        story="0 admit, check email, send email; 15 look_up email, close accepted",
        looks={EMAIL: [ACCEPTED]},
    ),
    "accepted_at_submission_is_never_polled": Scenario(
        RESET,
        end="accepted on email: settled",
        story="0 admit, check email, send email, close accepted",
        sends={EMAIL: [ACCEPTED]},
    ),
    "delivered_settles_where_accepted_does_not": Scenario(
        PAYOUT,
        end="delivered on email: settled",
        story="0 admit, check email, send email; 15 look_up email; 45 look_up email, close delivered",
        looks={EMAIL: [ACCEPTED, DELIVERED]},
    ),
    "greylisting_precedes_a_delivery": Scenario(
        PAYOUT,
        end="delivered on email: settled",
        story="0 admit, check email, send email; "
        "15 look_up email; 45 look_up email; 105 look_up email, close delivered",
        looks={EMAIL: [DEFERRED, DEFERRED, DELIVERED]},
    ),
    "a_hard_bounce_escalates_at_once_and_suppresses": Scenario(
        RESET,
        end="accepted on sms: settled",
        story="0 admit, check email, send email; "
        "15 look_up email, suppress email, check sms, send sms; 30 look_up sms, close accepted",
        looks={EMAIL: [BOUNCED], SMS: [ACCEPTED]},
    ),
    "a_hard_bounce_at_the_deadline_still_suppresses": Scenario(
        RESET,
        end="accepted on sms: settled",
        story="0 admit, check email, send email; 15 look_up email; 45 look_up email; "
        "105 look_up email, suppress email, check sms, send sms; 120 look_up sms, close accepted",
        looks={EMAIL: [PENDING, PENDING, BOUNCED], SMS: [ACCEPTED]},
    ),
    "a_patient_kind_suppresses_at_once_and_escalates_at_the_deadline": Scenario(
        PATIENT,
        end="accepted on sms: settled",
        story="0 admit, check email, send email; 15 look_up email, suppress email; "
        "105 check sms, send sms; 120 look_up sms, close accepted",
        looks={EMAIL: [BOUNCED], SMS: [ACCEPTED]},
    ),
    "a_block_escalates_at_once_and_suppresses_nobody": Scenario(
        RESET,
        end="accepted on sms: settled",
        story="0 admit, check email, send email, check sms, send sms, close accepted",
        sends={EMAIL: [BLOCKED], SMS: [ACCEPTED]},
    ),
    "a_provider_that_gave_up_escalates_and_suppresses_nobody": Scenario(
        RESET,
        end="accepted on sms: settled",
        story="0 admit, check email, send email; "
        "15 look_up email; 45 look_up email, check sms, send sms; 60 look_up sms, close accepted",
        looks={EMAIL: [DEFERRED, GAVE_UP], SMS: [ACCEPTED]},
    ),
    "silence_escalates_at_the_deadline": Scenario(
        RESET,
        end="accepted on sms: settled",
        story="0 admit, check email, send email; 15 look_up email; 45 look_up email; "
        "105 look_up email, check sms, send sms, look_up email, close accepted",
        sends={SMS: [ACCEPTED]},
    ),
    "silence_on_both_channels_is_unknown_and_no_failure": Scenario(
        RESET,
        end="unknown: cutoff",
        story="0 admit, check email, send email; 15 look_up email; 45 look_up email; "
        "105 look_up email, check sms, send sms; 120 look_up sms; 150 look_up sms, look_up email; "
        "570 close unknown",
    ),
    "what_only_the_ledger_knows_of_the_email_sends_no_text": Scenario(
        RESET,
        end="delivered on email: settled",
        story="0 admit, check email, send email; 15 look_up email; 45 look_up email; "
        "105 look_up email, check sms, close delivered",
        news={EMAIL: DELIVERED},
    ),
    "what_only_the_ledger_knows_and_decides_nothing_sends_the_text": Scenario(
        RESET,
        end="accepted on sms: settled",
        story="0 admit, check email, send email; 15 look_up email; 45 look_up email; "
        "105 look_up email, check sms, send sms, look_up email, close accepted",
        sends={SMS: [ACCEPTED]},
        news={EMAIL: DEFERRED},
    ),
    "a_word_that_nobody_knows_is_silence": Scenario(
        RESET,
        end="accepted on sms: settled",
        story="0 admit, check email, send email; 15 look_up email; 45 look_up email; "
        "105 look_up email, check sms, send sms; 120 look_up sms, look_up email, close accepted",
        looks={EMAIL: [ODD], SMS: [ACCEPTED]},
    ),
    "reads_that_fail_are_silence": Scenario(
        RESET,
        end="accepted on sms: settled",
        story="0 admit, check email, send email; 15 look_up email x3; 45 look_up email x3; "
        "105 look_up email x3, check sms, send sms; 120 look_up sms, look_up email x3, close accepted",
        looks={EMAIL: [UNREACHABLE], SMS: [ACCEPTED]},
    ),
    "both_channels_fail_is_exhausted": Scenario(
        RESET,
        end="exhausted: failed",
        story="0 admit, check email, send email, check sms, send sms, close exhausted",
        sends={EMAIL: [BLOCKED], SMS: [BLOCKED]},
    ),
    "an_email_delivered_after_the_text_is_on_record": Scenario(
        RESET,
        end="delivered on email: settled",
        story="0 admit, check email, send email; 15 look_up email; 45 look_up email; "
        "105 look_up email, check sms, send sms; 120 look_up sms, look_up email, close delivered",
        looks={EMAIL: [PENDING, PENDING, PENDING, DELIVERED], SMS: [ACCEPTED]},
    ),
    "a_digest_is_delivered": Scenario(
        DIGEST,
        end="delivered on email: settled",
        story="0 admit, check email, send email; 60 look_up email; 600 look_up email, close delivered",
        looks={EMAIL: [PENDING, DELIVERED]},
    ),
    "a_silent_digest_expires_and_texts_nobody": Scenario(
        DIGEST,
        end="expired: unresolved",
        story="0 admit, check email, send email; 60 look_up email; 600 look_up email, close expired",
    ),
}
