"""A secret from a file is the one that is there now, and a bad file never takes it away."""

import os
from pathlib import Path

import pytest

from activities.settings import Settings, SettingsError
from activities.variables import Credential


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text("first\n")
    return path


def settle(file: Path) -> None:
    """Make a file look as if it had been written a while ago."""
    os.utime(file, (0, file.stat().st_mtime - 60))


def test_a_secret_that_is_rotated_holds_from_the_next_use_on(file: Path) -> None:
    credential = Settings.read({"STANDBY_SENDGRID_API_KEY_FILE": str(file)}).sendgrid.api_key
    assert credential is not None
    assert credential.reveal() == "first"

    file.write_text("second")
    settle(file)

    assert credential.reveal() == "second"


def test_a_file_that_is_being_written_is_not_believed_yet(file: Path) -> None:
    credential = Credential.kept_in(file)
    file.write_text("sec")

    assert credential.reveal() == "first"


@pytest.mark.parametrize("name", ["STANDBY_API_KEY_FILE", "STANDBY_DATABASE_URL_FILE"])
def test_a_file_that_is_empty_from_the_start_is_said_to_be(file: Path, name: str) -> None:
    file.write_text(" \n")
    with pytest.raises(SettingsError, match=f"^{name}: the file it names is empty: it must hold "):
        Settings.read({name: str(file)})


def test_what_is_no_file_of_a_secret_is_not_read(tmp_path: Path) -> None:
    pipe, heap = tmp_path / "pipe", tmp_path / "heap"
    os.mkfifo(pipe)
    heap.write_text("x" * 20_000)
    for each in (pipe, heap, tmp_path):
        with pytest.raises(SettingsError, match="the file it names cannot be read"):
            Settings.read({"STANDBY_SENDGRID_API_KEY_FILE": str(each)})


@pytest.mark.parametrize("content", [b"", b"  \n", b"two words", b"\xff\xfe", "Schlüssel".encode(), b"a\nb"])
def test_a_file_that_holds_no_secret_leaves_the_last_one_in_force(file: Path, content: bytes) -> None:
    credential = Credential.kept_in(file)
    file.write_bytes(content)
    settle(file)

    assert credential.reveal() == "first"


def test_a_file_that_is_gone_leaves_the_last_one_in_force(file: Path) -> None:
    credential = Credential.kept_in(file)
    file.unlink()

    assert credential.reveal() == "first"


@pytest.mark.parametrize("content", ["two words", "Schlüssel"])
def test_a_worker_does_not_start_on_a_file_without_a_secret(file: Path, content: str) -> None:
    file.write_text(content)
    with pytest.raises(SettingsError) as caught:
        Settings.read({"STANDBY_TWILIO_AUTH_TOKEN_FILE": str(file)})
    line = "STANDBY_TWILIO_AUTH_TOKEN_FILE: the file it names must be one word of printable ASCII"
    assert str(caught.value) == line


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("EMAIL_FROM", "anna", "must be like notices@example.com or Example <notices@example.com>"),
        ("EMAIL_FROM", "a@b.example\nBcc: c@d.example", "must be like notices@example.com"),
        ("POSTMARK_EMAIL_FROM", "<a@b", "must be like notices@example.com"),
        ("SMS_FROM", "+1\n2", "must be a number (+14155550100), a short code"),
        ("TWILIO_URL", "https://a:b", "must be like http://127.0.0.1:8025, without a path"),
        ("TWILIO_URL", "https://[::1", "must be like http://127.0.0.1:8025, without a path"),
        ("PUBLIC_URL", "https://a.example:99999", "must be like http://127.0.0.1:8025, without a path"),
        ("EMAIL_FROM", "a@b.example, c@d.example", "must be like notices@example.com"),
        ("EMAIL_FROM", "a@b.example junk", "must be like notices@example.com"),
        ("EMAIL_FROM", "x@y.example <a@b.example", "must be like notices@example.com"),
        ("TWILIO_URL", "ftp://api.example", "must be like http://127.0.0.1:8025, without a path"),
        ("PUBLIC_URL", "https://a.example/x", "must be like http://127.0.0.1:8025, without a path"),
        ("SES_INSIGHTS", "perhaps", "must be 1 or 0"),
        ("RESEND_API_KEY", "re_a b", "must be one word of printable ASCII"),
        ("SHARE_SUPPRESSIONS", "2", "must be 1 or 0"),
        ("TWILIO_ACCOUNTSID", "AC1", "is not a setting; did you mean STANDBY_TWILIO_ACCOUNT_SID?"),
        ("SENDGRID", "x", "is not a setting; "),
    ],
)
def test_a_mistake_in_an_account_is_one_line_that_names_the_variable(
    name: str, value: str, says: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.read({f"STANDBY_{name}": value})
    assert str(caught.value).startswith(f"STANDBY_{name}: {says}")
    assert "\n" not in str(caught.value)


def test_every_variable_of_an_account_reaches_its_field() -> None:
    read = Settings.read(
        {
            "STANDBY_AWS_REGION": "eu-central-1",
            "STANDBY_AWS_SMS_OPT_OUT_LIST": "Ours",
            "STANDBY_SES_TOPIC_ARNS": "arn:aws:sns:eu-central-1:1:a, arn:aws:sns:eu-central-1:1:b",
            "STANDBY_VONAGE_REPORTS": "yes",
            "STANDBY_COURIER_SMS_FROM": "+12025550100",
            "STANDBY_COURIER_EMAIL_FROM": "Fernhill <notices@example.com>",
        }
    )
    assert read.aws.region == "eu-central-1"
    assert read.aws_sms.opt_out_list == "Ours"
    assert read.ses.topic_arns == ("arn:aws:sns:eu-central-1:1:a", "arn:aws:sns:eu-central-1:1:b")
    assert read.vonage.reports
    assert (read.courier.sms_from, read.courier.email_from) == (
        "+12025550100",
        "Fernhill <notices@example.com>",
    )


def test_no_secret_of_an_account_is_in_a_repr() -> None:
    read = Settings.read({"STANDBY_TWILIO_AUTH_TOKEN": "hunter2", "STANDBY_PLIVO_AUTH_TOKEN": "hunter2"})
    assert "hunter2" not in f"{read!r} {read} {read.twilio.auth_token!r}"


@pytest.mark.parametrize(
    ("written", "links"),
    [
        ("https://shop.example", ("https://shop.example",)),
        ("https://shop.example/ https://a.example/in", ("https://shop.example/", "https://a.example/in")),
        ("https://shop.example,\n http://127.0.0.1:3000", ("https://shop.example", "http://127.0.0.1:3000")),
    ],
)
def test_beginnings_of_links_are_separated_by_blanks_or_commas(written: str, links: tuple[str, ...]) -> None:
    assert Settings.read({"STANDBY_RETURN_URLS": written}).return_urls == links


@pytest.mark.parametrize(
    "written",
    [
        "shop.example",
        "ftp://shop.example",
        "https://",
        "https://anna@shop.example/",
        "https://shop.example/?a=1",
        "https://shop.example/#a",
        "https://shop.example:99999/",
        "https://shop.example/a/../b",
        "https://shop.example\\evil.example",
        "https://b\u00fccher.example/",
        "http://shop.example/welcome",
        "https://shop.example/ anna",
        "*",
    ],
)
def test_what_no_link_could_begin_with_is_told_at_the_start(written: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.read({"STANDBY_RETURN_URLS": written})
    says = "must be like https://shop.example/welcome, several separated by blanks"
    assert str(caught.value) == f"STANDBY_RETURN_URLS: {says}"
