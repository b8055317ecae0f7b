"""Whose fault was it? Replies that real hosts give, most of them for something else than they say.

The traps come from the public SMTP field manual, from Microsoft's and Google's documentation, and from the
rules of bounce parsers; the table is the IANA registry's.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.policy import enhanced
from workflows.policy.classify import Classified, Why, classify, extract
from workflows.policy.words import Status

INVALID, REJECTED = Status.INVALID_RECIPIENT, Status.REJECTED
TEMPORARY, UNRECOGNIZED = Status.TEMPORARY_FAILURE, Status.UNRECOGNIZED


@pytest.mark.parametrize(
    ("reply", "status", "why"),
    [
        # Full, or too busy: not an unknown user, whatever the code says.
        ("552 5.1.1 Boite du destinataire pleine. Recipient overquota. OFR_417", TEMPORARY, Why.CAPACITY),
        ("552 5.1.1 ana@example.com extended quota violation", TEMPORARY, Why.CAPACITY),
        ("550 5.2.1 The user is receiving mail at a rate that prevents more", TEMPORARY, Why.CAPACITY),
        ("552 5.2.2 The email account that you tried to reach is over quota.", TEMPORARY, Why.CAPACITY),
        ("554 5.2.2 mailbox full", TEMPORARY, Why.CAPACITY),
        ("452 4.1.1 user over quota", TEMPORARY, Why.TRANSIENT),
        ("452 4.1.1 too many recent messages", TEMPORARY, Why.TRANSIENT),
        # Policy and relaying under the code of an unknown user.
        ("552 5.1.1 Mailbox delivery failure policy error", REJECTED, Why.POLICY),
        ("550 5.1.1 ana@example.com 553 Relaying disallowed", REJECTED, Why.POLICY),
        ("550 5.1.1 Amazon SES has suppressed sending to this address", REJECTED, Why.POLICY),
        # One code, two meanings.
        ("550 5.2.0 Message rejected due to DMARC", REJECTED, Why.POLICY),
        ("550 5.2.0 Recipient unavailable", INVALID, Why.RECIPIENT),
        ("550 5.2.1 Addressee unknown", INVALID, Why.CODE),
        ("550 5.2.1 blocked due to inactivity", INVALID, Why.CODE),
        ("550 5.2.1 The email account that you tried to reach is disabled.", INVALID, Why.CODE),
        # The sender's fault: never mark the recipient.
        ("550 5.2.2 Submission quota exceeded", REJECTED, Why.SENDER),
        ("550 5.1.0 Sender denied", REJECTED, Why.SENDER),
        ("501 5.1.0 Invalid Sender", REJECTED, Why.SENDER),
        ("550 5.1.8 Access denied, bad outbound sender", REJECTED, Why.SENDER),
        ("550 5.7.13 user account disabled", REJECTED, Why.CODE),
        ("550 5.7.27 Sender address has null MX", REJECTED, Why.CODE),
        # Microsoft says unknown recipients in codes of its own.
        ("550 5.4.1 Recipient address rejected: Access denied. AS(201806281)", INVALID, Why.RECIPIENT),
        ("550 5.4.1 Relay Access Denied", REJECTED, Why.POLICY),
        ("550 5.4.1 no answer from host", REJECTED, Why.CODE),
        ("550 5.5.0 Requested action not taken: mailbox unavailable", INVALID, Why.RECIPIENT),
        ("550 5.5.0 Protocol error", REJECTED, Why.CODE),
        ("550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found", INVALID, Why.CODE),
        ("550 5.7.504 Recipient address rejected: Access denied", INVALID, Why.CODE),
        ("554 5.4.4 Host or domain name not found", INVALID, Why.RECIPIENT),
        ("554 5.4.4 unable to route", REJECTED, Why.CODE),
        # A policy code wins over words for the recipient, but for the one host that misuses it.
        ("540 5.7.1 recipient address rejected: Inactive", INVALID, Why.RECIPIENT),
        ("551 5.7.1 Domain not found", REJECTED, Why.CODE),
        ("551 5.7.1 Loop detected", REJECTED, Why.CODE),
        ("550 5.7.1 User unknown", REJECTED, Why.CODE),
        ("550 5.7.17 The mailbox owner has changed", INVALID, Why.CODE),
        # Temporary, and before a normal delivery.
        ("421 4.1.1 unverified address: Address verification in progress", TEMPORARY, Why.TRANSIENT),
        ("451 Invalid Recipient", TEMPORARY, Why.TRANSIENT),
        ("450 4.2.0 Recipient address rejected: greylisted for 60 seconds", TEMPORARY, Why.TRANSIENT),
        ("451 4.7.1 Greylisted for 5 minutes", TEMPORARY, Why.TRANSIENT),
        ("450 try again later", TEMPORARY, Why.TRANSIENT),
        ("421 5.1.1 user unknown", TEMPORARY, Why.TRANSIENT),
        # No enhanced code: the text decides, else the reply code, and that never blames the recipient.
        ("550 invalid mailbox. Account is disabled", INVALID, Why.RECIPIENT),
        ("550 No such user here", INVALID, Why.RECIPIENT),
        ("550 spam detected", REJECTED, Why.POLICY),
        ("550 relaying denied", REJECTED, Why.POLICY),
        ("550 virus detected", REJECTED, Why.POLICY),
        ("550 Requested action not taken: mailbox unavailable", REJECTED, Why.REPLY),
        ("554 delivery error: dd This user doesn\u2019t have a yahoo.com account", INVALID, Why.RECIPIENT),
        ("554 delivery error: dd This mailbox is disabled (554.30)", INVALID, Why.RECIPIENT),
        ("550 administrative prohibition", REJECTED, Why.REPLY),
        ("552 exceeded allocation", TEMPORARY, Why.REPLY),
        ("521 host does not accept mail", TEMPORARY, Why.REPLY),
        ("556 domain does not accept mail", INVALID, Why.REPLY),
        ("550 your account is disabled", REJECTED, Why.REPLY),
        # Gmail, for an address that cannot be one.
        ("553 5.1.2 The address is not a valid RFC-5321 address", INVALID, Why.CODE),
        ("553 5.1.3 The recipient address is not a valid RFC 5321 address", INVALID, Why.CODE),
        # Words inside an address say nothing.
        ("550 5.1.1 <no-spam.policy@example.com> does not exist", INVALID, Why.CODE),
        ("250 2.0.0 OK", Status.ACCEPTED, Why.CODE),
        ("", UNRECOGNIZED, Why.NOTHING),
        ("Delivered in 250 ms", UNRECOGNIZED, Why.NOTHING),
    ],
)  # fmt: skip
def test_a_reply_means(reply: str, status: Status, why: Why) -> None:
    judged = classify(None, reply)
    assert (judged.status, judged.why) == (status, why)


@pytest.mark.parametrize(
    "reply",
    [
        # The address that is not there is the sender's.
        "550 Sender address <a@b.example> does not exist",
        "550 5.0.0 Sender address <a@b.example> does not exist",
        "550 5.1.1 Sender address <a@b.example> does not exist",
        "550 sender <a@b.example> unknown",
        "550 5.0.0 sender's mailbox does not exist",
        "550 5.0.0 sender\u2019s mailbox does not exist",
        "550 5.0.0 verification of sender mailbox a@b.example failed: mailbox does not exist",
        "550 5.0.0 MAIL FROM address does not exist",
        "550 5.1.1 from=<a@b.example>: user unknown",
        "550 5.1.1 from:a@b.example user unknown",
        "550 From address unknown",
        "550 envelope from: account not found",
        "550 Return-path address unknown",
        "550 5.0.0 The return address <a@b.example> does not exist",
        "550 reverse address unknown",
        "550-The sender's\n550 mailbox does not exist",
        # Or the sending host's.
        "550 HELO address unknown",
        "550 EHLO address unknown",
        "550 client IP address does not exist in DNS",
        "550 5.1.1 IP address unknown (no PTR)",
        # The account is the one that sends.
        "550 5.3.0 Sending account is disabled",
        "554 5.3.0 sending user not found",
        "550 Account is disabled for sending",
        "550 5.0.0 SMTP account is disabled",
        "550 5.0.0 your email account is disabled",
        # 53x answers a login, whatever it says.
        "535 user unknown",
        "535 5.1.1 user unknown",
        "530 5.0.0 no such user",
        # The message is refused, not who gets it.
        "550 5.1.1 message rejected due to content",
        "550 5.1.1 Your IP is listed in zen.spamhaus.org",
        "550 5.1.1 message size exceeds the limit",
        "550 5.5.0 mailbox unavailable (message too large)",
        "556 sender domain does not accept mail",
    ],
)
def test_a_fault_of_another_party_is_a_refusal(reply: str) -> None:
    judged = classify(None, reply)
    assert (judged.status, judged.is_final) == (REJECTED, True)
    assert classify(None, reply, INVALID).status is REJECTED


@pytest.mark.parametrize(
    "reply",
    [
        "550 5.2.1 mailbox over limit",
        "550 5.2.1 user's mailbox has exceeded its allotted size",
        "550 5.1.1 user is over the allowed limit",
        "550 5.2.1 Recipient is receiving mail too quickly",
        "550 5.1.1 Daily sending limit exceeded",
        "550 5.1.1 the mailbox for <ana@example.com> is full",
        "550 5.1.1 insufficient disk space",
        "550 5.1.2 DNS lookup temporarily failed",
        "550 5.1.2 name server timed out",
        "550 5.1.1 rejected, try again later",
        "550 5.1.1 connection refused by greylist",
        "550 5.1.1 account temporarily disabled",
    ],
)
def test_too_much_or_not_now_is_no_fault_of_the_address(reply: str) -> None:
    assert classify(None, reply) == Classified(TEMPORARY, is_final=True, why=Why.CAPACITY)


@pytest.mark.parametrize(
    "reply",
    [
        (
            "550-5.1.1 The email account that you tried to reach does not exist. Please try\n"
            "550-5.1.1 double-checking the recipient's email address for typos or\n"
            "550 5.1.1 unnecessary spaces. Learn more at https://mail.example/?p=NoSuchUser - gsmtp"
        ),
        "550 5.1.1 <ana@example.com>: Recipient address rejected: User unknown in relay recipient table",
        "550 5.1.1 user unknown (in reply to RCPT TO command)",
        "550 5.1.1 Your message was not delivered because the address was not found",
        "550 5.1.1 Recipient not found. Please check the address and try again",
        "550 5.1.1 The address you are sending to does not exist",
        "550 5.1.1 User unknown. Message returned to sender.",
        "550 5.1.1 User not listed in the directory",
        "550 5.1.1 recipient mailbox unallocated",
        "550 5.1.1 the user was removed from this server",
        "550 5.1.2 Bad destination host 'DNS Hard Error looking up example.com (MX): NXDomain'",
        "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup",
        "smtp; 550 No such user (ana@example.com)",
    ],
)
def test_a_reply_that_speaks_only_of_the_recipient_is_believed(reply: str) -> None:
    assert classify(None, reply).status is INVALID


@pytest.mark.parametrize(
    ("reply", "is_final"),
    [
        ("450 4.2.0 greylisted", False),
        ("552 5.2.2 mailbox full", True),
        ("550 5.1.1 user unknown", True),
        ("550 5.7.1 blocked", True),
        ("nonsense", False),
    ],
)
def test_class_four_is_still_being_worked_on(reply: str, *, is_final: bool) -> None:
    assert classify(None, reply).is_final is is_final


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        pytest.param("smtp; 550 5.1.1 unknown", "5.0.0", "5.1.1", id="the code after the reply code wins"),
        pytest.param("550-5.1.1 The email\n550 5.1.1 account", None, "5.1.1", id="several lines"),
        pytest.param("550 #5.1.0 Address rejected", None, "5.1.0", id="with a hash"),
        pytest.param("550 5.7.1 see 5.1.1", None, "5.7.1", id="the first of two"),
        pytest.param("said: no", "5.2.2", "5.2.2", id="else the status"),
        pytest.param("user unknown (#5.1.1)", None, "5.1.1", id="else any"),
        pytest.param("550 5.7.01 no", None, "5.7.1", id="leading zeros"),
        pytest.param("host 5.1.1.10 said no", None, None, id="an IP address is no code"),
        pytest.param("software 15.1.1", None, None, id="nor is a version"),
        pytest.param("no code", "30003", None, id="nor is a provider's error number"),
        pytest.param("", None, None, id="nothing"),
    ],
)
def test_the_code_is_found(text: str, status: str | None, code: str | None) -> None:
    assert extract(text, status) == code


@pytest.mark.parametrize(
    ("code", "text", "hint", "judged"),
    [
        pytest.param(
            "5.1.1", "", REJECTED, Classified(REJECTED, is_final=True, why=Why.PROVIDER),
            id="a provider that names a refusal is believed",
        ),
        pytest.param(
            "5.1.1", "", TEMPORARY, Classified(TEMPORARY, is_final=False, why=Why.PROVIDER),
            id="so is one that is still trying",
        ),
        pytest.param(
            "5.1.1", "", Status.DELIVERED, Classified(Status.DELIVERED, is_final=True, why=Why.PROVIDER),
            id="and one that has delivered",
        ),
        pytest.param(
            None, "", INVALID, Classified(INVALID, is_final=True, why=Why.PROVIDER),
            id="a provider that blames the recipient is heard where nothing else speaks",
        ),
        pytest.param(
            "5.0.0", "", INVALID, Classified(INVALID, is_final=True, why=Why.PROVIDER),
            id="or where the code says little",
        ),
        pytest.param(
            "5.7.1", "", INVALID, Classified(REJECTED, is_final=True, why=Why.CODE),
            id="not against the code",
        ),
        pytest.param(
            None, "550 spam detected", INVALID, Classified(REJECTED, is_final=True, why=Why.POLICY),
            id="not against the text",
        ),
        pytest.param(
            "4.2.1", "", INVALID, Classified(TEMPORARY, is_final=False, why=Why.TRANSIENT),
            id="not against the first digit",
        ),
        pytest.param(
            "5.1.1", "", UNRECOGNIZED, Classified(INVALID, is_final=True, why=Why.CODE),
            id="an unknown word says nothing",
        ),
        pytest.param(
            "5.9.9", "", None, Classified(REJECTED, is_final=True, why=Why.CODE),
            id="a code that nobody registered blames nobody",
        ),
    ],
)  # fmt: skip
def test_the_providers_class(code: str | None, text: str, hint: Status | None, judged: Classified) -> None:
    assert classify(code, text, hint) == judged


def test_a_reply_code_may_be_given_apart() -> None:
    assert classify(None, "no such luck", reply=450).status is TEMPORARY
    assert classify(None, "no such luck", reply=550).status is REJECTED


BLAMED = {"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.2.1", "5.7.17", "5.7.18", "5.7.504"}


@pytest.mark.parametrize("code", [code for code in enhanced.TABLE if not code.endswith("x")])
def test_the_codes_that_blame_the_recipient_are_these(code: str) -> None:
    assert (classify(code, "").status is INVALID) == (code in BLAMED)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("5.5.4", REJECTED),
        ("5.6.7", REJECTED),
        ("5.7.509", REJECTED),
        ("5.2.2", TEMPORARY),
        ("5.1.9", UNRECOGNIZED),
    ],
)
def test_a_subject_stands_for_its_codes(code: str, status: Status) -> None:
    assert classify(code, "").status is status


@given(
    st.none() | st.from_regex(r"[45]\.\d{1,3}\.\d{1,3}", fullmatch=True), st.text(), st.none() | st.integers()
)
def test_any_report_can_be_classified(code: str | None, text: str, reply: int | None) -> None:
    judged = classify(code, text, reply=reply)
    assert judged.why in Why
    assert judged.status is not INVALID or judged.is_final


@given(st.sampled_from(["4.1.1", "5.7.1", "5.2.2", "5.3.0", "5.6.0"]), st.sampled_from(Status) | st.none())
def test_codes_that_excuse_the_recipient_never_suppress(code: str, hint: Status | None) -> None:
    assert code == "5.3.0" or classify(code, "delivery failed", hint).status is not INVALID


@given(
    st.sampled_from(sorted(BLAMED)),
    st.sampled_from(["sender's", "MAIL FROM", "return-path", "HELO", "client", "sending"]),
    st.sampled_from(["<a@b.example> ", "", "  "]),
    st.sampled_from(["unknown", "does not exist", "not found", "is disabled"]),
)
def test_no_code_outweighs_the_name_of_another_party(code: str, party: str, gap: str, fault: str) -> None:
    assert classify(None, f"550 {code} {party} address {gap}{fault}").status is not INVALID
