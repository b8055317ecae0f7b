"""The three tables of the product's own specification, in its own words."""

from tests.policy.given import EMAIL, PAYOUT, SMS, at, delivered, failed, notice, planned, sent
from tests.policy.rows import ALONE, RESET_OR_EXPIRE, Row, asked, payout
from workflows.policy.plan import Close, Horizon, LookUp, Rule, Send, Wait
from workflows.policy.words import AttemptState, Outcome, Status

FIRST_TABLE = {
    "accepted: stop polling, whatever time remains": Row(
        notice(sent(EMAIL, Status.ACCEPTED), planned(SMS)), 20, Close(Rule.SETTLED, Outcome.ACCEPTED, EMAIL)
    ),
    "accepted: stop polling, whatever time remains (none)": Row(
        notice(sent(EMAIL, Status.ACCEPTED), planned(SMS)), 700, Close(Rule.SETTLED, Outcome.ACCEPTED, EMAIL)
    ),
    "failed or rejected with time left: claim SMS": Row(
        notice(failed(EMAIL), planned(SMS)), 20, Send(Rule.FAILED, SMS, at(600))
    ),
    # The budget is spent once the poll at 105 s has been answered.
    "pending after the budget with time left: the preselected policy (escalate)": Row(
        asked(read_at=105), 106, Send(Rule.UNRESOLVED, SMS, at(600))
    ),
    "pending after the budget with time left: the preselected policy (expire)": Row(
        asked(read_at=105), 106, Close(Rule.UNRESOLVED, Outcome.EXPIRED), RESET_OR_EXPIRE
    ),
    "any open state with no time left: expire (queued)": Row(
        notice(), 600, Close(Rule.EXPIRED, Outcome.EXPIRED)
    ),
    "any open state with no time left: expire (ambiguous)": Row(
        notice(sent(EMAIL, state=AttemptState.AMBIGUOUS), planned(SMS)),
        600,
        Close(Rule.EXPIRED, Outcome.EXPIRED),
    ),
    "any open state with no time left: expire (submitted)": Row(
        asked(read_at=45), 600, Close(Rule.EXPIRED, Outcome.EXPIRED)
    ),
}

SECOND_TABLE = {
    "delivered: close": Row(
        notice(delivered(EMAIL), planned(SMS), policy=PAYOUT),
        20,
        Close(Rule.SETTLED, Outcome.DELIVERED, EMAIL),
        PAYOUT,
    ),
    "pending before the fallback deadline: poll again": Row(
        payout(Status.PENDING), 60, LookUp(Rule.POLL, EMAIL, at(3570)), PAYOUT
    ),
    "pending before the fallback deadline: poll again (in time)": Row(
        payout(Status.PENDING), 59, Wait(Rule.SILENCE, at(60), Horizon.POLL), PAYOUT
    ),
    "temporary failure before it: poll again": Row(
        payout(Status.TEMPORARY_FAILURE, last_read=at(60)),
        300,
        LookUp(Rule.POLL, EMAIL, at(3570)),
        PAYOUT,
    ),
    "invalid recipient: queue eligible SMS": Row(
        notice(failed(EMAIL, Status.INVALID_RECIPIENT), planned(SMS), policy=PAYOUT),
        20,
        Send(Rule.FAILED, SMS, at(3600)),
        PAYOUT,
    ),
    "deadline reached unresolved: queue eligible SMS": Row(
        payout(Status.TEMPORARY_FAILURE, last_read=at(900)),
        901,
        Send(Rule.UNRESOLVED, SMS, at(3600)),
        PAYOUT,
    ),
    "expired: close as expired": Row(
        payout(Status.PENDING), 3600, Close(Rule.EXPIRED, Outcome.EXPIRED), PAYOUT
    ),
    "expired: or as exhausted where no channel is left": Row(
        notice(planned(EMAIL, ruled_out="suppressed"), failed(SMS), policy=PAYOUT),
        3600,
        Close(Rule.EXPIRED, Outcome.EXHAUSTED),
        PAYOUT,
    ),
    # Silence is never counted as failure.
    "expired: as unknown where all was sent and one is still open": Row(
        notice(failed(EMAIL), sent(SMS, Status.PENDING), policy=PAYOUT),
        3600,
        Close(Rule.EXPIRED, Outcome.UNKNOWN),
        PAYOUT,
    ),
}

THIRD_TABLE = {
    "queued permits one email claim": Row(notice(), 0, Send(Rule.FIRST, EMAIL, at(105))),
    "an email provider id permits polling": Row(asked(read_at=15), 45, LookUp(Rule.POLL, EMAIL, at(570))),
    "and no SMS": Row(asked(read_at=45), 104.9, Wait(Rule.SILENCE, at(105), Horizon.DEADLINE)),
    "SMS needs the deadline passed": Row(asked(read_at=105), 105, Send(Rule.UNRESOLVED, SMS, at(600))),
    "or a hard bounce": Row(
        notice(failed(EMAIL, Status.INVALID_RECIPIENT), planned(SMS)), 1, Send(Rule.FAILED, SMS, at(600))
    ),
    "and a fresh suppression result": Row(
        notice(failed(EMAIL), planned(SMS, ruled_out="suppressed: stopped")),
        1,
        Close(Rule.FAILED, Outcome.EXHAUSTED),
    ),
    "and the claim": Row(
        notice(failed(EMAIL), sent(SMS, Status.PENDING)), 1, Wait(Rule.SILENCE, at(570), Horizon.CUTOFF)
    ),
    "delivered permits no more sends": Row(
        notice(delivered(EMAIL), planned(SMS)), 700, Close(Rule.SETTLED, Outcome.DELIVERED, EMAIL)
    ),
    "failed permits review, not blind replay": Row(
        notice(failed(EMAIL), policy=ALONE), 1, Close(Rule.FAILED, Outcome.EXHAUSTED), ALONE
    ),
}
