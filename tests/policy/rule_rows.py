"""What the product's tables leave open: a row or more for every rule."""

from tests.policy.given import DIGEST, EMAIL, PAYOUT, SMS, at, delivered, failed, notice, planned, sent
from tests.policy.rows import PATIENT, PAYOUT_OR_EXPIRE, Row, asked
from workflows.policy.plan import Close, Horizon, LookUp, Rule, Send, Wait
from workflows.policy.words import AttemptState, Outcome, Status

RULES = {
    # A text was accepted while the email was undecided: it is read once, then the notice closes.
    "closing read of the email that a text overtook": Row(
        notice(sent(EMAIL, Status.PENDING), sent(SMS, Status.ACCEPTED)),
        200,
        LookUp(Rule.CLOSING_READ, EMAIL, at(570)),
    ),
    "closing read is done once": Row(
        notice(sent(EMAIL, Status.PENDING, closing_read=True), sent(SMS, Status.ACCEPTED)),
        201,
        Close(Rule.SETTLED, Outcome.ACCEPTED, SMS),
    ),
    "no closing read after the cutoff": Row(
        notice(sent(EMAIL, Status.PENDING), sent(SMS, Status.ACCEPTED)),
        570,
        Close(Rule.SETTLED, Outcome.ACCEPTED, SMS),
    ),
    "a late delivery of the email is what settles": Row(
        notice(delivered(EMAIL), sent(SMS, Status.ACCEPTED)),
        201,
        Close(Rule.SETTLED, Outcome.DELIVERED, EMAIL),
    ),
    "withdrawn: nothing more is done": Row(
        notice(failed(EMAIL), planned(SMS), withdrawn=True), 1, Close(Rule.WITHDRAWN, Outcome.WITHDRAWN)
    ),
    "withdrawn after the evidence came: settled": Row(
        notice(sent(EMAIL, Status.ACCEPTED), planned(SMS), withdrawn=True),
        1,
        Close(Rule.SETTLED, Outcome.ACCEPTED, EMAIL),
    ),
    "withdrawn after expiry: expired": Row(notice(withdrawn=True), 600, Close(Rule.EXPIRED, Outcome.EXPIRED)),
    "the first channel cannot be used: the next": Row(
        notice(planned(EMAIL, ruled_out="no_address"), planned(SMS)), 0, Send(Rule.NEXT, SMS, at(600))
    ),
    "no channel can be used": Row(
        notice(planned(EMAIL, ruled_out="no_address"), planned(SMS, ruled_out="no_consent")),
        0,
        Close(Rule.NO_CHANNEL, Outcome.EXHAUSTED),
    ),
    "the next comes too late to be useful": Row(
        notice(planned(EMAIL, ruled_out="no_address"), planned(SMS)),
        541,
        Close(Rule.EXPIRED, Outcome.EXPIRED),
    ),
    "held until the control is asked again": Row(
        notice(planned(EMAIL, not_before=at(30)), planned(SMS)),
        1,
        Wait(Rule.HELD, at(30), Horizon.CONTROL),
    ),
    "held no longer than it is useful": Row(
        notice(planned(EMAIL, not_before=at(9999)), planned(SMS)),
        1,
        Wait(Rule.HELD, at(600), Horizon.CONTROL),
    ),
    "not sent by its deadline: the next": Row(
        notice(planned(EMAIL, not_sent=True, dispatched_at=at(0)), planned(SMS)),
        105,
        Send(Rule.NOT_SENT, SMS, at(600)),
    ),
    "neither could be sent: the first once more, until expiry": Row(
        notice(planned(EMAIL, not_sent=True, dispatched_at=at(0)), planned(SMS, ruled_out="no_consent")),
        105,
        Send(Rule.NOT_SENT, EMAIL, at(600)),
    ),
    "no provider takes anything: the first once more, until expiry": Row(
        notice(planned(EMAIL, not_sent=True, dispatched_at=at(0)), planned(SMS, not_sent=True)),
        60,
        Send(Rule.NOT_SENT, EMAIL, at(600)),
    ),
    "the text is held: the email once more meanwhile": Row(
        notice(planned(EMAIL, not_sent=True, dispatched_at=at(0)), planned(SMS, not_before=at(160))),
        130,
        Send(Rule.NOT_SENT, EMAIL, at(160)),
    ),
    # 55 s to live, and a text is useful for a minute: the email's polls go on to the cutoff.
    "too short a life for a text: the email is watched to the cutoff": Row(
        notice(sent(EMAIL, Status.PENDING, last_read=at(0)), planned(SMS), expires_at=at(55)),
        15,
        LookUp(Rule.POLL, EMAIL, at(25)),
    ),
    "too short a life for a text: silence ends it at the cutoff": Row(
        notice(sent(EMAIL, Status.PENDING, last_read=at(15)), planned(SMS), expires_at=at(55)),
        25,
        Close(Rule.CUTOFF, Outcome.EXPIRED),
    ),
    "too late for a text: the email once more, until expiry": Row(
        notice(planned(EMAIL, not_sent=True, dispatched_at=at(0)), planned(SMS)),
        541,
        Send(Rule.NOT_SENT, EMAIL, at(600)),
    ),
    "the deadline has come: asked once more": Row(
        asked(read_at=45), 105, LookUp(Rule.DEADLINE_READ, EMAIL, at(570))
    ),
    "a late worker asks once, whatever it missed": Row(
        asked(read_at=0), 300, LookUp(Rule.DEADLINE_READ, EMAIL, at(570))
    ),
    "nobody can be asked: the deadline decides": Row(
        notice(sent(EMAIL, state=AttemptState.AMBIGUOUS, readable=False), planned(SMS)),
        105,
        Send(Rule.UNRESOLVED, SMS, at(600)),
    ),
    "the provider has said its last word: no more reads": Row(
        notice(sent(EMAIL, Status.ACCEPTED, is_final=True), planned(SMS), policy=PAYOUT),
        60,
        Wait(Rule.SILENCE, at(900), Horizon.DEADLINE),
        PAYOUT,
    ),
    "ambiguous: reconciled by the same polls": Row(
        notice(sent(EMAIL, state=AttemptState.AMBIGUOUS), planned(SMS)),
        15,
        LookUp(Rule.POLL, EMAIL, at(570)),
    ),
    "a patient kind waits for the deadline even after a failure": Row(
        notice(failed(EMAIL), planned(SMS)), 20, Wait(Rule.SILENCE, at(105), Horizon.DEADLINE), PATIENT
    ),
    "and moves on then": Row(
        notice(failed(EMAIL), planned(SMS)), 105, Send(Rule.FAILED, SMS, at(600)), PATIENT
    ),
    "hard bounce near the deadline: too late for a text": Row(
        notice(failed(EMAIL), planned(SMS)), 541, Close(Rule.EXPIRED, Outcome.EXPIRED)
    ),
    "the last moment at which a text is useful": Row(
        notice(failed(EMAIL), planned(SMS)), 540, Send(Rule.FAILED, SMS, at(600))
    ),
    "cutoff: all was sent, and nobody can say": Row(
        notice(failed(EMAIL), sent(SMS, Status.PENDING)), 570, Close(Rule.CUTOFF, Outcome.UNKNOWN)
    ),
    "cutoff: silence where silence expires": Row(
        notice(sent(EMAIL, Status.PENDING), policy=DIGEST),
        3570,
        Close(Rule.UNRESOLVED, Outcome.EXPIRED),
        DIGEST,
    ),
    "expiry: silence where silence expires": Row(
        notice(sent(EMAIL, Status.PENDING), policy=DIGEST), 3600, Close(Rule.EXPIRED, Outcome.EXPIRED), DIGEST
    ),
    # The fallback deadline is about the first channel alone.
    "silence expires: but a text that a failure brought about has until the cutoff": Row(
        notice(failed(EMAIL), sent(SMS, Status.PENDING, last_read=at(300)), policy=PAYOUT),
        1000,
        Wait(Rule.SILENCE, at(3570), Horizon.CUTOFF),
        PAYOUT_OR_EXPIRE,
    ),
    "a text has failed, and the email is still open: read once more": Row(
        notice(sent(EMAIL, Status.PENDING), failed(SMS)), 200, LookUp(Rule.CLOSING_READ, EMAIL, at(570))
    ),
    "a text has failed, and the email stays open: its evidence is awaited": Row(
        notice(sent(EMAIL, Status.PENDING, closing_read=True), failed(SMS)),
        201,
        Wait(Rule.SILENCE, at(570), Horizon.CUTOFF),
    ),
    "a text is polled on its own clock": Row(
        notice(sent(EMAIL, Status.PENDING), sent(SMS, Status.PENDING, since=at(900)), policy=PAYOUT),
        960,
        LookUp(Rule.POLL, SMS, at(3570)),
        PAYOUT,
    ),
    "worker paused across both deadlines: nothing is sent late": Row(
        asked(read_at=0), 10_000, Close(Rule.EXPIRED, Outcome.EXPIRED)
    ),
}
