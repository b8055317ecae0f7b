"""The pages that people see: HTML without script, cookie or picture, which works in any browser and width.

Nothing of a request is repeated in them, so that there is nothing to look up and nothing to inject.
"""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from html import escape
from typing import Final
from urllib.parse import urlsplit

STYLE: Final = """\
:root { color-scheme: light dark; --back: #f3f1ec; --card: #ffffff; --edge: #e3dfd5; --strong: #17211d; \
--plain: #37433e; --quiet: #5f6a65; --accent: #1f5c4d; --on-accent: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --back: #14201c; --card: #1d2b26; --edge: #33463f; --strong: #f1f5f2; \
--plain: #d5deda; --quiet: #a9b8b1; --accent: #8fd3bb; --on-accent: #14201c; }
}
* { box-sizing: border-box; }
body { margin: 0; padding: 2rem 1rem; background: var(--back); color: var(--plain); \
font: 1rem/1.55 -apple-system, BlinkMacSystemFont, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }
main { max-width: 35rem; margin: 0 auto; padding: 2rem 1.5rem; background: var(--card); \
border: 1px solid var(--edge); border-radius: 12px; overflow-wrap: anywhere; }
h1 { margin: 0 0 1rem; color: var(--strong); font-size: 1.5rem; line-height: 1.3; }
p { margin: 0 0 1rem; }
main > :last-child, form > :last-child { margin-bottom: 0; }
label { display: block; margin-bottom: .25rem; color: var(--strong); font-weight: bold; }
input, button { font: inherit; border-radius: 8px; }
input { display: block; width: 100%; max-width: 16rem; min-height: 3rem; padding: .5rem .75rem; \
border: 2px solid var(--quiet); background: var(--card); color: var(--strong); \
font-size: 1.25rem; letter-spacing: .1em; }
button { min-height: 3rem; padding: .625rem 1.625rem; border: 2px solid transparent; \
background: var(--accent); color: var(--on-accent); font-weight: bold; cursor: pointer; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
.quiet { margin: .25rem 0 1rem; color: var(--quiet); font-size: .875rem; }
"""
"""In the colours of the messages that lead here; every pair of text and ground has a contrast of AA."""

_HASH: Final = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()


def headers(return_urls: Iterable[str]) -> Mapping[str, str]:
    """Return what goes with every page: browsers hold a form's redirect to `form-action` as well."""
    origins = sorted({f"{each.scheme}://{each.netloc}" for each in map(urlsplit, return_urls)})
    policy = (
        "default-src 'none'",
        f"style-src 'sha256-{_HASH}'",
        " ".join(("form-action 'self'", *origins)),
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
    return {
        "Cache-Control": "no-store",
        "Content-Security-Policy": "; ".join(policy),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Robots-Tag": "noindex",
    }


def confirming(once: str) -> str:
    """Return the page of a link."""
    words = (
        "Press the button to confirm that our message reached you.",
        "If you did not expect it, close this page: nothing happens until you press.",
    )
    return shell("Confirm that it was you", *paragraphs(words), _form(once, "Confirm"))


def entering(once: str) -> str:
    """Return the page of a code."""
    words = ("Type the code from our message to confirm that it reached you.",)
    return shell("Enter your code", *paragraphs(words), _form(once, "Confirm", _CODE))


def confirmed() -> str:
    """Return the page after success, where there is nowhere to go on to."""
    return shell("Confirmed", *paragraphs(("Thank you. You can close this page.",)))


def failed_link() -> str:
    """Return the one page for every link that did not work."""
    words = (
        "This link was used already, is out of date, or is not complete. Nothing was changed just now.",
        "If you have confirmed before, all is well.",
        "Otherwise use the link of our newest message, or ask for another one where you began.",
    )
    return shell("This link did not work", *paragraphs(words))


def failed_code() -> str:
    """Return the one page for every code that did not work."""
    words = (
        "The code is wrong, was used already, or is out of date. Nothing was changed just now.",
        "Use the code of our newest message.",
        "After several wrong codes none works any more: then ask for another one where you began.",
    )
    return shell("This code did not work", *paragraphs(words), '<p><a href="">Enter a code again</a></p>')


def unanswered(once: str, *, asks_code: bool) -> str:
    """Return the page for a try of which nobody knows what came: the same try again is safe."""
    words = ("We could not finish this in time. Please try again in a moment.",)
    form = _form(once, "Try again", _CODE if asks_code else "")
    return shell("Please try again", *paragraphs(words), form)


_CODE: Final = """\
<label for="code">Code</label>
<input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" spellcheck="false" \
maxlength="40" required aria-describedby="hint">
<p class="quiet" id="hint">6 to 8 digits; spaces do not matter.</p>
"""


def paragraphs(words: Iterable[str]) -> list[str]:
    """Return each text as a paragraph."""
    return [f"<p>{escape(each)}</p>" for each in words]


def _form(once: str, button: str, inputs: str = "") -> str:
    """Return a form that is sent to the address of its page."""
    hidden = f'<input type="hidden" name="once" value="{escape(once)}">'
    press = f"<button>{escape(button)}</button>"
    return f'<form method="post" autocomplete="off">\n{hidden}\n{inputs}{press}\n</form>'


def shell(title: str, *content: str) -> str:
    """Return a whole page; `content` is HTML."""
    inner = "\n".join(content)
    return f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{inner}
</main>
</body>
</html>
"""
