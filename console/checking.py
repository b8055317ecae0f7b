"""What a worker would refuse a notice for, found before it is started: where the kinds are at hand."""

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from activities.admission import NO_ADDRESS
from activities.catalogue import Catalogue, CatalogueError, Kind, UnknownKind
from activities.fields import FieldError
from console.exits import Exit, Stop
from workflows.policy.lifetime import LifetimeError, expiry
from workflows.policy.models import NoticeRequest

Check = Callable[[NoticeRequest], tuple[str, ...]]
"""Returns one line for each mistake."""


def check_of(notices: Path, now: datetime) -> Check:
    """Return the check by the kinds of a folder, which passes everything where there are none.

    `now` (UTC) is this host's clock, which only decides what is refused early: the engine's decides what is
    sent. Raises Stop for kinds that no worker would start with.
    """
    if not any(notices.glob("*/policy.toml")):
        return lambda _request: ()
    try:
        catalogue = Catalogue.load(notices)
    except CatalogueError as error:
        raise Stop(Exit.BAD_INPUT, *error.problems, f"{notices}/: nothing was started") from None
    return lambda request: _mistakes(request, catalogue, now)


def _mistakes(request: NoticeRequest, catalogue: Catalogue, now: datetime) -> tuple[str, ...]:
    try:
        kind = catalogue.get(request.kind)
    except UnknownKind as error:
        return (str(error),)
    return tuple(_of(request, kind, now))


def _of(request: NoticeRequest, kind: Kind, now: datetime) -> Iterator[str]:
    reachable = [each for each in kind.policy.route if request.recipient.address(each) is not None]
    if not reachable:
        yield NO_ADDRESS
    try:
        # One that has passed is let through: a file must be resumable after some of its notices expired.
        expiry(request, kind.policy, now)
    except LifetimeError as error:
        yield str(error)
    try:
        kind.prove(request.fields, reachable)
    except FieldError as error:
        yield str(error)
