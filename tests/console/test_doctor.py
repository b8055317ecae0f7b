"""`standby doctor` against what is right and what is wrong, each of them a server that is asked."""

import json
import re
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from socket import create_server

import pytest
from rich.console import Console

from activities.keyring import Keyring
from activities.providers.base import Finding, Level
from activities.store.ledger import Ledger
from console.doctor import WIDTH, as_object, page
from console.engine import free_port
from console.exits import Exit
from console.providers import rows
from console.retention import judged
from sandbox.config import Config
from sandbox.server import serve
from tests.activities.zone import NameServer, serving
from tests.console.shell import BAD, REACHED, ROOT, Shell
from tests.providers.fakes.api import running
from tests.providers.fakes.resend import TOKEN, FakeResend
from tests.store import facts
from workflows.policy.terms import Policy
from workflows.policy.words import Channel, OnUnresolved, SettlesOn, Source, Status

SECRET = "whsec_YS1zZWNyZXQtb2YtdGVzdHM="
_COLUMNS = re.compile(r"(PROBLEM|not checked|note|ok) +(?P<about>[\w.]+(?: (?:email|sms))?)  +(?P<says>\S)")
LISTS = "suppressions kept, read, added to"
ZONE = {
    "MX example.com": ["10 mx.example.com."],
    "send.example.com": ["v=spf1 include:amazonses.com ~all"],
    "resend._domainkey.example.com": ["p=MIIB"],
    "_dmarc.example.com": ["v=DMARC1; p=reject"],
}


@dataclass(frozen=True)
class Told:
    code: int
    findings: list[tuple[str, str, str]]
    """Level, what about, and what is said."""

    def about(self, about: str) -> list[tuple[str, str]]:
        return [(level, says) for level, named, says in self.findings if named == about]

    def levels(self, about: str) -> list[str]:
        return [level for level, _ in self.about(about)]

    def problems(self) -> list[tuple[str, str]]:
        return [(about, says) for level, about, says in self.findings if level == Level.PROBLEM]


async def examined(shell: Shell, *arguments: str, **changed: str) -> Told:
    said = await shell.run("doctor", "--json", *arguments, **changed)
    assert said.err == ""
    told = json.loads(said.out)
    found = [(each["level"], each["about"], each["says"]) for each in told["findings"]]
    assert told["counts"] == {each: sum(level == each for level, _, _ in found) for each in Level}
    assert said.code == (Exit.FAILED if told["counts"]["problem"] else Exit.OK)
    return Told(said.code, found)


@pytest.fixture
async def sandbox() -> AsyncIterator[str]:
    async with serve(Config()) as served:
        yield served.url


@pytest.fixture
def sound(shell: Shell, sandbox: str) -> Shell:
    """A deployment in which nothing is wrong: every kind, by the sandbox."""
    shutil.copytree(ROOT / "notices", shell.folder / "notices")
    environ = {**shell.environ, "STANDBY_SANDBOX_URL": sandbox}
    return Shell(environ, shell.folder, shell.capsys, shell.monkeypatch)


@dataclass(frozen=True)
class Real:
    """One kind, by email alone, of a real provider, and the world around it."""

    shell: Shell
    api: FakeResend
    dns: str

    async def examined(self, **changed: str) -> Told:
        return await examined(self.shell, "--dns", self.dns, **changed)


@pytest.fixture
async def real(shell: Shell) -> AsyncIterator[Real]:
    shutil.copytree(ROOT / "notices" / "weekly_digest", shell.folder / "notices" / "weekly_digest")
    api = FakeResend()
    async with running(api) as at, serving(NameServer(ZONE)) as named:
        environ = {
            **shell.environ,
            "STANDBY_EMAIL": "resend",
            "STANDBY_EMAIL_FROM": "Example <notices@example.com>",
            "STANDBY_PUBLIC_URL": "https://standby.example.com",
            "STANDBY_RESEND_API_KEY": TOKEN,
            "STANDBY_RESEND_URL": at.url,
            "STANDBY_RESEND_WEBHOOK_SECRET": SECRET,
        }
        whole = Shell(environ, shell.folder, shell.capsys, shell.monkeypatch)
        yield Real(whole, api, f"{named.address[0]}:{named.address[1]}")


async def test_a_sound_deployment_has_no_problem(sound: Shell) -> None:
    told = await examined(sound)
    assert told.code == REACHED
    assert [about for level, about, _ in told.findings if level == Level.OK] == [
        *("settings", "keys", "kinds", "ledger", "temporal"),
        *("sandbox email", "sandbox sms"),
    ]
    (ledger,) = told.about("ledger")
    assert ledger[1].endswith("ledger.db can be reached, and is migrated")


async def test_a_sound_deployment_of_a_real_provider_has_no_problem(real: Real) -> None:
    told = await real.examined()
    assert told.code == REACHED
    assert told.about("resend email") == [
        ("ok", "the key holds, domain example.com is verified"),
        ("ok", f"repeats are safe for 24h; asked by id, 2 a second; callbacks signed; {LISTS}; headers"),
    ]
    assert told.levels("send.example.com") == ["ok"]
    assert told.levels("example.com") == ["ok", "ok"]
    assert "sandbox sms" not in {about for _, about, _ in told.findings}


async def test_nothing_is_sent_and_no_secret_is_told(real: Real) -> None:
    told = str(await real.examined())
    assert real.api.submissions == 0
    for secret in (TOKEN, SECRET, "notices@"):
        assert secret not in told


async def test_a_wrong_key_is_one_problem_and_everything_else_is_told(real: Real) -> None:
    told = await real.examined(STANDBY_RESEND_API_KEY="re_wrong")
    assert told.problems() == [("resend email", "HTTP 403: check the credentials and what they permit")]
    assert told.levels("resend email") == ["problem", "ok"]
    assert told.levels("example.com") == ["ok", "ok"]


async def test_a_domain_that_is_not_verified_and_does_not_exist_says_what_to_do(real: Real) -> None:
    told = await real.examined(STANDBY_RESEND_EMAIL_FROM="notices@shop.example.com")
    (unverified, missing) = told.problems()
    assert unverified[0] == "resend email"
    assert "domain shop.example.com is not verified: add it at the provider" in unverified[1]
    assert missing == (
        "shop.example.com",
        "does not exist in DNS: receivers refuse mail from it; correct the sender, or register it",
    )


async def test_a_provider_that_does_not_answer_is_a_problem(real: Real) -> None:
    told = await real.examined(STANDBY_RESEND_URL=f"http://127.0.0.1:{free_port()}")
    assert [about for about, _ in told.problems()] == ["resend email"]
    assert "cannot be asked (connection failed)" in told.problems()[0][1]


async def test_dns_that_does_not_answer_is_not_checked_and_no_problem(real: Real) -> None:
    async with serving(NameServer(ZONE, failing=frozenset({"example.com"}))) as named:
        told = await examined(real.shell, "--dns", f"{named.address[0]}:{named.address[1]}")
    assert (told.code, told.levels("example.com")) == (REACHED, ["not checked"])


@pytest.mark.parametrize(
    ("missing", "level", "says"),
    [
        pytest.param("STANDBY_RESEND_API_KEY", "problem", "STANDBY_RESEND_API_KEY: is not set", id="key"),
        pytest.param("STANDBY_EMAIL_FROM", "problem", "STANDBY_EMAIL_FROM: is not set", id="sender"),
        pytest.param(
            "STANDBY_EMAIL_FROM",
            "not checked",
            "SPF, DKIM, DMARC and MX: STANDBY_EMAIL_FROM, which says of which domain, is not set",
            id="domain",
        ),
        pytest.param(
            "STANDBY_PUBLIC_URL",
            "note",
            "its callbacks are not heard (STANDBY_PUBLIC_URL is not set); it is only asked",
            id="address",
        ),
        pytest.param(
            "STANDBY_RESEND_WEBHOOK_SECRET",
            "note",
            "its callbacks are not heard (STANDBY_RESEND_WEBHOOK_SECRET is not set); it is only asked",
            id="secret",
        ),
    ],
)
async def test_a_setting_that_a_provider_lacks_is_named(
    real: Real, missing: str, level: str, says: str
) -> None:
    assert (level, says) in (await real.examined(**{missing: ""})).about("resend email")


@pytest.mark.parametrize(
    ("channel", "name"),
    [(each.channel, each.provider) for each in rows() if each.provider != "sandbox"],
)
async def test_every_provider_names_the_setting_that_it_cannot_do_without(
    real: Real, channel: Channel, name: str
) -> None:
    told = await real.examined(
        **{f"STANDBY_{channel.upper()}": name, "STANDBY_RESEND_API_KEY": "", "AWS_REGION": ""}
    )
    problems = dict(told.problems())
    assert problems[f"{name} {channel}"].startswith("STANDBY_")
    assert not [says for says in problems.values() if "broke" in says]


@pytest.mark.parametrize("chosen", ["sandbx", "resend"])
async def test_a_provider_that_cannot_serve_a_channel_says_who_named_it(sound: Shell, chosen: str) -> None:
    told = await examined(sound, STANDBY_SMS=chosen)
    (problem,) = told.problems()
    assert problem[0] == f"{chosen} sms"
    assert problem[1].startswith(f"STANDBY_SMS: provider '{chosen}' ")


async def test_a_provider_that_a_kind_names_is_examined_too(sound: Shell) -> None:
    policy = sound.folder / "notices" / "weekly_digest" / "policy.toml"
    text = policy.read_text().replace("[email.backoff]", '[email]\nprovider = "pigeon"\n[email.backoff]')
    policy.write_text(text)
    told = await examined(sound)
    (problem,) = told.problems()
    assert problem[0] == "pigeon email"
    assert problem[1].startswith("notices/weekly_digest/policy.toml: email.provider: provider 'pigeon' ")
    assert told.levels("sandbox email")[:2] == ["note", "ok"]


async def test_each_mistake_in_the_settings_is_a_problem_and_the_engine_is_still_asked(shell: Shell) -> None:
    told = await examined(shell, STANDBY_EMIAL="resend", STANDBY_LOG="xml")
    assert told.problems() == [
        ("settings", "STANDBY_EMIAL: is not a setting; did you mean STANDBY_EMAIL?"),
        ("settings", "STANDBY_LOG: must be 'json' or 'text'"),
    ]
    unchecked = [about for level, about, _ in told.findings if level == Level.UNCHECKED]
    assert unchecked[:4] == ["keys", "kinds", "ledger", "providers"]
    assert told.levels("temporal")[0] == "ok"


async def test_each_mistake_in_the_kinds_is_a_problem_and_the_rest_is_still_asked(sound: Shell) -> None:
    (sound.folder / "notices" / "password_reset" / "policy.toml").write_text('route = ["fax"]')
    (sound.folder / "notices" / "weekly_digest" / "email.txt.mustache").unlink()
    told = await examined(sound)
    assert {about for about, _ in told.problems()} == {"kinds"}
    assert len(told.problems()) > 1
    assert told.levels("kinds")[-1] == "not checked"
    assert "ok" in told.levels("sandbox email")
    assert told.about("temporal")[-1][0] == "not checked"


@pytest.mark.parametrize(
    ("changed", "level", "says"),
    [
        pytest.param(
            {"STANDBY_KEY_FILE": "none.toml"}, "problem", "key file none.toml: does not", id="no file"
        ),
        pytest.param({"STANDBY_KEY_FILE": ""}, "problem", "STANDBY_KEY_FILE: is not set", id="no key"),
        pytest.param(
            {"STANDBY_KEY_FILE": "", "STANDBY_PLAINTEXT": "1"}, "note", "nothing is sealed", id="plaintext"
        ),
    ],
)
async def test_keys(sound: Shell, changed: dict[str, str], level: str, says: str) -> None:
    ((found, said),) = (await examined(sound, **changed)).about("keys")
    assert (found, says in said) == (level, True)


async def test_a_key_is_named_and_not_told(sound: Shell) -> None:
    keyring = Keyring.load(Path(sound.environ["STANDBY_KEY_FILE"]))
    assert (await examined(sound)).about("keys") == [
        ("ok", f"{keyring.current} seals what the engine stores")
    ]


async def test_keys_that_only_open_are_named_so_that_each_process_can_be_asked_for_them(sound: Shell) -> None:
    file = sound.folder / "keys.toml"
    old, new = Keyring.create(file).current, Keyring.add(file)
    assert (await examined(sound, STANDBY_KEY_FILE=str(file))).about("keys") == [
        ("ok", f"{old} seals what the engine stores; what {new} has sealed can be read as well")
    ]


async def test_a_ledger_that_is_not_there_is_a_problem_and_is_not_made(sound: Shell) -> None:
    told = await examined(sound, STANDBY_DATABASE_URL="sqlite:///new.db")
    assert told.problems() == [
        (
            "ledger",
            "ledger: SQLite file new.db does not exist: run standby migrate, or correct STANDBY_DATABASE_URL",
        )
    ]
    assert not (sound.folder / "new.db").exists()


async def test_reports_that_fit_no_message_are_a_note_with_their_providers(
    sound: Shell, ledger: Ledger, own: dict[str, str]
) -> None:
    assert [level for level, _ in (await examined(sound, **own)).about("ledger")] == ["ok"]
    told = facts.report(Status.DELIVERED, source=Source.CALLBACK)
    at = datetime.now(UTC) - timedelta(hours=12)
    await ledger.strays.put("twilio", told, provider_id=None, event_id="event", at=at)

    _, (level, says) = (await examined(sound, **own)).about("ledger")

    assert level == "note"
    assert "1 report fits no message on record (twilio 1, last 12 h ago)" in says


@pytest.mark.parametrize(
    ("url", "says"),
    [
        pytest.param("sqlite:///empty.db", "has not been migrated; run: standby migrate", id="not migrated"),
        pytest.param("sqlite://", "names no file", id="no file"),
        pytest.param("postgresql://me:hunter2@127.0.0.1:9/standby", "127.0.0.1:9/standby cannot", id="away"),
    ],
)
async def test_a_ledger_that_is_of_no_use_is_a_problem(sound: Shell, url: str, says: str) -> None:
    (sound.folder / "empty.db").touch()
    told = await examined(sound, STANDBY_DATABASE_URL=url)
    ((about, said),) = told.problems()
    assert (about, says in said, "hunter2" in said) == ("ledger", True, False)


async def test_an_engine_that_is_not_there_is_a_problem(sound: Shell) -> None:
    told = await examined(sound, TEMPORAL_ADDRESS=f"127.0.0.1:{free_port()}")
    ((about, says),) = told.problems()
    assert (about, "(connection refused)" in says, "TEMPORAL_ADDRESS" in says) == ("temporal", True, True)


@pytest.fixture
def deaf() -> Iterator[str]:
    """An address that takes connections and never answers."""
    with create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


async def test_an_engine_that_never_answers_does_not_hang_it(sound: Shell, deaf: str) -> None:
    told = await examined(sound, TEMPORAL_ADDRESS=deaf)
    assert "no answer in time" in dict(told.problems())["temporal"]


async def test_a_namespace_that_is_not_there_is_a_problem(sound: Shell) -> None:
    told = await examined(sound, TEMPORAL_NAMESPACE="nope")
    ((about, says),) = told.problems()
    assert about == "temporal"
    assert "has no namespace 'nope': set TEMPORAL_NAMESPACE, or: temporal operator namespace create" in says


def living(**expires_after: timedelta | None) -> dict[str, Policy]:
    return {
        name: Policy(
            route=(Channel.EMAIL,),
            settles_on=SettlesOn.ACCEPTED,
            on_unresolved=OnUnresolved.EXPIRE,
            expires_after=life,
        )
        for name, life in expires_after.items()
    }


DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("policies", "kept", "level", "says"),
    [
        pytest.param(
            living(reset=DAY), DAY, Level.OK, "for 24h, and no kind is useful for longer (24h)", id="as long"
        ),
        pytest.param(
            living(reset=DAY, digest=3 * DAY),
            DAY,
            Level.NOTE,
            "for 24h, and digest may be useful for 3d: later than that a repeated start is refused by the",
            id="the longest kind",
        ),
        pytest.param(
            living(reset=DAY, cancelled=None),
            30 * DAY,
            Level.NOTE,
            "cancelled may be useful for 366d",
            id="as long as an event says",
        ),
        pytest.param(None, DAY, Level.UNCHECKED, "how long kinds live is not known", id="kinds unread"),
    ],
)
def test_retention_is_held_against_the_longest_life(
    policies: dict[str, Policy] | None, kept: timedelta, level: Level, says: str
) -> None:
    found = judged("temporal", "default", kept, policies)
    assert (found.level, says in found.says) == (level, True)


async def test_the_retention_is_the_engine_s_own(sound: Shell) -> None:
    (_, (level, says)) = (await examined(sound)).about("temporal")
    assert (level, says.startswith("closed notices are kept for 24h, and class_cancelled may")) == (
        "note",
        True,
    )


async def test_a_development_deployment_that_was_passed_over_is_a_note(sound: Shell) -> None:
    (sound.folder / ".standby").mkdir()
    (sound.folder / ".standby" / "env").write_text("TEMPORAL_ADDRESS=127.0.0.1:7233\n")
    told = await examined(sound)
    assert told.about("settings")[0][0] == "note"
    assert ".standby/env was not used: the environment names a deployment" in told.about("settings")[0][1]


async def test_suppressions_that_are_shared_are_looked_at(real: Real) -> None:
    told = await real.examined(STANDBY_SHARE_SUPPRESSIONS="1")
    assert told.levels("resend email") == ["ok", "ok"]


async def test_the_page_is_aligned_and_fits_its_columns(alone: Shell) -> None:
    said = await alone.run("doctor", STANDBY_NOTICES=str(ROOT / "notices"))
    assert (said.code, said.err) == (Exit.FAILED, "")
    *lines, blank, count = said.out.splitlines()
    assert all(len(line) <= WIDTH and line == line.rstrip() for line in lines)
    assert "\x1b" not in said.out
    assert blank == ""
    assert count.startswith("4 problems, ")
    begun = [_COLUMNS.match(line) for line in lines if not line.startswith(" ")]
    assert len({(each.start("about"), each.start("says")) for each in begun if each}) == 1
    assert all(begun)


@pytest.mark.parametrize(
    ("found", "count"),
    [
        ([], "0 problems"),
        ([Level.OK, Level.OK], "0 problems, 2 ok"),
        ([Level.NOTE, Level.UNCHECKED, Level.PROBLEM], "1 problem, 1 not checked, 1 note"),
        ([Level.PROBLEM, Level.NOTE, Level.NOTE, Level.PROBLEM], "2 problems, 2 notes"),
    ],
)
def test_the_count_ends_the_page(found: list[Level], count: str) -> None:
    made = [Finding(level, "ledger", "as it is") for level in found]
    assert page(made, Console(force_terminal=False)).splitlines()[-1] == count


def test_a_finding_is_read_by_its_level_without_colours() -> None:
    made = [Finding(Level.PROBLEM, "ledger", "is away"), Finding(Level.UNCHECKED, "temporal", "?")]
    assert page(made, Console(force_terminal=False)).splitlines()[:2] == [
        "PROBLEM      ledger    is away",
        "not checked  temporal  ?",
    ]


def test_a_terminal_of_few_columns_cuts_nothing_off() -> None:
    says = "the whole of it can be read " * 5
    narrow = page([Finding(Level.NOTE, "ledger", says)], Console(force_terminal=True, width=50))
    words = narrow.replace("\x1b[36m", "").replace("\x1b[0m", "").split()
    assert " ".join(words).startswith(f"note ledger {says.strip()}")


def test_the_published_form_is_whole() -> None:
    assert json.loads(as_object([Finding(Level.PROBLEM, "ledger", "is away")])) == {
        "counts": {"ok": 0, "not checked": 0, "note": 0, "problem": 1},
        "findings": [{"level": "problem", "about": "ledger", "says": "is away"}],
    }


@pytest.mark.parametrize(
    "dns", ["dns.example", "127.0.0.1:x", "1.2.3", "::1:53x", "[::1]:70000", "1.1.1.1:0"]
)
async def test_a_name_server_that_is_no_address_is_bad_input(alone: Shell, dns: str) -> None:
    said = await alone.run("doctor", "--dns", dns)
    assert (said.code, said.out) == (BAD, "")
    assert said.err.startswith("--dns: must be an IP address")
