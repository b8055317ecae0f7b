"""The inbox: accepted messages for people (`/`) and for programs (`/inbox.json`, `/submissions.json`)."""

import re
from html import escape
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from sandbox import shapes
from sandbox.mailroom import Mailroom, Message, Submission

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src https: data:; form-action 'self'"
"""Nothing on the page runs; an email's own markup is kept in a frame without scripts as well."""

_LINK = re.compile(r"https?://[^\s<>]+")

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Sandbox inbox</title><style>
:root {{ color-scheme: light dark; --line: light-dark(#dde1e7, #363b44); --soft: light-dark(#5d6673, #9aa3b0);
  --card: light-dark(#fff, #1c2027); }}
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 0 auto; padding: 2rem 1rem;
  background: light-dark(#f4f6f8, #14171c); }}
header {{ display: flex; gap: 1rem; align-items: baseline; }} h1 {{ font-size: 1.4rem; margin: 0; flex: 1; }}
p, dl, small {{ color: var(--soft); }}
article {{ background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1rem 1.2rem;
  margin: 1rem 0; }}
h2 {{ font-size: 1rem; margin: .4rem 0; overflow-wrap: anywhere; }}
.tag {{ font-size: .8rem; border-radius: 99px; padding: .1rem .6rem; border: 1px solid var(--line); }}
.email {{ background: #2563eb; color: #fff; }} .sms {{ background: #0d8050; color: #fff; }}
dl {{ display: grid; grid-template-columns: auto 1fr; gap: 0 .8rem; margin: .4rem 0; font-size: .85rem; }}
dd {{ margin: 0; overflow-wrap: anywhere; font-family: ui-monospace, monospace; }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; margin: .6rem 0; }}
iframe {{ width: 100%; height: 20rem; border: 1px solid var(--line); border-radius: 6px; background: #fff; }}
</style></head><body>
<header><h1>Sandbox inbox</h1><a href="/">refresh</a>
<form method="post" action="/clear"><button>clear</button></form></header>
<p>{count} accepted, newest first. Nothing here left this machine.</p>
{cards}
</body></html>
"""

_CARD = """<article>
<span class="tag {channel}">{channel}</span>
<span class="tag">fate: {fate}</span> <span class="tag">now: {status}</span>
<h2>{title}</h2>
<dl><dt>to</dt><dd>{to}</dd><dt>key</dt><dd>{key}</dd><dt>at</dt><dd>{at}</dd></dl>
{body}
</article>"""

_FRAME = (
    '<iframe title="email as HTML" sandbox="allow-popups allow-popups-to-escape-sandbox" srcdoc="{html}">'
    "</iframe><details><summary>plain text</summary>{text}</details>"
)


class Inbox:
    """Shows the mailroom."""

    def __init__(self, room: Mailroom) -> None:
        self._room = room

    def routes(self) -> list[Route]:
        """Return the pages."""
        return [
            Route("/", self.page),
            Route("/clear", self.clear, methods=["POST"]),
            Route("/inbox.json", self.accepted, methods=["GET"]),
            Route("/inbox.json", self.forget, methods=["POST", "DELETE"]),
            Route("/submissions.json", self.submitted),
        ]

    async def page(self, _request: Request) -> Response:
        """Show every accepted message, newest first."""
        cards = [_card(message, self._room.step(message).word) for message in reversed(self._room.messages())]
        page = _PAGE.format(count=len(cards), cards="\n".join(cards))
        return HTMLResponse(page, headers={"Content-Security-Policy": POLICY, "Cache-Control": "no-store"})

    async def accepted(self, _request: Request) -> Response:
        """List every accepted message, oldest first."""
        return JSONResponse([shapes.row(message) for message in self._room.messages()])

    async def submitted(self, _request: Request) -> Response:
        """List every submission, refused ones too, and count them by key."""
        submissions = self._room.submissions()
        rows = [_submission(submission) for submission in submissions]
        return JSONResponse({"submissions": rows, "by_key": self._room.submitted_by_key()})

    async def forget(self, _request: Request) -> Response:
        """Forget messages and submissions."""
        self._room.clear()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def clear(self, _request: Request) -> Response:
        """Forget everything and show the empty page."""
        self._room.clear()
        return RedirectResponse("/", HTTPStatus.SEE_OTHER)


def _submission(submission: Submission) -> shapes.Json:
    draft = submission.draft
    return {
        "key": draft.key,
        "channel": draft.channel,
        "to": draft.to,
        "at": submission.at.isoformat(),
        "answer": submission.answer,
    }


def _card(message: Message, status: str) -> str:
    draft = message.draft
    return _CARD.format(
        channel=escape(draft.channel),
        fate=escape(message.fate),
        status=escape(status),
        title=escape(draft.subject or "Text message"),
        to=escape(draft.to),
        key=escape(draft.key),
        at=escape(message.at.isoformat(timespec="seconds")),
        body=_body(draft.text, draft.html),
    )


def _body(text: str, html: str | None) -> str:
    plain = f"<pre>{_linked(text)}</pre>"
    if html is None:
        return plain
    return _FRAME.format(html=escape(f'<base target="_blank">{html}'), text=plain)


def _linked(text: str) -> str:
    """Escape a text, and make its links clickable."""
    return _LINK.sub(lambda found: f'<a href="{found[0]}" rel="noreferrer">{found[0]}</a>', escape(text))
