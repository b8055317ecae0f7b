"""Where a browser may be sent on to after a verification; every rule errs towards staying.

Strict where browsers are lenient (a backslash, a line break, a user before the host): what two programs read
in two ways would pass here as one place and end in another.
"""

import re
from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, quote, unquote

RESULT: Final = "result"
"""The parameter that tells a return page what a backend may exchange."""

_CHARACTERS = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*")
"""Those of RFC 3986."""
_LINK = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>/[^?#]*)?(?:\?(?P<query>[^#]*))?(?:#.*)?",
    re.IGNORECASE,
)
_USER = re.compile(r"[^/?#]*//[^/?#]*@")
_STEP = re.compile(r"\.\.?(;.*)?")
"""A segment that leads elsewhere; some servers drop what follows a semicolon first."""
_PORTS: Final = {"http": 80, "https": 443}


class _Origin(NamedTuple):
    scheme: str
    host: str
    port: int


class _Place(NamedTuple):
    origin: _Origin
    path: str
    query: str


def objection(url: str) -> str | None:
    """Say why a text is no link to return to, wherever it leads; the line does not repeat it."""
    return next(_objections(url), None)


def allowed(url: str, beginnings: Iterable[str]) -> bool:
    """Whether a link has the origin of one of these, and a path that is theirs or lies below it."""
    place = _place(url)
    if place is None or objection(url) is not None:
        return False
    known = (_place(each) for each in beginnings)
    return any(each.origin == place.origin and _is_below(place.path, each.path) for each in known if each)


def with_result(url: str, result: str) -> str:
    """Return a link with the result added to its query; all that it holds stays as it was written."""
    before, mark, fragment = url.partition("#")
    head, _, query = before.partition("?")
    pairs = "&".join(each for each in (query, f"{RESULT}={quote(result, safe='')}") if each)
    return f"{head}?{pairs}{mark}{fragment}"


def _objections(url: str) -> Iterator[str]:
    if not _CHARACTERS.fullmatch(url):
        yield "must be a link in ASCII without spaces: percent-encode the rest"
    if _USER.match(url):
        yield "must not name a user before the host"
    place = _place(url)
    if place is None:
        yield "must be a whole link: https://host/…"
        return
    if place.origin.scheme != "https" and not _is_loopback(place.origin.host):
        yield "must be https (http is for loopback hosts)"
    if _leads_elsewhere(place.path):
        yield "must not have the steps . or .. in its path"
    if any(name == RESULT for name, _ in parse_qsl(place.query, keep_blank_values=True)):
        yield f"must not have the parameter {RESULT}: it is added"


def _place(url: str) -> _Place | None:
    """Take a link apart, its origin in normal form; None for what is none."""
    link = _LINK.fullmatch(url) if _CHARACTERS.fullmatch(url) else None
    if link is None:
        return None
    scheme = link["scheme"].lower()
    port = int(link["port"] or _PORTS[scheme])
    return _Place(_Origin(scheme, link["host"].lower(), port), link["path"] or "/", link["query"] or "")


def _is_below(path: str, beginning: str) -> bool:
    """Compare whole segments: /welcome is no beginning of /welcome-back."""
    return path == beginning or path.startswith(f"{beginning.removesuffix('/')}/")


def _leads_elsewhere(path: str) -> bool:
    """Whether anybody on the way could read a step in it: encoded slashes are slashes to some servers."""
    return any(_STEP.fullmatch(each) for each in re.split(r"[/\\]", unquote(path)))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
