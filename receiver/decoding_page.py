"""`/codec`: where a person shows the codec key once, so that the Temporal UI may have payloads decoded."""

from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from activities.logs import event
from receiver import page
from receiver.bodies import body
from receiver.decoding_session import COOKIE, LASTING, PATH, PAUSE, Door, Session, Shown
from receiver.problems import Problem

_FORM: Final = "application/x-www-form-urlencoded"
_LARGEST: Final = 4096
"""Bytes of a form."""
_MOST: Final = 8
"""Fields of a form."""

_OWN: Final = frozenset({"", "none", "same-origin"})
"""What browsers say of a form on our own page; over plain HTTP they say nothing."""

_ASKED: Final = """\
<form method="post">
<label for="key">Codec key</label>
<input id="key" name="key" type="password" autocomplete="current-password" spellcheck="false" \
maxlength="1000" required aria-describedby="hint">
<p class="quiet" id="hint">STANDBY_CODEC_KEY of this deployment; \
of standby dev, what .standby/codec_key holds.</p>
<button>Sign in</button>
</form>"""
_STEPS: Final = """\
<li>Open the codec server settings: the glasses in the top bar.</li>
<li>Choose “Use my browser setting”.</li>
<li>Give {endpoint} as the endpoint.</li>
<li>Switch on “Include cross-origin credentials”, and apply.</li>"""
"""Where the UI of the whole deployment does not send cookies, as that of a development server."""

_LEAVING: Final = """\
<form method="post">
<input type="hidden" name="leave" value="1">
<button>Sign out</button>
</form>"""


def routes(door: Door) -> list[Route]:
    """Return the routes of the page."""
    desk = Desk(door)
    return [
        Route(PATH, desk.show, methods=["GET"]),
        Route(PATH, desk.take, methods=["POST"]),
    ]


@dataclass(frozen=True, slots=True)
class Desk:
    """Where people sign in and out."""

    door: Door

    async def show(self, request: Request) -> Response:
        """Show the form, or who is in until when."""
        self._demand_people()
        session = self.door.session(request.cookies)
        return _shown(_asking() if session is None else self._inside(session))

    async def take(self, request: Request) -> Response:
        """Take the key, or the wish to leave."""
        self._demand_people()
        if request.headers.get("sec-fetch-site", "") not in _OWN:
            raise Problem(HTTPStatus.FORBIDDEN, "this form is sent from its own page")
        form = await _form(request)
        if "leave" in form:
            left = self._again()
            left.delete_cookie(COOKIE, **self.door.attributes())
            return left
        match self.door.show(form.get("key", "").strip()):
            case Shown.RIGHT:
                return self._entered()
            case Shown.WRONG:
                return _shown(_wrong(), HTTPStatus.FORBIDDEN)
            case Shown.UNREAD:
                return _shown(_later(), HTTPStatus.TOO_MANY_REQUESTS, str(round(PAUSE.total_seconds())))

    def _demand_people(self) -> None:
        """Raise Problem where there is no UI to sign in for."""
        self.door.demand_there()
        if self.door.ui is None:
            raise Problem(HTTPStatus.NOT_FOUND, "there is nothing at this address")

    def _entered(self) -> Response:
        session = self.door.begin()
        event("codec session begun", session=session.name)
        entered = self._again()
        lasting = round(LASTING.total_seconds())
        entered.set_cookie(COOKIE, self.door.cookie(session), lasting, **self.door.attributes())
        return entered

    def _again(self) -> Response:
        """Send on to the page itself, which a browser may then load as often as it likes."""
        return RedirectResponse(PATH, HTTPStatus.SEE_OTHER, headers=page.headers(()))

    def _inside(self, session: Session) -> str:
        words = (
            f"Until {session.ends_at:%H:%M} UTC the Temporal UI shows this browser what is sealed.",
            "What you read is put on record.",
        )
        where = f'<p><a href="{escape(self.door.ui or "")}">Go to the Temporal UI</a></p>'
        still = page.paragraphs(("Does it show no more than before? Then, in the UI:",))
        steps = f"<ol>\n{_STEPS.format(endpoint=escape(self.door.address))}\n</ol>"
        content = (*page.paragraphs(words), where, *still, steps, _LEAVING)
        return page.shell("You are signed in", *content)


def _asking() -> str:
    words = (
        "What notices hold is sealed in the engine's history.",
        "Show the codec key once, and for 12 hours the Temporal UI opens it for this browser.",
        "What you read is put on record.",
    )
    return page.shell("Sign in to read what is sealed", *page.paragraphs(words), _ASKED)


def _wrong() -> str:
    words = ("It is not the codec key of this deployment.",)
    return page.shell("This key did not work", *page.paragraphs(words), _ASKED)


def _later() -> str:
    words = ("Too many keys were wrong just now, so that yours was not looked at.", "Try again in a minute.")
    return page.shell("Please wait", *page.paragraphs(words), _ASKED)


def _shown(html: str, status: HTTPStatus = HTTPStatus.OK, again_in: str | None = None) -> Response:
    headers = {} if again_in is None else {"Retry-After": again_in}
    return HTMLResponse(html, status, {**page.headers(()), **headers})


async def _form(request: Request) -> dict[str, str]:
    """Read a form, the first of fields that repeat; raises Problem for anything else."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != _FORM:
        raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"this address takes {_FORM}")
    sent = (await body(request, _LARGEST)).decode(errors="replace")
    try:
        fields = parse_qs(sent, keep_blank_values=True, max_num_fields=_MOST)
    except ValueError:
        raise Problem(HTTPStatus.BAD_REQUEST, f"a form has at most {_MOST} fields") from None
    return {name: values[0] for name, values in fields.items()}
