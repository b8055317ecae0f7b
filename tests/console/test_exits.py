import pytest
from temporalio.api.common.v1 import GrpcStatus
from temporalio.api.errordetails.v1 import NamespaceNotFoundFailure, NotFoundFailure
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from activities.connect import EngineUnreachableError
from activities.keyring import KeyringError
from activities.settings import SettingsError
from activities.store.errors import Unreachable
from client.runs import is_unknown
from console.exits import TRACEBACK, Exit, Stop, ending
from tests.console.shell import ADDRESS
from workflows.policy.contract import ContractError


def rpc(message: str, status: RPCStatusCode, details: bytes = b"") -> RPCError:
    return RPCError(message, status, details)


def missing(what: type[NamespaceNotFoundFailure | NotFoundFailure]) -> bytes:
    status = GrpcStatus(code=RPCStatusCode.NOT_FOUND.value)
    status.details.add().Pack(what())
    return status.SerializeToString()


@pytest.mark.parametrize(
    ("error", "code", "lines"),
    [
        (Stop(Exit.NOT_REACHED, "one", "two"), Exit.NOT_REACHED, ("one", "two")),
        (
            ContractError(["kind: required", "event_id: empty"]),
            Exit.BAD_INPUT,
            ("kind: required", "event_id: empty"),
        ),
        (
            SettingsError("STANDBY_LOG: no\nSTANDBY_SMS: no"),
            Exit.BAD_INPUT,
            ("STANDBY_LOG: no", "STANDBY_SMS: no"),
        ),
        (KeyringError("key file k: is not TOML"), Exit.BAD_INPUT, ("key file k: is not TOML",)),
        (EngineUnreachableError("no engine"), Exit.UNREACHABLE, ("no engine",)),
        (Unreachable("no ledger"), Exit.UNREACHABLE, ("no ledger",)),
        (ApplicationError('no key "one"', type="UnknownKey"), Exit.BAD_INPUT, ('no key "one"',)),
        (ExceptionGroup("tasks", [EngineUnreachableError("no engine")]), Exit.UNREACHABLE, ("no engine",)),
        (
            rpc("connection lost\nand more", RPCStatusCode.UNAVAILABLE),
            Exit.UNREACHABLE,
            ("the engine went away: connection lost (UNAVAILABLE)",),
        ),
        (
            rpc("transport error", RPCStatusCode.UNKNOWN),
            Exit.UNREACHABLE,
            ("the engine went away: transport error (UNKNOWN)",),
        ),
        (
            rpc("something else", RPCStatusCode.UNKNOWN),
            Exit.UNREACHABLE,
            ("engine: something else (UNKNOWN)",),
        ),
        (
            rpc("Blob data size exceeds limit.", RPCStatusCode.INVALID_ARGUMENT),
            Exit.BAD_INPUT,
            ("engine: Blob data size exceeds limit. (INVALID_ARGUMENT)",),
        ),
    ],
)
def test_every_known_error_has_its_code_and_its_lines(
    error: Exception, code: Exit, lines: tuple[str, ...]
) -> None:
    assert ending(error) == (code, lines)


def unforeseen() -> Exception:
    try:
        int(ADDRESS)
    except ValueError as error:
        return error
    raise AssertionError


def test_an_unforeseen_error_is_one_line_that_says_where_to_look_and_repeats_nothing() -> None:
    code, lines = ending(unforeseen())
    assert code is Exit.FAILED
    assert lines == ("unexpected: ValueError; to see where it came from: standby --traceback ...",)


def test_its_traceback_shows_code_and_no_values() -> None:
    token = TRACEBACK.set(True)
    try:
        _, lines = ending(unforeseen())
    finally:
        TRACEBACK.reset(token)
    assert any("in unforeseen" in line for line in lines)
    assert ADDRESS not in "".join(lines)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(rpc("gone", RPCStatusCode.NOT_FOUND, missing(NotFoundFailure)), True, id="a workflow"),
        pytest.param(
            rpc("gone", RPCStatusCode.NOT_FOUND, missing(NamespaceNotFoundFailure)), False, id="a namespace"
        ),
        pytest.param(rpc("down", RPCStatusCode.UNAVAILABLE), False, id="the engine"),
    ],
)
def test_a_missing_notice_is_not_mistaken_for_a_missing_namespace(error: RPCError, expected: bool) -> None:  # noqa: FBT001
    assert is_unknown(error) is expected
