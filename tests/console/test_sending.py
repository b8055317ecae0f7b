import asyncio
import json
from datetime import datetime

import pytest
from temporalio.service import RPCError

from client.runs import handle_of
from console.engine import EngineAt, development_engine, free_port
from console.surroundings import left
from tests.console.conftest import BLOCKING, DELIVERING, DESERTED, REFUSAL, REFUSING, Town
from tests.console.shell import (
    ADDRESS,
    BAD,
    LINK,
    NOT_REACHED,
    NUMBER,
    REACHED,
    ROOT,
    UNREACHABLE,
    Shell,
    document,
    key,
)

QUIET = {"STANDBY_TASK_QUEUE": DESERTED}


async def test_a_notice_is_started_and_said_so_in_one_line(shell: Shell) -> None:
    file = shell.file(document("sending-1"), name="one.json")
    assert await shell.run("send", file, **QUIET) == (REACHED, f"started  {key('sending-1')}\n", "")
    assert await shell.run("send", file, **QUIET) == (REACHED, f"already there  {key('sending-1')}\n", "")


async def test_a_document_comes_from_stdin_too(shell: Shell) -> None:
    said = await shell.run(
        "send", "-", "--json", stdin=str(document("sending-2")).replace("'", '"').replace("True", "true")
    )
    assert said.objects == [{"key": key("sending-2"), "started": True}]


async def test_many_are_resumable_and_counted(shell: Shell) -> None:
    half = [document(f"sending-3-{number}") for number in range(3)]
    more = [document(f"sending-3-{number}") for number in range(3, 5)]
    assert "3 started, 0 already there" in (await shell.run("send", shell.file(*half), **QUIET)).out
    said = await shell.run("send", shell.file(*half, *more), **QUIET)
    assert said.code == REACHED
    assert said.out.splitlines()[-1] == "2 started, 3 already there"


async def test_nothing_is_started_if_one_line_is_bad(shell: Shell, town: Town) -> None:
    good = [document(f"sending-4-{number}") for number in range(3)]
    said = await shell.run("send", shell.file(*good, document("sending-4-3", kind="")), "--json", **QUIET)
    assert (said.code, said.out) == (BAD, "")
    assert said.err.splitlines()[0].startswith("line 4: kind: empty")
    for number in range(3):
        with pytest.raises(RPCError):
            await handle_of(town.client, key(f"sending-4-{number}")).describe()


async def test_waiting_tells_how_it_closed(shell: Shell) -> None:
    file = shell.file(document("sending-5"))
    said = await shell.run("send", file, "--wait", "--json")
    (told,) = said.objects
    assert datetime.fromisoformat(told.pop("closed_at")).tzinfo is not None
    assert (said.code, said.err) == (REACHED, "")
    assert told == {
        "key": key("sending-5"),
        "started": True,
        "outcome": "delivered",
        "channel": "email",
        "rule": "settled",
    }
    again = await shell.run("send", file, "--wait")
    line = f"already there  {key('sending-5')}  delivered on email: the evidence asked for is there"
    assert again.out == f"{line}\n"


@pytest.mark.parametrize(
    ("queue", "outcome", "reason"),
    [(BLOCKING, "exhausted", None), (REFUSING, "refused", REFUSAL)],
)
async def test_reaching_nobody_has_its_own_code(
    shell: Shell, queue: str, outcome: str, reason: str | None
) -> None:
    file = shell.file(document(f"sending-6-{queue}"))
    said = await shell.run("send", file, "--wait", "--json", STANDBY_TASK_QUEUE=queue)
    assert said.code == NOT_REACHED
    assert (said.objects[0]["outcome"], said.objects[0].get("reason")) == (outcome, reason)
    # Without --wait nobody asked.
    assert (await shell.run("send", file)).code == REACHED


async def test_one_that_is_not_reached_decides_the_code_of_many(shell: Shell) -> None:
    await shell.run("send", shell.file(document("sending-7-0")), "--wait", STANDBY_TASK_QUEUE=BLOCKING)
    said = await shell.run("send", shell.file(document("sending-7-0"), document("sending-7-1")), "--wait")
    assert said.code == NOT_REACHED
    assert said.out.splitlines()[-1] == "1 started, 1 already there; 1 reached, 1 not"


async def test_a_run_that_failed_reached_nobody_and_says_why(shell: Shell, town: Town) -> None:
    await town.client.start_workflow("Notice", {"kind": 1}, id=key("sending-8"), task_queue=DELIVERING)
    said = await shell.run("send", shell.file(document("sending-8")), "--wait", "--json")
    (told,) = said.objects
    assert said.code == NOT_REACHED
    assert (told["outcome"], told["started"]) == (None, False)
    assert "NoticeRequest" in told["reason"]


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        pytest.param({"STANDBY_KEY_FILE": ""}, "STANDBY_KEY_FILE", id="no keys"),
        pytest.param(
            {"STANDBY_KEY_FILE": "none.toml"}, "key file none.toml: does not exist", id="no such keys"
        ),
        pytest.param(
            {"STANDBY_TASK_QUEU": "x"}, "did you mean STANDBY_TASK_QUEUE?", id="a mistyped variable"
        ),
    ],
)
async def test_a_wrong_setting_is_named(shell: Shell, changed: dict[str, str], named: str) -> None:
    said = await shell.run("send", shell.file(document("sending-9")), **changed)
    assert (said.code, said.out) == (BAD, "")
    assert named in said.err


async def test_a_result_under_a_key_that_is_not_here_is_bad_input(shell: Shell) -> None:
    file = shell.file(document("sending-10"))
    await shell.run("send", file, "--wait")
    await shell.run("key", "new", "other.toml")
    said = await shell.run("send", file, "--wait", STANDBY_KEY_FILE="other.toml")
    assert said.code == BAD
    assert said.err.startswith("no key ")
    assert "stopped: 0 started, 1 already there of 1" in said.err


async def test_an_unreachable_engine_is_named_with_what_to_do(alone: Shell) -> None:
    said = await alone.run("send", alone.file(document("sending-11")))
    assert (said.code, said.out) == (UNREACHABLE, "")
    (line,) = said.err.splitlines()
    assert alone.environ["TEMPORAL_ADDRESS"] in line
    assert "standby dev" in line


async def test_a_missing_namespace_is_no_missing_notice(shell: Shell) -> None:
    said = await shell.run("send", shell.file(document("sending-12")), TEMPORAL_NAMESPACE="blue")
    assert said.code == UNREACHABLE
    assert "blue" in said.err


@pytest.fixture
def with_kinds(shell: Shell) -> Shell:
    """A shell in a folder where the kinds are at hand."""
    (shell.folder / "notices").symlink_to(ROOT / "notices")
    return shell


SHORT = {"id": "user-1", "email": ADDRESS}
NOT_REACHABLE = {"id": "user-1", "phone": NUMBER, "sms_consent": True}
DIGEST = {"name": "Zephyrine", "week": "10", "classes": [], "browse_url": LINK, "unsubscribe_url": LINK}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        pytest.param(
            {"kind": "pasword_reset"},
            "line 2: kind: 'pasword_reset' is not one of class_cancelled, password_reset, seller_payout,"
            " signup_verification, weekly_digest",
            id="an unknown kind",
        ),
        pytest.param(
            {"fields": {"name": "Zephyrine", "valid_minutes": 10}},
            "line 2: fields.reset_url: missing",
            id="a template that does not render",
        ),
        pytest.param(
            {"kind": "weekly_digest", "fields": DIGEST, "recipient": NOT_REACHABLE},
            "line 2: recipient: has no address for any channel of this kind's route",
            id="no address",
        ),
        pytest.param(
            {
                "kind": "class_cancelled",
                "fields": json.loads((ROOT / "notices/class_cancelled/sample.json").read_text())["fields"],
            },
            "line 2: expires_at: this kind needs it, since its policy has no expires_after",
            id="no expiry",
        ),
        pytest.param(
            {"kind": "signup_verification"},
            "line 2: kind: carries a challenge, and is only sent by a verification",
            id="a challenge",
        ),
    ],
)
async def test_what_a_worker_would_refuse_starts_nothing_where_the_kinds_are_at_hand(
    with_kinds: Shell, town: Town, changes: dict[str, object], line: str
) -> None:
    good = document("sending-13", fields={"name": "Zephyrine", "reset_url": LINK, "valid_minutes": 10})
    file = with_kinds.file(good, {**good, "event_id": "sending-13-bad", **changes})
    said = await with_kinds.run("send", file, **QUIET)
    assert (said.code, said.out) == (BAD, "")
    assert said.err.splitlines() == [line, f"{file}: nothing was started"]
    with pytest.raises(RPCError):
        await handle_of(town.client, key("sending-13")).describe()


async def test_templates_of_a_channel_without_an_address_are_not_asked_for(with_kinds: Shell) -> None:
    fields = {"name": "Zephyrine", "reset_url": LINK, "valid_minutes": 10}
    file = with_kinds.file(document("sending-14", fields=fields, recipient=SHORT))
    assert (await with_kinds.run("send", file, **QUIET)).code == REACHED


async def test_kinds_that_no_worker_would_start_with_are_told(shell: Shell) -> None:
    (shell.folder / "notices" / "password_reset").mkdir(parents=True)
    (shell.folder / "notices" / "password_reset" / "policy.toml").write_text("route = [")
    said = await shell.run("send", shell.file(document("sending-15")), **QUIET)
    assert said.code == BAD
    assert said.err.startswith("notices/password_reset/policy.toml: line 1")
    assert said.err.splitlines()[-1] == "notices/: nothing was started"


async def test_a_refused_notice_is_told_how_to_go_on(shell: Shell) -> None:
    said = await shell.run("send", shell.file(document("sending-16")), "--wait", STANDBY_TASK_QUEUE=REFUSING)
    assert said.out.endswith(
        f"refused: {REFUSAL}; a notice key is used once: correct it and give it another event_id\n"
    )


async def test_a_command_that_fails_elsewhere_says_that_the_deployment_here_was_not_used(
    alone: Shell,
) -> None:
    (alone.folder / ".standby").mkdir()
    with left(alone.folder / ".standby", {"TEMPORAL_ADDRESS": "127.0.0.1:7233"}):
        said = await alone.run("send", alone.file(document("sending-17")))
    assert said.code == UNREACHABLE
    assert said.err.splitlines()[-1] == (
        ".standby/env was not used: the environment names a deployment by"
        " STANDBY_DATABASE_URL, STANDBY_KEY_FILE, TEMPORAL_ADDRESS"
    )


async def test_an_engine_that_goes_away_while_one_waits_is_told(town: Town, shell: Shell) -> None:
    del town
    at = EngineAt(free_port(), free_port())
    file = shell.file(document("sending-18"))
    home = shell.folder / "engine"
    home.mkdir()
    async with development_engine(home, at):
        waiting = asyncio.create_task(
            shell.spawn("send", file, "--wait", **QUIET, TEMPORAL_ADDRESS=at.address)
        )
        while (await shell.run("show", key("sending-18"), TEMPORAL_ADDRESS=at.address)).code != REACHED:
            assert not waiting.done(), waiting.result()
    said = await waiting
    assert said.code == UNREACHABLE
    first, second = said.err.splitlines()
    assert first.startswith("the engine went away: ")
    assert second.startswith("stopped: 1 started, 0 already there of 1; the same command again is safe")
