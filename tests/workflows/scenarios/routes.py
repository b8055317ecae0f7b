"""Which channel may be used at all, and in which order."""

from tests.workflows.policies import EMAIL_ONLY, PAYOUT, RESET, SMS_FIRST, SMS_ONLY
from tests.workflows.scenario import Scenario
from tests.workflows.scripts import ACCEPTED, BOUNCED, DELIVERED, EMAIL, NO_CONSENT, SMS, SUPPRESSED

ROUTES = {
    "no_consent_means_no_text": Scenario(
        RESET,
        end="unknown: cutoff",
        story="0 admit, check email, send email; 15 look_up email; 45 look_up email; "
        "105 look_up email, check sms; 570 close unknown",
        answers={SMS: [NO_CONSENT]},
    ),
    "a_phone_suppressed_between_email_and_fallback_is_not_texted": Scenario(
        PAYOUT,
        end="unknown: cutoff",
        story="0 admit, check email, send email; 15 look_up email; 45 look_up email; "
        "105 look_up email, check sms; 570 close unknown",
        looks={EMAIL: [ACCEPTED]},
        answers={SMS: [SUPPRESSED]},
    ),
    "no_phone_means_no_fallback": Scenario(
        RESET,
        end="exhausted: failed",
        story="0 admit, check email, send email; 15 look_up email, suppress email, close exhausted",
        ruled_out={SMS: "no_address"},
        looks={EMAIL: [BOUNCED]},
    ),
    "no_email_address_begins_with_the_text": Scenario(
        RESET,
        end="accepted on sms: settled",
        story="0 admit, check sms, send sms; 15 look_up sms, close accepted",
        ruled_out={EMAIL: "no_address"},
        looks={SMS: [ACCEPTED]},
    ),
    "a_suppressed_email_is_skipped": Scenario(
        RESET,
        end="accepted on sms: settled",
        story="0 admit, check email, check sms, send sms; 15 look_up sms, close accepted",
        answers={EMAIL: [SUPPRESSED]},
        looks={SMS: [ACCEPTED]},
    ),
    "nobody_may_be_reached_is_exhausted": Scenario(
        RESET,
        end="exhausted: no_channel",
        story="0 admit, check email, check sms, close exhausted",
        answers={EMAIL: [SUPPRESSED], SMS: [NO_CONSENT]},
    ),
    "a_text_can_come_first": Scenario(
        SMS_FIRST,
        end="accepted on email: settled",
        story="0 admit, check sms, send sms; "
        "15 look_up sms, suppress sms, check email, send email; 30 look_up email, close accepted",
        looks={SMS: [BOUNCED], EMAIL: [ACCEPTED]},
    ),
    "a_text_can_be_the_only_channel": Scenario(
        SMS_ONLY,
        end="delivered on sms: settled",
        story="0 admit, check sms, send sms; 15 look_up sms, close delivered",
        looks={SMS: [DELIVERED]},
    ),
    "an_email_can_be_the_only_channel": Scenario(
        EMAIL_ONLY,
        end="exhausted: failed",
        story="0 admit, check email, send email; 15 look_up email, suppress email, close exhausted",
        looks={EMAIL: [BOUNCED]},
    ),
}
