"""What every route takes and gives, as the OpenAPI document tells it; a test holds the routes to it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

PAGE: Final = "a page"
"""Given instead of JSON: what went wrong as well, but for what is refused before there is a page."""

NOTHING: Final = "nothing"

ONCE: Final = "Idempotency-Key"
"""Names a try or a wish for another message: the same again gets the same answer, and no second effect."""

REFUSALS: Mapping[int, str] = MappingProxyType(
    {
        400: "What was sent cannot be read.",
        401: "The key is missing, or is not one of this deployment.",
        403: "It is not believed.",
        404: "There is no such thing.",
        406: "It is not believed, in the one word for it that Mailgun understands.",
        409: "It does not go with what is on record; `reason` says why.",
        413: "The body is too large.",
        415: "The body is of another type.",
        422: "The document has mistakes: `problems` has a line for each, naming its field.",
        429: "Too many, or too soon; `Retry-After` says when to ask again.",
        503: "A part of the deployment cannot be reached; the same request again is safe.",
    }
)
"""Answered as problem+json."""

PARAMETERS: Mapping[str, str] = MappingProxyType(
    {
        "challenge_id": "The id of a verification.",
        "key": "A notice key, `kind:event:recipient`; percent-encoded or pasted as it is.",
        "provider": "The name of a provider, such as `sendgrid`.",
        "result": "The word that a browser or a backend brought back from a verification.",
        "token": "The secret of a link.",
    }
)


class Gives(NamedTuple):
    """One answer that is no problem."""

    says: str
    what: str = PAGE
    """A schema's name, PAGE or NOTHING."""


class Operation(NamedTuple):
    """One method of one route."""

    summary: str
    gives: Mapping[int, Gives]
    refuses: tuple[int, ...] = ()
    takes: str | None = None
    """The schema of a JSON body, a form's media type, or `*/*`."""
    is_open: bool = False
    """Whether it needs no API key."""
    has_header: bool = False
    """Whether `Idempotency-Key` names the request."""


FORM: Final = "application/x-www-form-urlencoded"
ANYTHING: Final = "*/*"

_LINK: Final = Gives("The page of the link; nothing is looked up and nothing consumed.")
_CODE: Final = Gives("The page to type a code into; nothing is looked up and nothing consumed.")
_CONFIRMED: Final = MappingProxyType(
    {
        200: Gives("Confirmed."),
        303: Gives("Confirmed; the browser goes on to the return URL, with `result`.", NOTHING),
        403: Gives("It did not work: the same page whatever the reason."),
        503: Gives("Nobody answered in time; the same try again is safe."),
    }
)
_TAKEN: Final = MappingProxyType({200: Gives("Verified, and with the engine or the ledger.", NOTHING)})

OPERATIONS: Mapping[tuple[str, str], Operation] = MappingProxyType(
    {
        ("POST", "/notices"): Operation(
            "Start a notice, once; the same document again is safe",
            {201: Gives("Started.", "Receipt"), 200: Gives("It was there already.", "Receipt")},
            (400, 401, 413, 415, 422, 503),
            takes="Notice",
        ),
        ("GET", "/notices/{key}"): Operation(
            "Tell the story of a notice, without personal data",
            {200: Gives("The story, also of a notice that the engine has forgotten.", "Story")},
            (401, 404, 503),
        ),
        ("POST", "/verifications"): Operation(
            "Begin a verification, once for each `challenge_id`",
            {
                201: Gives("Begun.", "Begun"),
                200: Gives("It had begun before.", "Begun"),
                202: Gives("It is with the engine, and no worker has taken it up yet.", "Begun"),
            },
            (400, 401, 409, 413, 415, 422, 429, 503),
            takes="Verification",
        ),
        ("GET", "/verifications/{challenge_id}"): Operation(
            "Tell the four facts of a verification, each with its own clock",
            {200: Gives("What is on record.", "ChallengeStory")},
            (401, 404, 503),
        ),
        ("POST", "/verifications/{challenge_id}/consume"): Operation(
            "Try what a person brought",
            {
                200: Gives(
                    "`consumed` says whether it worked; failures are alike whatever the reason.", "Tried"
                )
            },
            (400, 401, 413, 415, 422, 503),
            takes="Brought",
            has_header=True,
        ),
        ("POST", "/verifications/{challenge_id}/resend"): Operation(
            "Ask for another message on the same challenge",
            {202: Gives("Another message has been asked for.", "Accepted")},
            (400, 401, 404, 409, 429, 503),
            has_header=True,
        ),
        ("GET", "/results/{result}"): Operation(
            "Exchange the word of a consumption for what was verified",
            {200: Gives("What the word stands for.", "Exchanged")},
            (401, 404, 503),
        ),
        ("GET", "/v/{token}"): Operation("Show the page of a link", {200: _LINK}, is_open=True),
        ("POST", "/v/{token}"): Operation(
            "Consume by a link", _CONFIRMED, (400, 413, 415), takes=FORM, is_open=True
        ),
        ("GET", "/c/{challenge_id}"): Operation("Show the page for a code", {200: _CODE}, is_open=True),
        ("POST", "/c/{challenge_id}"): Operation(
            "Consume by a code", _CONFIRMED, (400, 413, 415), takes=FORM, is_open=True
        ),
        ("GET", "/unsubscribe/{token}"): Operation(
            "Show what would happen",
            {200: Gives("One button; nothing has changed."), 404: Gives("Not one of our links.")},
            is_open=True,
        ),
        ("POST", "/unsubscribe/{token}"): Operation(
            "End email, as a person or by one click of a mailbox (RFC 8058)",
            {
                200: Gives("On record, now or before."),
                404: Gives("Not one of our links."),
                503: Gives("It could not be put on record; the same request again is safe."),
            },
            (413,),
            takes=ANYTHING,
            is_open=True,
        ),
        ("POST", "/callbacks/{provider}"): Operation(
            "Take what a provider reports, by its own signature",
            _TAKEN,
            (400, 403, 404, 406, 413, 503),
            takes=ANYTHING,
            is_open=True,
        ),
        ("GET", "/callbacks/{provider}"): Operation(
            "The same, for providers that report in the address",
            _TAKEN,
            (400, 403, 404, 406, 413, 503),
            is_open=True,
        ),
        ("GET", "/codec"): Operation(
            "Show where to sign in, to have payloads opened in the Temporal UI",
            {200: Gives("The form, or until when this browser is signed in.")},
            (404,),
            is_open=True,
        ),
        ("POST", "/codec"): Operation(
            "Sign in with the codec key, or out",
            {
                303: Gives("Done; the browser goes back to the page.", NOTHING),
                403: Gives("It is not the codec key, or the form is not of this page."),
                429: Gives("Too many keys were wrong just now: none is looked at."),
            },
            (400, 404, 413, 415),
            takes=FORM,
            is_open=True,
        ),
        ("POST", "/codec/decode"): Operation(
            "Open payloads, by the codec key as a bearer or by a session of the Temporal UI",
            {
                200: Gives(
                    "As many, in their order; a line stands for what is not opened: it says why.", "Payloads"
                )
            },
            (400, 401, 403, 404, 413, 415, 429),
            takes="Payloads",
            is_open=True,
        ),
        ("OPTIONS", "/codec/decode"): Operation(
            "Tell a browser what pages of the Temporal UI may send",
            {204: Gives("Nothing is allowed to pages of other origins.", NOTHING)},
            (404,),
            is_open=True,
        ),
        ("GET", "/healthz"): Operation(
            "Whether the process is there", {200: Gives("It is.", "Health")}, is_open=True
        ),
        ("GET", "/readyz"): Operation(
            "Whether engine and ledger can be reached", {200: Gives("Both.", "Health")}, (503,), is_open=True
        ),
        ("GET", "/openapi.json"): Operation(
            "This document", {200: Gives("OpenAPI 3.1.", "Document")}, is_open=True
        ),
    }
)
