"""The kinds of this folder as a check, for notices that a person wants to start."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from activities.catalogue import Catalogue, CatalogueError
from client.checking import mistakes
from console.exits import Exit, Stop
from workflows.policy.models import NoticeRequest

Check = Callable[[NoticeRequest], tuple[str, ...]]
"""Returns one line for each mistake."""


def check_of(notices: Path, now: datetime, public_url: str | None = None) -> Check:
    """Return the check by the kinds of a folder, which passes everything where there are none.

    Raises Stop for kinds that no worker would start with.
    """
    if not any(notices.glob("*/policy.toml")):
        return lambda _request: ()
    try:
        catalogue = Catalogue.load(notices, public_url)
    except CatalogueError as error:
        raise Stop(Exit.BAD_INPUT, *error.problems, f"{notices}/: nothing was started") from None
    return lambda request: mistakes(request, catalogue, now, public_url)
