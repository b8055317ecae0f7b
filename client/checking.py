"""What a worker would refuse a notice for, found before it is started: where the kinds are at hand."""

from collections.abc import Iterator
from datetime import datetime

from activities.admission import NO_ADDRESS
from activities.catalogue import Catalogue, Kind, UnknownKind
from activities.fields import FieldError
from activities.kind import ONLY_BY_VERIFICATION
from activities.supplying import StandIns
from workflows.policy.lifetime import LifetimeError, expiry
from workflows.policy.models import NoticeRequest


def mistakes(
    request: NoticeRequest, catalogue: Catalogue, now: datetime, public_url: str | None = None
) -> tuple[str, ...]:
    """Return one line for each mistake, by the kinds of a folder.

    `now` (UTC) is this host's clock, which only decides what is refused early: the engine's decides what is
    sent. With a public URL the deployment supplies the links that begin with it.
    """
    try:
        kind = catalogue.get(request.kind)
    except UnknownKind as error:
        return (str(error),)
    if kind.policy.challenge is not None:
        return (ONLY_BY_VERIFICATION,)
    return tuple(_of(request, kind, now, StandIns(public_url)))


def _of(request: NoticeRequest, kind: Kind, now: datetime, stand_ins: StandIns) -> Iterator[str]:
    reachable = [each for each in kind.policy.route if request.recipient.address(each) is not None]
    if not reachable:
        yield NO_ADDRESS
    try:
        # One that has passed is let through: a file must be resumable after some of its notices expired.
        expiry(request, kind.policy, now)
    except LifetimeError as error:
        yield str(error)
    try:
        kind.prove(request.fields, reachable, stand_ins)
    except FieldError as error:
        yield str(error)
