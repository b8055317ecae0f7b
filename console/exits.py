"""How a command ends: one exit code, and for everything that can go wrong one line on stderr."""

from contextvars import ContextVar
from enum import IntEnum
from typing import Final, NamedTuple

from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from activities.connect import EngineUnreachableError
from activities.discreet import PUBLIC, PublicError, chain, frames, redact, tell
from activities.keyring import KeyringError
from activities.settings import SettingsError
from activities.store.errors import StoreError
from workflows.policy.problems import Mistakes

TRACEBACK: ContextVar[bool] = ContextVar("TRACEBACK", default=False)
"""Whether an unexpected error shows the lines of code that it came through."""


class Exit(IntEnum):
    """Exit codes; scripts rely on them, so none is ever given another meaning."""

    OK = 0
    FAILED = 1
    """Something that nobody foresaw, a demonstration that went wrong, or a doctor that found a problem."""
    BAD_INPUT = 2
    UNREACHABLE = 3
    """The engine or the ledger does not answer."""
    NOT_REACHED = 4
    """Closed without the evidence that the kind asks for."""
    INTERRUPTED = 130
    """Ctrl-C, as shells write it."""


class Stop(PublicError):  # noqa: N818 - an ending, and not always an error
    """Ends a command: its code, and the lines that a person reads."""

    def __init__(self, code: Exit, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.code = code
        self.lines = lines


class Ending(NamedTuple):
    """A code, and what to say on stderr."""

    code: Exit
    lines: tuple[str, ...]


def ending(error: BaseException) -> Ending:
    """Return what an error means to the person at the terminal; it never repeats what they sent."""
    match error:
        case Stop():
            return Ending(error.code, error.lines)
        case BaseExceptionGroup():
            return ending(error.exceptions[0])
        case RPCError():
            return _of_engine(error)
        case ApplicationError(type=str(name)) if name in PUBLIC:
            # The codec's own: a payload that this key file cannot open.
            return Ending(Exit.BAD_INPUT, (tell(error),))
        case Mistakes() | PublicError():
            code = next((code for kind, code in _CODES if isinstance(error, kind)), Exit.FAILED)
            return Ending(code, tuple(str(error).splitlines()))
        case _:
            return Ending(Exit.FAILED, _unforeseen(error))


_CODES: Final[tuple[tuple[type[Exception], Exit], ...]] = (
    (Mistakes, Exit.BAD_INPUT),
    (SettingsError, Exit.BAD_INPUT),
    (KeyringError, Exit.BAD_INPUT),
    (EngineUnreachableError, Exit.UNREACHABLE),
    (StoreError, Exit.UNREACHABLE),
)


def _of_engine(error: RPCError) -> Ending:
    code = Exit.BAD_INPUT if error.status is RPCStatusCode.INVALID_ARGUMENT else Exit.UNREACHABLE
    first, _, _ = error.message.strip().partition("\n")
    said = f"{redact(first) or 'no answer'} ({error.status.name})"
    # Commands connect before they ask: an engine that is unavailable then was there a moment ago.
    # A connection that breaks under a call has no status of its own.
    broken = error.status is RPCStatusCode.UNKNOWN and first.startswith("transport error")
    went_away = broken or error.status is RPCStatusCode.UNAVAILABLE
    return Ending(code, (f"the engine went away: {said}" if went_away else f"engine: {said}",))


def _unforeseen(error: BaseException) -> tuple[str, ...]:
    if isinstance(error, BrokenPipeError):
        return ("stdout was closed before everything was said",)
    what = " <- ".join(chain(error))
    if TRACEBACK.get():
        return (f"unexpected: {what}", *redact(frames(error)).splitlines())
    return (f"unexpected: {what}; to see where it came from: standby --traceback ...",)
