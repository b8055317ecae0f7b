"""Readiness of a sending domain, asked of a real name server on loopback."""

import pytest

from activities.providers.base import Finding, Level
from activities.readiness import Signer, ready
from activities.resolving import PATIENCE, new_resolver
from tests.activities.zone import NameServer, Records, serving

DOMAIN = "mail.example.com"
KEY = "k=rsa; p=" + "MIIB" * 100
GOOD = {
    f"MX {DOMAIN}": ["10 mx.example.com."],
    f"send.{DOMAIN}": ["v=spf1 include:amazonses.com ~all"],
    f"resend._domainkey.{DOMAIN}": [KEY],
    f"_dmarc.{DOMAIN}": ["v=DMARC1; p=reject; rua=mailto:dmarc@example.com"],
}
"""All that there should be, for Resend."""


def without(*names: str) -> dict[str, list[str]]:
    return {name: texts for name, texts in GOOD.items() if name not in names}


async def found(
    records: Records,
    *providers: str,
    domain: str = DOMAIN,
    silent: tuple[str, ...] = (),
    failing: tuple[str, ...] = (),
) -> tuple[Finding, ...]:
    server = NameServer(records, frozenset(silent), frozenset(failing))
    async with serving(server) as served:
        signers = [Signer(each, domain) for each in providers or ("resend",)]
        return await ready(served.resolver, domain, signers)


async def about(what: str, records: Records, *providers: str) -> Finding:
    """Return the one finding that begins with a word."""
    (one,) = [each for each in await found(records, *providers) if each.says.startswith(f"{what}:")]
    return one


async def test_a_domain_with_all_records_is_ready_and_nothing_else_is_said() -> None:
    said = [(each.level, each.about, each.says) for each in await found(GOOD)]
    assert said == [
        (Level.OK, f"send.{DOMAIN}", "SPF: one record, which names who may send"),
        (Level.OK, DOMAIN, "DKIM: a key of resend is published (resend)"),
        (Level.OK, DOMAIN, "DMARC: p=reject"),
    ]


@pytest.mark.parametrize(
    ("records", "level", "says"),
    [
        pytest.param([], Level.UNCHECKED, "no record here", id="none, and the return path may be elsewhere"),
        pytest.param(["google-site-verification=1"], Level.UNCHECKED, "no record here", id="other texts"),
        pytest.param(["v=spf10 -all"], Level.UNCHECKED, "no record here", id="another version"),
        pytest.param(["v=spf1 ~all", "V=SPF1 -all"], Level.PROBLEM, "has 2 records", id="two"),
        pytest.param(["v=spf1 mx +all"], Level.PROBLEM, "+all lets the whole world", id="+all"),
        pytest.param(["v=spf1 mx ALL"], Level.PROBLEM, "+all lets the whole world", id="all, which is +all"),
        pytest.param(["v=spf1 ?all"], Level.OK, "one record", id="neutral"),
        pytest.param(["v=spf1 include:all.example -all"], Level.OK, "one record", id="one"),
        pytest.param(["v=spf1 redirect=_spf.example"], Level.OK, "one record", id="redirected"),
    ],
)
async def test_spf(records: list[str], level: Level, says: str) -> None:
    spf = await about("SPF", {**without(f"send.{DOMAIN}"), DOMAIN: records}, "postmark")
    assert (spf.level, says in spf.says, spf.about) == (level, True, DOMAIN)


async def test_mailgun_s_return_path_is_its_domain_so_a_record_must_be_there() -> None:
    spf = await about("SPF", without(f"send.{DOMAIN}"), "mailgun")
    assert (spf.level, spf.about) == (Level.PROBLEM, DOMAIN)


@pytest.mark.parametrize(
    ("provider", "keys", "level", "says"),
    [
        pytest.param("resend", {"resend": KEY}, Level.OK, "a key of resend", id="resend"),
        pytest.param("sendgrid", {"s2": KEY}, Level.OK, "(s2)", id="one of two"),
        pytest.param("mailgun", {"pdk1": KEY}, Level.OK, "(pdk1)", id="mailgun"),
        pytest.param("resend", {"resend": "v=DKIM1; p="}, Level.PROBLEM, "is revoked", id="revoked"),
        pytest.param("sendgrid", {"s1": "p=", "s2": KEY}, Level.OK, "(s2)", id="rotated"),
        pytest.param("resend", {"resend": "hello"}, Level.UNCHECKED, "only the console", id="no key"),
        pytest.param("resend", {"abc": KEY}, Level.UNCHECKED, "only the console", id="another selector"),
        pytest.param("ses", {"abc": KEY}, Level.UNCHECKED, "console of ses", id="selectors of an account"),
        pytest.param("postmark", {"resend": KEY}, Level.UNCHECKED, "console of postmark", id="another's key"),
        pytest.param("resend", {}, Level.PROBLEM, "no key at all", id="nothing below _domainkey"),
        pytest.param("ses", {}, Level.PROBLEM, "no key at all", id="nothing, whatever the selector"),
    ],
)
async def test_dkim(provider: str, keys: dict[str, str], level: Level, says: str) -> None:
    published = {f"{selector}._domainkey.{DOMAIN}": [text] for selector, text in keys.items()}
    dkim = await about("DKIM", {**without(f"resend._domainkey.{DOMAIN}"), **published}, provider)
    assert (dkim.level, says in dkim.says) == (level, True)


async def test_a_key_behind_an_alias_counts() -> None:
    hosted = {f"CNAME s1._domainkey.{DOMAIN}": ["s1.u1.sendgrid.example."], "s1.u1.sendgrid.example": [KEY]}
    assert (await about("DKIM", {**GOOD, **hosted}, "sendgrid")).level is Level.OK


async def test_a_key_of_the_parent_domain_counts() -> None:
    parent = {**without(f"resend._domainkey.{DOMAIN}"), "resend._domainkey.example.com": [KEY]}
    assert (await about("DKIM", parent)).level is Level.OK


@pytest.mark.parametrize(
    ("records", "level", "says"),
    [
        pytest.param({DOMAIN: "v=DMARC1; p=quarantine"}, Level.OK, "p=quarantine", id="its own"),
        pytest.param({DOMAIN: "v=DMARC1; p=none"}, Level.NOTE, "p=none", id="only watched"),
        pytest.param({DOMAIN: "v=DMARC1; rua=mailto:a@b.example"}, Level.NOTE, "p=none", id="no policy"),
        pytest.param({DOMAIN: "v=DMARC1; p=maybe"}, Level.NOTE, "p=none", id="an unknown policy"),
        pytest.param(
            {"example.com": "v=DMARC1; p=none; sp=reject"}, Level.OK, "p=reject (of example.com)", id="sp"
        ),
        pytest.param({"example.com": "v=DMARC1; p=reject"}, Level.OK, "(of example.com)", id="of a parent"),
        pytest.param(
            {"com": "v=DMARC1; psd=y; p=reject", "example.com": "v=DMARC1; p=none"},
            Level.NOTE,
            "p=none (of example.com)",
            id="below a registry",
        ),
        pytest.param({"com": "v=DMARC1; psd=y; p=reject"}, Level.OK, "(of com)", id="of the registry alone"),
        pytest.param(
            {"com": "v=DMARC1; p=none", "example.com": "v=DMARC1; psd=n; p=reject"},
            Level.OK,
            "(of example.com)",
            id="which is the top of its organisation",
        ),
        pytest.param({}, Level.PROBLEM, f'v=DMARC1; p=none" at _dmarc.{DOMAIN}', id="none"),
        pytest.param({DOMAIN: "v=DMARC2; p=reject"}, Level.PROBLEM, "none, and Gmail", id="another version"),
        pytest.param({DOMAIN: "p=reject; v=DMARC1"}, Level.PROBLEM, "none, and Gmail", id="the wrong order"),
    ],
)
async def test_dmarc(records: dict[str, str], level: Level, says: str) -> None:
    published = {f"_dmarc.{name}": [text] for name, text in records.items()}
    dmarc = await about("DMARC", {**without(f"_dmarc.{DOMAIN}"), **published})
    assert (dmarc.level, says in dmarc.says) == (level, True)


async def test_two_dmarc_records_count_as_none() -> None:
    dmarc = await about("DMARC", {**GOOD, f"_dmarc.{DOMAIN}": ["v=DMARC1; p=none", "v=DMARC1; p=reject"]})
    assert (dmarc.level, "has 2 records" in dmarc.says) == (Level.PROBLEM, True)


async def test_the_walk_up_a_long_name_begins_at_seven_labels() -> None:
    domain = f"a.b.c.d.e.f.g.h.{DOMAIN}"
    records = {f"MX {domain}": ["10 mx.example.com."], f"_dmarc.f.g.h.{DOMAIN}": ["v=DMARC1; p=reject"]}
    server = NameServer(records)
    async with serving(server) as served:
        await ready(served.resolver, domain, [])
    walked = [each.partition("_dmarc.")[2] for each in server.asked if "_dmarc." in each]
    assert walked[0] == domain
    assert [each.count(".") + 1 for each in sorted(walked[1:], key=len, reverse=True)] == [
        7,
        6,
        5,
        4,
        3,
        2,
        1,
    ]


@pytest.mark.parametrize(
    ("exchangers", "says"),
    [
        pytest.param(["0 ."], "takes no mail", id="null MX"),
        pytest.param([], "there is none", id="none"),
    ],
)
async def test_where_bounces_cannot_go_is_a_note(exchangers: list[str], says: str) -> None:
    mail = await about("MX", {**without(f"MX {DOMAIN}"), f"MX {DOMAIN}": exchangers})
    assert (mail.level, says in mail.says) == (Level.NOTE, True)


async def test_a_domain_that_does_not_exist_is_one_problem() -> None:
    (only,) = await found({"example.com": ["hello"]})
    assert (only.level, only.about) == (Level.PROBLEM, DOMAIN)
    assert only.says.startswith("does not exist in DNS")


async def test_a_name_server_that_does_not_know_the_internet_proves_nothing() -> None:
    (only,) = await found({"db.cluster.local": ["hello"]})
    assert (only.level, "does not know .com at all" in only.says) == (Level.UNCHECKED, True)


@pytest.mark.parametrize(
    ("silent", "failing", "says"),
    [
        pytest.param((".",), (), "DNS did not answer in time", id="silent"),
        pytest.param((), (DOMAIN,), "no name server could answer", id="SERVFAIL"),
    ],
)
async def test_no_answer_at_all_is_one_line_and_never_ok(
    silent: tuple[str, ...], failing: tuple[str, ...], says: str
) -> None:
    (only,) = await found(GOOD, silent=silent, failing=failing)
    assert (only.level, says in only.says, "--dns" in only.says) == (Level.UNCHECKED, True, True)


@pytest.mark.parametrize(
    ("what", "silent", "failing"),
    [
        pytest.param("SPF", (), (f"send.{DOMAIN}",), id="SPF"),
        pytest.param("DKIM", (), (f"resend._domainkey.{DOMAIN}",), id="a key"),
        pytest.param("DKIM", (), (f"_domainkey.{DOMAIN}",), id="all keys"),
        pytest.param("DKIM", (f"resend._domainkey.{DOMAIN}",), (), id="a key, in time"),
        pytest.param("DMARC", (), (f"_dmarc.{DOMAIN}",), id="DMARC"),
        pytest.param("DMARC", (), ("_dmarc.example.com",), id="DMARC of a parent"),
    ],
)
async def test_no_answer_to_one_question_leaves_only_that_unchecked(
    what: str, silent: tuple[str, ...], failing: tuple[str, ...]
) -> None:
    said = await found(GOOD, silent=silent, failing=failing)
    assert {each.says.partition(":")[0]: each.level for each in said} == {
        each: Level.UNCHECKED if each == what else Level.OK for each in ("SPF", "DKIM", "DMARC")
    }


async def test_every_provider_of_a_domain_is_looked_up_and_the_domain_once() -> None:
    said = [each.says.partition(":")[0] for each in await found(GOOD, "resend", "ses")]
    assert said == ["SPF", "DKIM", "SPF", "DKIM", "DMARC"]


async def test_a_sender_that_can_be_no_name_is_not_checked() -> None:
    (only,) = await found(GOOD, domain="exa..mple.com")
    assert only.level is Level.UNCHECKED


def test_a_resolver_asks_whom_it_is_told_and_gives_up_in_time() -> None:
    made = new_resolver(("192.0.2.1", 5353))
    assert ([str(each) for each in made.nameservers], made.port) == (["192.0.2.1"], 5353)
    assert made.lifetime == PATIENCE.total_seconds()
