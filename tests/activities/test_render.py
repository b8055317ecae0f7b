from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue
from typing_extensions import override

from activities.catalogue import Catalogue
from activities.render import FieldError, Rendered, render
from activities.tags import TemplateError
from activities.templates import Part, compile_template
from tests.activities.given import whole
from workflows.policy.models import Fields
from workflows.policy.words import Channel

KINDS = Catalogue.load(Path(__file__).parents[2] / "notices").kinds
NASTY = "<>&\"'"
SECRET = "correct-horse"
LINK = "https://a.example/b"


def email(html: str = "-", subject: str = "-", text: str = "-", **fields: JsonValue) -> Rendered:
    sources = {Part.HTML: html, Part.SUBJECT: subject, Part.TEXT: text}
    return render(
        {part: compile_template(each, part, "t") for part, each in sources.items()}, Channel.EMAIL, fields
    )


def sms(text: str, **fields: JsonValue) -> str:
    return render({Part.SMS: compile_template(text, Part.SMS, "t")}, Channel.SMS, fields).text


def refusal(text: str, **fields: JsonValue) -> str:
    with pytest.raises(FieldError) as caught:
        sms(text, **fields)
    return str(caught.value)


class _Outline(HTMLParser):
    """What a client makes of a page: its elements, and apart from them its words."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, ...]] = []
        self.links: list[str] = []
        self.words = ""
        self.feed(html)
        self.close()

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, *(name for name, _ in attrs)))
        self.links += [value or "" for name, value in attrs if name in {"href", "src"}]

    @override
    def handle_endtag(self, tag: str) -> None:
        self.elements.append((f"/{tag}",))

    @override
    def handle_data(self, data: str) -> None:
        self.words += data


def varied(fields: JsonValue, change: Callable[[str], str]) -> JsonValue:
    """Return the fields with every word in them changed; links stay."""
    match fields:
        case dict():
            return {k: v if k.endswith("_url") else varied(v, change) for k, v in fields.items()}
        case list():
            return [varied(each, change) for each in fields]
        case str():
            return change(fields)
        case _:
            return fields


def shown(name: str, fields: JsonValue) -> Rendered:
    assert isinstance(fields, dict)
    return KINDS[name].render(Channel.EMAIL, fields)


@pytest.mark.parametrize("name", KINDS)
def test_markup_in_every_field_is_shown_and_not_obeyed(name: str) -> None:
    sample = whole(KINDS[name])
    plain = shown(name, sample)
    nasty = shown(name, varied(sample, lambda _: NASTY))
    assert plain.html
    assert nasty.html
    assert _Outline(nasty.html).elements == _Outline(plain.html).elements
    assert _Outline(nasty.html).links == _Outline(plain.html).links
    assert NASTY in _Outline(nasty.html).words
    assert NASTY not in nasty.html
    assert NASTY in nasty.text, "plain text is verbatim"


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if Channel.SMS in kind.policy.route])
def test_a_text_message_is_verbatim(name: str) -> None:
    fields = varied(whole(KINDS[name], Channel.SMS), lambda _: NASTY)
    assert isinstance(fields, dict)
    text = KINDS[name].render(Channel.SMS, fields).text
    assert "&amp;" not in text
    assert "&lt;" not in text


def test_the_subject_is_verbatim() -> None:
    assert email(subject="Hi {{name}}", name=NASTY).subject == f"Hi {NASTY}"


FIT = st.text(
    st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters="\u202d\u202e")
    | st.sampled_from("\n\t<>&\"'"),
    max_size=60,
)
FLAT = {ord(char): " " for char in "\n\t"}
PROBE = '<p lang="{{a}}" title="x {{a}}">{{a}}</p><ul>{{#b}}<li>{{.}}</li>{{/b}}</ul>{{#c}}<i>{{c}}</i>{{/c}}'


@given(FIT)
def test_no_text_breaks_out_of_its_place(value: str) -> None:
    html = email(PROBE, a=value, b=[value, value], c=f"-{value}").html or ""
    baseline = email(PROBE, a="a", b=["b", "b"], c="c").html or ""
    assert _Outline(html).elements == _Outline(baseline).elements
    assert unescape(html).count(value) >= unescape(baseline).count("b")


@given(FIT)
def test_no_text_in_a_shipped_email_breaks_out_of_its_place(value: str) -> None:
    for name, kind in KINDS.items():
        html = shown(name, varied(whole(kind), lambda _: f"x{value[:30].translate(FLAT)}")).html or ""
        baseline = shown(name, whole(kind)).html or ""
        assert _Outline(html).elements == _Outline(baseline).elements


SHARDS = ("<p", ' title="', ' class="', '"', "'", ">", "<!--", "-->", "<style>", "</style>", "x", "=", "</p>")
TAGS = ("{{a}}", "{{#b}}", "{{/b}}")


@settings(max_examples=500)
@given(st.lists(st.sampled_from(SHARDS + TAGS), max_size=8), st.sampled_from([True, False, [1, 1]]))
def test_no_template_that_is_accepted_lets_a_value_out(shards: list[str], b: JsonValue) -> None:
    template = "".join([*shards, "{{a}}<p>"])
    try:
        baseline = email(template, a="a", b=b).html or ""
    except TemplateError:
        return
    html = email(template, a=f"--> {NASTY}</style><i onclick=1>", b=b).html or ""
    assert _Outline(html).elements == _Outline(baseline).elements, template


@given(st.text("{}#^/!&= abc\"'", max_size=30))
def test_a_value_is_never_read_as_a_template(value: str) -> None:
    assert sms("[{{a}}]", a=value, b="secret", c="secret") == f"[{value}]"
    assert unescape(email("[{{a}}]", a=value, b="secret", c="secret").html or "") == f"[{value}]"


@given(st.text(st.characters(categories=("Cc", "Zl", "Zp", "Zs", "Lu")), min_size=1, max_size=20))
def test_a_subject_has_no_line_break_whatever_the_fields(value: str) -> None:
    try:
        subject = email(subject="Hi {{a}}!", a=value).subject or ""
    except FieldError:
        subject = ""
    assert len(subject.splitlines()) <= 1


def test_the_same_fields_give_the_same_message() -> None:
    for kind in KINDS.values():
        for channel in kind.policy.route:
            assert kind.render(channel, kind.sample.fields) == kind.render(channel, dict(kind.sample.fields))


def test_all_missing_fields_of_a_channel_are_named_at_once() -> None:
    with pytest.raises(FieldError) as caught:
        KINDS["password_reset"].render(Channel.EMAIL, {"name": "Anna"})
    assert str(caught.value) == "fields.valid_minutes: missing; fields.reset_url: missing"


LONG = "a" * 321
WANTED = "must be text or a number"
HTTPS = "must be https (http is for loopback hosts)"
WHOLE = "must be a whole link: https://host/…"
ASCII = "must be a link in ASCII without spaces: percent-encode the rest"
USER = "must not name a user before the host"


@pytest.mark.parametrize(
    ("text", "fields", "message"),
    [
        ("{{a}}", {}, "fields.a: missing"),
        ("{{a.b}}", {"a": {}}, "fields.a.b: missing"),
        ("{{a.b}}", {"a": "x"}, "fields.a.b: missing"),
        ("{{a.upper}}", {"a": "x"}, "fields.a.upper: missing"),
        ("{{#a}}{{b}}{{/a}}", {"a": "x"}, "fields.b: missing"),
        ("{{#a}}{{b}}{{/a}}", {"a": [{"b": "x"}, {}]}, "fields.a.1.b: missing"),
        ("{{#a}}{{upper}}{{/a}}", {"a": "x"}, "fields.upper: missing"),
        ("{{a}}", {"a": None}, f"fields.a: {WANTED}, not true, false or null"),
        ("{{a}}", {"a": True}, f"fields.a: {WANTED}, not true, false or null"),
        ("{{a}}", {"a": ["x"]}, f"fields.a: {WANTED}, not a list"),
        ("{{a}}", {"a": {"b": "x"}}, f"fields.a: {WANTED}, not an object"),
        ("{{a}}", {"a": float("nan")}, "fields.a: must be a finite number"),
        ("{{#a}}{{.}}{{/a}}", {"a": ["x", []]}, f"fields.a.1: {WANTED}, not a list"),
        ("{{a}}", {"a": LONG}, "fields.a: too long, sms holds at most 320 characters of it"),
        ("{{a}}", {"a": "x\r\ny"}, "fields.a: must not hold the character U+000D in sms"),
        ("{{a}}", {"a": "x\x00"}, "fields.a: must not hold the character U+0000 in sms"),
        ("{{a}}", {"a": "x\u202ey"}, "fields.a: must not hold the character U+202E in sms"),
        ("{{a}}", {"a": "\ud800"}, "fields.a: must not hold the character U+D800 in sms"),
        ("{{#a}}x{{/a}}", {}, "fields: they leave sms empty"),
        ("{{a}}", {"a": " "}, "fields: they leave sms empty"),
        (
            "{{#a}}{{.}}{{/a}}",
            {"a": ["x" * 320] * 5},
            "fields: the text takes 11 segments, at most 10 are sent",
        ),
        ("{{a_url}}", {"a_url": ""}, f"fields.a_url: {WHOLE}"),
        ("{{a_url}}", {"a_url": "http://a.example/"}, f"fields.a_url: {HTTPS}"),
        ("{{a_url}}", {"a_url": "http://127.0.0.1.a.example/"}, f"fields.a_url: {HTTPS}"),
        ("{{a_url}}", {"a_url": "http://localhost.a.example/"}, f"fields.a_url: {HTTPS}"),
        ("{{a_url}}", {"a_url": "http://10.0.0.1/"}, f"fields.a_url: {HTTPS}"),
        ("{{a_url}}", {"a_url": "javascript:alert(1)"}, f"fields.a_url: {WHOLE}"),
        ("{{a_url}}", {"a_url": "javascript://a.example/%0aalert(1)"}, f"fields.a_url: {WHOLE}"),
        ("{{a_url}}", {"a_url": "data:text/html,x"}, f"fields.a_url: {WHOLE}"),
        ("{{a_url}}", {"a_url": "//a.example/"}, f"fields.a_url: {WHOLE}"),
        ("{{a_url}}", {"a_url": "/reset"}, f"fields.a_url: {WHOLE}"),
        ("{{a_url}}", {"a_url": "https:a.example"}, f"fields.a_url: {WHOLE}"),
        ("{{a_url}}", {"a_url": "https:///a.example"}, f"fields.a_url: {WHOLE}"),
        ("{{a_url}}", {"a_url": "https://a.example:x/"}, f"fields.a_url: {WHOLE}"),
        ("{{a_url}}", {"a_url": "https://a(b/"}, f"fields.a_url: {WHOLE}"),
        ("{{a_url}}", {"a_url": " https://a.example/"}, f"fields.a_url: {ASCII}"),
        ("{{a_url}}", {"a_url": "https://a.example/\n"}, f"fields.a_url: {ASCII}"),
        ("{{a_url}}", {"a_url": 'https://a.example/"onclick='}, f"fields.a_url: {ASCII}"),
        ("{{a_url}}", {"a_url": "https://good.example\\@a.example/"}, f"fields.a_url: {ASCII}"),
        (
            "{{a_url}}",
            {"a_url": "https://\N{CYRILLIC SMALL LETTER A}pple.example/"},
            f"fields.a_url: {ASCII}",
        ),
        ("{{a_url}}", {"a_url": "https://good.example@a.example/"}, f"fields.a_url: {USER}"),
        (
            "{{a_url}}",
            {"a_url": f"{LINK}?{'x' * 2000}"},
            "fields.a_url: too long, a link has at most 2,000 characters",
        ),
        ("{{a_url}}", {"a_url": 7}, f"fields.a_url: {WHOLE}"),
        ("{{a.b_url}}", {"a": {"b_url": "x"}}, f"fields.a.b_url: {WHOLE}"),
        ("{{#a}}{{b_url}}{{/a}}", {"a": [{"b_url": "x"}]}, f"fields.a.0.b_url: {WHOLE}"),
        ("{{#a_url}}{{.}}{{/a_url}}", {"a_url": "x"}, f"fields.a_url: {WHOLE}"),
    ],
)
def test_an_unfit_field_is_named_before_anything_is_submitted(
    text: str, fields: Fields, message: str
) -> None:
    assert refusal(text, **fields) == message


@pytest.mark.parametrize(
    "link",
    [
        LINK,
        "HTTPS://A.example",
        "https://a.example?x=1&y=%C3%A9#z",
        "https://xn--pple-43d.example:8443/a@b",
        "https://[2001:db8::1]/",
        "http://localhost:8000/reset",
        "http://app.localhost/",
        "http://127.0.0.1:8000/",
        "http://[::1]:8000/",
    ],
)
def test_a_web_link_is_kept_as_it_is(link: str) -> None:
    assert sms("{{a_url}}", a_url=link) == link
    assert _Outline(email('<a href="{{a_url}}">x</a>', a_url=link).html or "").links == [link]


@pytest.mark.parametrize("value", [f"{SECRET}\x00", f"{SECRET} {LONG}"])
def test_an_error_never_repeats_the_value(value: str) -> None:
    assert SECRET not in refusal("{{a}}", a=value)
    assert SECRET not in refusal("{{a_url}}", a_url=value)


def test_a_message_does_not_show_itself_in_logs() -> None:
    message = email("{{a}}", "{{a}}", "{{a}}", a=SECRET)
    assert SECRET in f"{message.subject}{message.text}{message.html}"
    assert SECRET not in repr(message)


def test_a_section_is_optional_and_its_fields_with_it() -> None:
    text = "Hi{{#a}} {{b}}{{/a}}{{^a}} there{{/a}}"
    assert sms(text) == "Hi there"
    assert sms(text, a={"b": "Anna"}) == "Hi Anna"
    assert sms(text, a=True, b="Anna") == "Hi Anna"


@pytest.mark.parametrize("name", ["title", "count", "format", "index", "real"])
def test_a_field_named_like_a_method_is_only_a_field(name: str) -> None:
    section = f"{{{{#{name}}}}}{{{{{name}}}}}{{{{/{name}}}}}"
    assert sms(section, **{name: "x"}) == "x"
    items: JsonValue = [{name: "x"}, {name: 2}]
    assert sms(section, **{name: items}) == "x2"
    assert refusal(f"{{{{a.{name}}}}}", a="x") == f"fields.a.{name}: missing"


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (-3, "-3"), (12.5, "12.5"), ("", ""), ("€", "€"), (NASTY, NASTY)]
)
def test_text_and_numbers_are_written_as_they_are(value: JsonValue, text: str) -> None:
    assert sms("[{{a}}]", a=value) == f"[{text}]"


def test_a_body_keeps_line_breaks_and_a_subject_refuses_them() -> None:
    assert email(text="{{a}}", a="x\ny\tz").text == "x\ny\tz"
    with pytest.raises(FieldError, match=r"fields\.a: must not hold the character U\+000A in email\.subject"):
        email(subject="{{a}}", a="x\ny")
