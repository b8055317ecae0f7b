"""The terms that scenarios play under."""

from datetime import timedelta

from workflows.policy.terms import Policy, Watch
from workflows.policy.words import Channel, OnFailure, OnUnresolved, SettlesOn

EMAIL, SMS = Channel.EMAIL, Channel.SMS


def _after(*seconds: int) -> Watch:
    return Watch(polls=tuple(timedelta(seconds=each) for each in seconds))


RESET = Policy(
    route=(EMAIL, SMS),
    settles_on=SettlesOn.ACCEPTED,
    on_unresolved=OnUnresolved.ESCALATE,
    expires_after=timedelta(minutes=10),
    email=_after(15, 45, 105),
    sms=_after(15, 45),
)
"""Ten minutes; the last poll, at 105 s, is the fallback deadline."""

PAYOUT = RESET.model_copy(update={"settles_on": SettlesOn.DELIVERED})
PATIENT = RESET.model_copy(update={"on_failure": OnFailure.WAIT})

SMS_FIRST = RESET.model_copy(update={"route": (SMS, EMAIL)})
SMS_ONLY = RESET.model_copy(update={"route": (SMS,)})
EMAIL_ONLY = RESET.model_copy(update={"route": (EMAIL,)})

DIGEST = Policy(
    route=(EMAIL,),
    settles_on=SettlesOn.DELIVERED,
    on_unresolved=OnUnresolved.EXPIRE,
    expires_after=timedelta(hours=2),
    email=_after(60, 600),
)
"""Nobody is texted about it; its fallback deadline only ends the asking."""

BRIEF = RESET.model_copy(update={"expires_after": timedelta(minutes=3)})
"""Its fallback deadline is at 60 s, twice `min_useful` before expiry."""
