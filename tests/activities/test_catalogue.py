import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from activities.catalogue import Catalogue, CatalogueError, Kind, UnknownKind
from activities.gsm import Encoding, Segments
from activities.render import FieldError
from activities.templates import Part
from tests.activities.given import PUBLIC, whole
from workflows.policy.models import Fields
from workflows.policy.words import Channel, Method, OnUnresolved, SettlesOn

NOTICES = Path(__file__).parents[2] / "notices"
SHIPPED = Catalogue.load(NOTICES)
KINDS = pytest.mark.parametrize("kind", SHIPPED.kinds.values(), ids=str)
EMAIL, SMS = Channel.EMAIL, Channel.SMS


@pytest.fixture
def notices(tmp_path: Path) -> Path:
    """Return a copy of two shipped kinds, to be broken."""
    for name in ("password_reset", "weekly_digest"):
        shutil.copytree(NOTICES / name, tmp_path / name)
    return tmp_path


def problems(directory: Path) -> list[str]:
    with pytest.raises(CatalogueError) as caught:
        Catalogue.load(directory)
    assert all("\n" not in each for each in caught.value.problems), "each is one line"
    return [each.replace(f"{directory}/", "") for each in caught.value.problems]


def test_five_kinds_are_shipped() -> None:
    shipped = "class_cancelled, password_reset, seller_payout, signup_verification, weekly_digest"
    assert ", ".join(sorted(SHIPPED.kinds)) == shipped


def test_the_shipped_policies_say_what_the_product_asked_for() -> None:
    reset, cancelled = SHIPPED.get("password_reset").policy, SHIPPED.get("class_cancelled").policy
    payout, digest = SHIPPED.get("seller_payout").policy, SHIPPED.get("weekly_digest").policy
    assert (reset.route, reset.settles_on, reset.essential) == ((EMAIL, SMS), SettlesOn.ACCEPTED, True)
    assert reset.expires_after == timedelta(minutes=10)
    assert reset.email.polls == tuple(timedelta(seconds=at) for at in (15, 45, 105))
    assert (cancelled.settles_on, cancelled.expires_after, cancelled.fallback_after) == (
        "delivered",
        None,
        None,
    )
    assert cancelled.email.backoff is not None
    assert cancelled.email.backoff.jitter > 0
    assert (payout.settles_on, payout.fallback_after) == ("delivered", timedelta(minutes=15))
    assert payout.sms.polls
    assert (digest.route, digest.on_unresolved, digest.essential) == ((EMAIL,), OnUnresolved.EXPIRE, False)
    signup = SHIPPED.get("signup_verification").policy
    assert (signup.route, signup.settles_on, signup.essential) == ((SMS, EMAIL), SettlesOn.DELIVERED, True)
    assert (signup.expires_after, signup.fallback_after) == (timedelta(minutes=15), timedelta(seconds=75))
    assert signup.challenge is not None
    assert signup.challenge.countries == ("US", "CA", "GB", "IE")


@KINDS
def test_a_shipped_email_reads_the_same_in_html_and_in_plain_text(kind: Kind) -> None:
    fields = whole(kind)
    message = kind.render(EMAIL, fields)
    assert message.subject
    assert message.html
    for value in _leaves(fields):
        assert value in message.text or value in message.subject
    assert '<html lang="en">' in message.html
    assert "{{" not in f"{message.subject}{message.text}{message.html}"


@KINDS
def test_a_shipped_text_is_one_segment(kind: Kind) -> None:
    for method in kind.methods if SMS in kind.policy.route else ():
        message = kind.render(SMS, whole(kind, SMS, method or Method.BOTH))
        assert message.segments == Segments(1, Encoding.GSM_7)
        assert (message.subject, message.html) == (None, None)


@KINDS
def test_a_sample_reaches_an_address_that_the_sandbox_delivers_to(kind: Kind) -> None:
    recipient = kind.sample.recipient
    assert recipient.email is not None
    assert recipient.email.startswith("delivered+")
    assert (recipient.phone is not None) == (SMS in kind.policy.route)


def _leaves(value: object) -> list[str]:
    match value:
        case dict():
            return [leaf for each in value.values() for leaf in _leaves(each)]
        case list():
            return [leaf for each in value for leaf in _leaves(each)]
        case _:
            return [str(value)]


def test_a_kind_proves_only_the_channels_that_it_is_asked_about() -> None:
    kind = SHIPPED.get("password_reset")
    fields: Fields = {"reset_url": "https://a.example/", "valid_minutes": 10}
    kind.prove(fields, [SMS])
    with pytest.raises(FieldError, match=r"^fields\.name: missing$"):
        kind.prove(fields, [SMS, EMAIL])


def test_only_email_that_is_not_essential_says_where_it_ends() -> None:
    offered = {
        (name, channel): kind.render(channel, kind.sample.fields).unsubscribe_url
        for name, kind in SHIPPED.kinds.items()
        for channel in kind.policy.route
    }
    ends = "https://fernhill.example/u/5RwT9c"
    assert {each: url for each, url in offered.items() if url} == {("weekly_digest", EMAIL): ends}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {},
            (
                "fields.unsubscribe_url: missing, and this kind is not essential: its email must offer an"
                " end; set STANDBY_PUBLIC_URL to have it supplied"
            ),
        ),
        ({"unsubscribe_url": "mailto:a"}, "fields.unsubscribe_url: must be a whole link: https://host/…"),
        (
            {"unsubscribe_url": "https://a.example/x\r\nBcc: b"},
            "fields.unsubscribe_url: must be a link in ASCII without spaces: percent-encode the rest",
        ),
    ],
)
def test_email_that_is_not_essential_must_offer_an_end_whatever_its_templates_use(
    notices: Path, changes: dict[str, str], problem: str
) -> None:
    folder = notices / "weekly_digest"
    for file in ("email.html.mustache", "email.txt.mustache"):
        template = folder / file
        template.write_text(template.read_text().replace("{{unsubscribe_url}}", "https://a.example/"))
    sample = json.loads((folder / "sample.json").read_text())
    del sample["fields"]["unsubscribe_url"]
    sample["fields"] |= changes
    (folder / "sample.json").write_text(json.dumps(sample))
    assert problems(notices) == [f"weekly_digest/sample.json: {problem}"]


def test_where_email_ends_may_be_left_to_a_deployment_that_people_can_reach(notices: Path) -> None:
    path = notices / "weekly_digest" / "sample.json"
    sample = json.loads(path.read_text())
    del sample["fields"]["unsubscribe_url"]
    path.write_text(json.dumps(sample))
    kind = Catalogue.load(notices, PUBLIC).get("weekly_digest")
    assert "unsubscribe_url" not in kind.sample.fields
    assert len(problems(notices)) == 1


CHALLENGED = "signup_verification"


@pytest.fixture
def challenged(tmp_path: Path) -> Path:
    """Return a copy of the shipped kind that carries a challenge, to be broken."""
    shutil.copytree(NOTICES / CHALLENGED, tmp_path / CHALLENGED)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "text", "lines"),
    [
        (
            "sms.mustache",
            "Open {{verify_url}}{{#code}} or type {{code}}{{/code}}",
            [
                (
                    "sms.mustache:1: fields.verify_url: is not there for every method:"
                    " put it between {{#verify_url}} and {{/verify_url}}"
                )
            ],
        ),
        (
            "sms.mustache",
            "Welcome{{#verify_url}}: {{verify_url}}{{/verify_url}}",
            [
                'sms.mustache: lacks {{code}}, which a challenge of method "code" must carry',
                'sms.mustache: lacks {{code}}, which a challenge of method "both" must carry',
            ],
        ),
        (
            "email.txt.mustache",
            "{{#code}}{{code}}{{/code}}{{^code}}{{verify_url}}{{/code}}",
            ['email.txt.mustache: lacks {{verify_url}}, which a challenge of method "both" must carry'],
        ),
        (
            "email.html.mustache",
            "<p>Hello{{#verify_url}}: {{verify_url}}{{/verify_url}}</p>",
            [
                'email.html.mustache: lacks {{code}}, which a challenge of method "code" must carry',
                'email.html.mustache: lacks {{code}}, which a challenge of method "both" must carry',
            ],
        ),
        (
            "email.html.mustache",
            "<p>Hello {{name}}</p>",
            ["email.html.mustache:1: fields.name: is not in sample.json"],
        ),
    ],
)
def test_a_challenge_is_proved_to_be_carried_by_every_method(
    challenged: Path, file: str, text: str, lines: list[str]
) -> None:
    (challenged / CHALLENGED / file).write_text(text)
    assert problems(challenged) == [f"{CHALLENGED}/{line}" for line in lines]


def test_an_unknown_kind_is_told_which_there_are() -> None:
    with pytest.raises(UnknownKind) as caught:
        SHIPPED.get("pasword_reset")
    known = "class_cancelled, password_reset, seller_payout, signup_verification, weekly_digest"
    assert str(caught.value) == f"kind: 'pasword_reset' is not one of {known}"


@pytest.mark.parametrize("name", ["../notices/password_reset", ".", "", "a\nb"])
def test_a_kind_is_a_name_and_never_a_path(name: str) -> None:
    with pytest.raises(UnknownKind) as caught:
        SHIPPED.get(name)
    assert "\n" not in str(caught.value)


def test_an_endless_kind_is_cut() -> None:
    with pytest.raises(UnknownKind) as caught:
        SHIPPED.get("x" * 1000)
    assert f"'{'x' * 80}…'" in str(caught.value)


def test_scaling_changes_every_duration_and_the_digest_and_nothing_else() -> None:
    kind, scaled = SHIPPED.get("password_reset"), SHIPPED.scaled(0.1).get("password_reset")
    assert scaled.policy.expires_after == timedelta(minutes=1)
    assert scaled.policy.email.polls == tuple(timedelta(seconds=at) for at in (1.5, 4.5, 10.5))
    assert scaled.digest != kind.digest
    assert (scaled.templates, scaled.sample) == (kind.templates, kind.sample)


def test_a_folder_without_kinds_says_so(tmp_path: Path) -> None:
    assert problems(tmp_path) == [f"{tmp_path}: holds no kind of notice; each is a folder with a policy.toml"]
    with pytest.raises(CatalogueError, match="no such folder; it holds one folder for each kind of notice"):
        Catalogue.load(tmp_path / "absent")


def test_what_is_not_a_kind_is_left_alone(notices: Path) -> None:
    (notices / ".git").mkdir()
    (notices / "__pycache__").mkdir()
    (notices / "README.md").touch()
    assert set(Catalogue.load(notices).kinds) == {"password_reset", "weekly_digest"}


def test_every_mistake_in_every_kind_is_told_at_once(notices: Path) -> None:
    reset, digest = notices / "password_reset", notices / "weekly_digest"
    (reset / "sms.mustache").unlink()
    (reset / "email.subject.mustache").write_text("Hello\nthere")
    (reset / "email.html.mustache").write_bytes(b"\xff")
    (digest / "email.txt.mustache").write_text("\n{{name")
    (digest / "sample.json").unlink()
    assert problems(notices) == [
        "password_reset/email.subject.mustache:1: a subject is one line",
        "password_reset/email.html.mustache: not UTF-8",
        "password_reset/sms.mustache: No such file or directory",
        "weekly_digest/email.txt.mustache:2: this {{ is never closed by }}",
        "weekly_digest/sample.json: No such file or directory",
    ]


def test_templates_are_read_even_where_the_policy_cannot_be(notices: Path) -> None:
    (notices / "password_reset" / "policy.toml").write_text("route = [")
    (notices / "password_reset" / "sms.mustache").write_text("{{#a}}")
    found = problems(notices)
    assert found[0].startswith("password_reset/policy.toml: ")
    assert found[1:] == ["password_reset/sms.mustache:1: {{#a}} is never closed"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"kind": "reset"}, 'kind: must be "password_reset", as the folder is named'),
        (
            {"recipient": {"id": "user-1", "email": "anna@shop.example"}},
            "recipient.email: must end in @example.test, where the sandbox is and no person",
        ),
        (
            {"recipient": {"id": "user-1", "email": "anna@not-example.test"}},
            "recipient.email: must end in @example.test, where the sandbox is and no person",
        ),
    ],
)
def test_a_sample_that_could_not_be_sent_is_a_mistake(
    notices: Path, change: dict[str, object], problem: str
) -> None:
    path = notices / "password_reset" / "sample.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert problems(notices) == [f"password_reset/sample.json: {problem}"]


def test_a_field_that_the_sample_lacks_is_told_where_a_template_first_uses_it(notices: Path) -> None:
    path = notices / "password_reset" / "sample.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"fields": {"name": "Anna"}}))
    (notices / "password_reset" / "sms.mustache").write_text("Hello\n{{nme}} {{#name}}{{reset_url}}{{/name}}")
    found = problems(notices)
    assert [each.partition(": ")[2] for each in found] == [
        "fields.valid_minutes: is not in sample.json",
        "fields.reset_url: is not in sample.json",
        "fields.nme: is not in sample.json",
    ]
    assert found[2].startswith("password_reset/sms.mustache:2: ")
    file, line, _ = found[1].split(":", 2)
    assert file == "password_reset/email.html.mustache"
    assert "{{reset_url}}" in (notices / file).read_text().splitlines()[int(line) - 1]


def test_a_field_that_an_item_of_the_sample_lacks_is_told_with_its_place(notices: Path) -> None:
    path = notices / "weekly_digest" / "sample.json"
    given = json.loads(path.read_text())
    path.write_text(json.dumps(given | {"fields": given["fields"] | {"rows": [{"a": 1}, {"a": 2, "b": 2}]}}))
    template = notices / "weekly_digest" / "email.txt.mustache"
    template.write_text(f"{template.read_text().rstrip()}\n{{{{#rows}}}}{{{{a}}}} {{{{b}}}}{{{{/rows}}}}")
    line = len(template.read_text().splitlines())
    assert problems(notices) == [
        f"weekly_digest/email.txt.mustache:{line}: fields.rows.0.b: is not in sample.json"
    ]


FILES = ["policy.toml", "sample.json", *(part.file for part in Part)]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("email.txt.mustach", "is no file of a kind; did you mean email.txt.mustache?"),
        ("Policy.toml", "is no file of a kind; did you mean policy.toml?"),
        ("zzz", f"is no file of a kind; known are {', '.join(FILES)}"),
        (
            "sms.mustache",
            "sms is not in the route of policy.toml: add it there, or remove this file",
        ),
    ],
)
def test_a_file_that_nobody_would_read_is_a_mistake(notices: Path, name: str, problem: str) -> None:
    (notices / "weekly_digest" / name).write_text("x")
    assert problems(notices) == [f"weekly_digest/{name}: {problem}"]


@pytest.mark.parametrize("name", [".DS_Store", "policy.toml~", "README.md"])
def test_what_systems_editors_and_people_leave_beside_a_kind_is_left_alone(notices: Path, name: str) -> None:
    (notices / "weekly_digest" / name).write_text("x")
    assert set(Catalogue.load(notices).kinds) == {"password_reset", "weekly_digest"}


def test_a_sample_that_is_no_notice_is_a_mistake(notices: Path) -> None:
    (notices / "password_reset" / "sample.json").write_text("{}")
    assert all(each.startswith("password_reset/sample.json: ") for each in problems(notices))


def test_a_sample_brings_the_expiry_that_its_policy_leaves_open(notices: Path) -> None:
    path = notices / "password_reset" / "policy.toml"
    path.write_text(path.read_text().replace('expires_after = "10m"', ""))
    (found,) = problems(notices)
    assert found.startswith("password_reset/sample.json: expires_at: ")
