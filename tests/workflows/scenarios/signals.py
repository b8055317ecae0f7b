"""What comes from outside while the notice is at work: callbacks, a withdrawal, a refusal."""

from tests.workflows.policies import PAYOUT, RESET
from tests.workflows.scenario import Scenario, calls_back, changes_its_mind
from tests.workflows.scripts import ACCEPTED, BLOCKED, BOUNCED, DELIVERED, EMAIL, PENDING, SMS
from workflows.policy.words import AttemptState, Outcome

SIGNALS = {
    "a_callback_may_come_before_the_receipt": Scenario(
        PAYOUT,
        end="delivered on email: settled",
        story="0 admit, check email, send email, record delivered, close delivered",
        meanwhile={"send email": calls_back(DELIVERED)},
    ),
    "a_callback_during_the_admission_is_kept": Scenario(
        PAYOUT,
        end="delivered on email: settled",
        story="0 admit, record delivered, close delivered",
        # After an operator's reset: the engine gives the new run the reports that the old one had.
        meanwhile={"admit": calls_back(DELIVERED)},
    ),
    "a_bounce_may_come_before_the_receipt": Scenario(
        PAYOUT,
        end="delivered on sms: settled",
        story="0 admit, check email, send email, record invalid_recipient, suppress email, check sms, "
        "send sms; 15 look_up sms, close delivered",
        meanwhile={"send email": calls_back(BOUNCED)},
        looks={SMS: [DELIVERED]},
    ),
    "the_same_callback_twice_is_recorded_once": Scenario(
        PAYOUT,
        end="delivered on email: settled",
        story="0 admit, check email, send email; 15 look_up email, record delivered, close delivered",
        meanwhile={"look_up email": calls_back(DELIVERED, DELIVERED, event_id="one")},
    ),
    "a_bounce_after_the_delivery_suppresses_and_changes_no_outcome": Scenario(
        PAYOUT,
        end="delivered on email: settled",
        story="0 admit, check email, send email; "
        "15 look_up email, record delivered, record invalid_recipient, suppress email, close delivered",
        meanwhile={"look_up email": calls_back(DELIVERED, BOUNCED)},
    ),
    "reports_that_race_are_told_apart_by_the_ledger_and_a_delivery_is_not_lost": Scenario(
        PAYOUT,
        end="delivered on email: settled",
        story="0 admit, check email, send email; 15 look_up email, record rejected, close delivered",
        looks={EMAIL: [DELIVERED]},
        meanwhile={"look_up email": calls_back(BLOCKED)},
        filed=AttemptState.CONFIRMED,
    ),
    "after_a_reset_the_outcome_that_was_written_first_holds": Scenario(
        RESET,
        end="unknown: settled",
        story="0 admit, check email, send email, close accepted",
        sends={EMAIL: [ACCEPTED]},
        stands=Outcome.UNKNOWN,
    ),
    "a_word_that_is_not_final_changes_nothing_after_a_final_one": Scenario(
        PAYOUT,
        end="delivered on sms: settled",
        story="0 admit, check email, send email, record rejected, record pending, check sms, send sms; "
        "15 look_up sms, close delivered",
        meanwhile={"send email": calls_back(BLOCKED, PENDING)},
        looks={SMS: [DELIVERED]},
    ),
    "a_callback_during_the_check_saves_a_text": Scenario(
        PAYOUT,
        end="delivered on email: settled",
        story="0 admit, check email, send email; 15 look_up email; 45 look_up email; "
        "105 look_up email, check sms, record delivered, close delivered",
        meanwhile={"check sms": calls_back(DELIVERED)},
    ),
    "a_bounce_that_comes_during_the_closing_still_suppresses": Scenario(
        PAYOUT,
        end="delivered on email: settled",
        story="0 admit, check email, send email, close delivered, record invalid_recipient, suppress email",
        sends={EMAIL: [DELIVERED]},
        meanwhile={"close delivered": calls_back(BOUNCED)},
    ),
    "reports_that_come_while_the_last_one_is_filed_are_filed_too": Scenario(
        PAYOUT,
        end="delivered on email: settled",
        story="0 admit, check email, send email, close delivered, "
        "record pending, record accepted, record invalid_recipient, suppress email",
        sends={EMAIL: [DELIVERED]},
        meanwhile={
            "close delivered": calls_back(PENDING, event_id="first"),
            "record pending": calls_back(ACCEPTED, BOUNCED),
        },
    ),
    "withdrawn_during_the_check_sends_nothing": Scenario(
        RESET,
        end="withdrawn: withdrawn",
        story="0 admit, check email, close withdrawn",
        meanwhile={"check email": changes_its_mind},
    ),
    "withdrawn_during_the_admission_checks_nothing": Scenario(
        RESET,
        end="withdrawn: withdrawn",
        story="0 admit, close withdrawn",
        meanwhile={"admit": changes_its_mind},
    ),
    "withdrawn_after_the_email_sends_no_text": Scenario(
        RESET,
        end="withdrawn: withdrawn",
        story="0 admit, check email, send email; 15 look_up email, close withdrawn",
        meanwhile={"look_up email": changes_its_mind},
    ),
    "refused_does_nothing_more": Scenario(
        RESET,
        end="refused: admission",
        story="0 admit",
        refusal="kind: there is no such kind",
    ),
}
