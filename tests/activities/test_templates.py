import re

import chevron
import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.render import render
from activities.tags import MOST_NESTED, TemplateError
from activities.templates import Part, Section, Template, Variable, compile_template
from workflows.policy.models import Fields
from workflows.policy.words import Channel

ALLOWED = (
    "a field belongs in text, or in a double-quoted alt, aria-label, datetime, dir, lang, title, href, src"
)
UNESCAPED = "unescaped tags are off: {{name}} is escaped in HTML and nowhere else"
NAMELESS = (
    "this tag has no usable name: a name has letters, digits and _, with dots between the steps of a path"
)


def compiled(text: str, part: Part = Part.HTML) -> Template:
    return compile_template(text, part, "t")


def refusal(text: str, part: Part) -> str:
    with pytest.raises(TemplateError) as caught:
        compiled(text, part)
    return str(caught.value)


@pytest.mark.parametrize("part", Part)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{>footer}}", "t:1: partials are off: write the text out"),
        ("{{=<% %>=}}", "t:1: delimiters stay {{ and }}"),
        ("{{{name}}}", f"t:1: {UNESCAPED}"),
        ("{{& name}}", f"t:1: {UNESCAPED}"),
        ("{{}}", f"t:1: {NAMELESS}"),
        ("{{first name}}", f"t:1: {NAMELESS}"),
        ("{{name.}}", f"t:1: {NAMELESS}"),
        ("{{name\n}}", f"t:1: {NAMELESS}"),
        ("{{lines.0}}", f"t:1: {NAMELESS}"),
        ("{{.}}", "t:1: {{.}} means something only inside a section"),
        ("Hi {{name", "t:1: this {{ is never closed by }}"),
        ("{{#a}}", "t:1: {{#a}} is never closed"),
        ("{{/a}}", "t:1: {{/a}} closes nothing: nothing is open"),
        ("{{#a}}{{^b}}{{/a}}{{/b}}", "t:1: {{/a}} closes nothing: {{/b}} comes first"),
    ],
)
def test_what_could_surprise_is_refused_in_every_template(part: Part, text: str, message: str) -> None:
    assert refusal(text, part) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<script>{{x}}</script>", "t:1: <script> has no place in an email"),
        ("<svg><title>{{x}}</title></svg>", "t:1: <svg> has no place in an email"),
        ("<style>p{color:{{x}}}</style>", f"t:1: {{{{x}}}} stands in <style>: {ALLOWED}"),
        ("<!-- {{x}} -->", f"t:1: {{{{x}}}} stands in a comment: {ALLOWED}"),
        ("<!--[if mso]>{{x}}<![endif]-->", f"t:1: {{{{x}}}} stands in a comment: {ALLOWED}"),
        ('<p onclick="f({{x}})">', f"t:1: {{{{x}}}} stands in onclick: {ALLOWED}"),
        ('<p style="color:{{x}}">', f"t:1: {{{{x}}}} stands in style: {ALLOWED}"),
        ('<img srcset="{{x_url}}">', f"t:1: {{{{x_url}}}} stands in srcset: {ALLOWED}"),
        ("<p title='{{x}}'>", "t:1: {{x}} stands in title without double quotes"),
        ("<p title={{x}}>", "t:1: {{x}} stands in title without double quotes"),
        ("<a HREF='{{x_url}}'>", "t:1: {{x_url}} stands in href without double quotes"),
        ('<a href="{{x}}">', "t:1: {{x}} stands in href: the field of a link is named *_url"),
        ('<a href="mailto:{{x_url}}">', "t:1: {{x_url}} must be all that href holds"),
        ('<a href="{{x_url}}/{{y_url}}">', "t:1: {{x_url}} must be all that href holds"),
        ('<img src=" {{x_url}}">', "t:1: {{x_url}} must be all that src holds"),
        ('<a href="{{#x_url}}{{.}}{{/x_url}}">', "t:1: {{#x_url}} must be all that href holds"),
        ("<p {{x}}>", f"t:1: {{{{x}}}} stands inside the markup itself: {ALLOWED}"),
        ("<{{x}}>", f"t:1: {{{{x}}}} stands inside the markup itself: {ALLOWED}"),
        ("</{{x}}>", f"t:1: {{{{x}}}} stands inside the markup itself: {ALLOWED}"),
        ('<p {{x}}="y">', f"t:1: {{{{x}}}} stands inside the markup itself: {ALLOWED}"),
        ("<!DOCTYPE {{x}}>", f"t:1: {{{{x}}}} stands inside the markup itself: {ALLOWED}"),
        ("&{{x}};", f"t:1: {{{{x}}}} stands inside the markup itself: {ALLOWED}"),
        ("a <\n{{x}}", "t:1: an element that never closes, or a bare <: write &lt;"),
        ('<p title="{{#a}}">{{/a}}', "t:1: {{#a}} must close where it opens, in text or in one value"),
        ('{{#a}}<p title="{{/a}}">', "t:1: {{#a}} must close where it opens, in text or in one value"),
    ],
)
def test_a_field_may_not_stand_where_escaping_does_not_hold_it(text: str, message: str) -> None:
    assert refusal(text, Part.HTML) == message


BRACKET = "<![ begins nothing but <![if ...]>, <![else]> or <![endif]>"


@pytest.mark.parametrize(
    "text",
    ["<![weird[x]]>", "<![ ", "<![", "<![}}", "<![CDATA[x]]>", "<![{{x}}]>", "<![if x<p>]>", "<![IF x"],
)
def test_markup_that_readers_disagree_about_is_refused(text: str) -> None:
    assert refusal(f"<p>\n{text}", Part.HTML) == f"t:2: {BRACKET}"


def test_comments_cannot_forge_the_place_of_a_field() -> None:
    """Without its comment, the text would spell the mark that stands for the second tag."""
    forged = "q{{! }}z1z <p {{x}}>"
    assert refusal(forged, Part.HTML) == f"t:1: {{{{x}}}} stands inside the markup itself: {ALLOWED}"


@pytest.mark.parametrize("part", Part)
@pytest.mark.parametrize("depth", [MOST_NESTED + 1, 3000])
def test_sections_nest_only_so_deep(part: Part, depth: int) -> None:
    text = "{{#a}}" * depth + "x" + "{{/a}}" * depth
    assert refusal(text, part) == "t:1: {{#a}} is nested too deep: sections go 20 deep at most"
    compiled("{{#a}}" * MOST_NESTED + "x" + "{{/a}}" * MOST_NESTED, part)


PIECES = (
    "{{", "}}", "{{a}}", "{{#a}}", "{{/a}}", "{{^a}}", "{{! c }}", "{{.}}", "{{x_url}}", "{{{", "}}}",
    "{{=x x=}}", "<", ">", "<p>", "</", "<!", "<![", "]]>", "]>", "<!--", "-->", "<?", "&", "&#", ";", "=",
    '"', "'", "/", "<style>", "</style>", "<title>", '<a href="', 'title="', "if", "q", "qz", "z", "0", "1",
    " ", "\n", "\r\n", "\x00", "\u2028", "\u0663",
)  # fmt: skip


@given(st.text() | st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.sampled_from(Part))
def test_any_text_compiles_or_is_refused_in_one_line(text: str, part: Part) -> None:
    message = f"t:1: {part}"
    try:
        compiled(text, part)
    except TemplateError as refused:
        message = str(refused)
    assert len(message.splitlines()) == 1
    assert re.match(r"t:[1-9]\d*: .", message)


@pytest.mark.parametrize(
    "text",
    [
        "<p>{{x}}</p>",
        "<title>{{x}}</title>",
        '<p title="{{x}} and {{y}}">a</p>',
        '<p lang="{{#x}}{{.}}{{/x}}{{^x}}en{{/x}}">a</p>',
        '<a href="{{x_url}}"><img alt = "{{x}}" src="{{y_url}}"></a>',
        "<ul>{{#a}}<li>{{.}}</li>{{/a}}</ul>",
        "1 &lt; {{x}} &amp; 2",
        '<p onclick="qz0z">{{x}}</p>',
        "<style>@media print{p{color:red}}</style><!--[if mso]><table><![endif]-->{{x}}",
        "<![if !mso]><p>{{x}}</p><![else]><b>{{x}}</b><![endif]>",
    ],
)
def test_a_field_may_stand_in_text_and_in_quoted_attributes(text: str) -> None:
    compiled(text)


@pytest.mark.parametrize(
    ("text", "part", "line"),
    [
        ("{{! one\ntwo }}\n{{#a}}\n{{/a}}\n<!-- {{x}} -->", Part.HTML, 5),
        ("{{! one\ntwo }}\n<p>\n<script></script>", Part.HTML, 4),
        ('{{#a}}\n{{/a}}\n\n<p title="{{x}}">\n<i>a\nb < c</i>', Part.HTML, 6),
        ("{{#a}}\n{{/a}}\n\nHello {{name", Part.TEXT, 4),
        ("Hello\n\n{{#a}}", Part.SMS, 3),
    ],
)
def test_an_error_names_the_line_of_the_file(text: str, part: Part, line: int) -> None:
    assert refusal(text, part).startswith(f"t:{line}: ")


@pytest.mark.parametrize("text", ["One\ntwo", "One\u2028two", "One{{#a}}\n{{/a}}two"])
def test_a_subject_is_one_line(text: str) -> None:
    assert refusal(text, Part.SUBJECT) == "t:1: a subject is one line"


@pytest.mark.parametrize("text", ["Hello {{name}}\n", "{{! for the inbox }}\nHello {{name}}\n\n"])
def test_a_subject_may_end_its_file_with_a_line_break_and_hold_comments(text: str) -> None:
    assert compiled(text, Part.SUBJECT).body == ("Hello ", Variable("name"))


def test_required_are_the_fields_outside_every_section() -> None:
    template = compiled("{{a}} {{b.c}} {{#d}}{{e}}{{/d}}{{^f}}{{g}}{{/f}} {{a}}")
    assert template.required == ("a", "b.c")


def test_sections_nest() -> None:
    inner = Section("b", inverted=True, body=("x",))
    assert compiled("{{#a}}{{^b}}x{{/b}}{{/a}}").body == (Section("a", inverted=False, body=(inner,)),)


WORDS = st.text(st.characters(categories=("L", "N", "S", "Po", "Zs"), exclude_characters="'"), max_size=20)
LAYOUT = """\
Dear {{name}},
{{! a comment }}
  {{#lines}}
* {{label}}: {{amount}} for {{name}}
  {{/lines}}
  {{^lines}}
Nothing.
  {{/lines}}
{{#person}}{{nick}} of {{town}} {{/person}}{{#flag}}Yes{{/flag}}{{^flag}}No{{/flag}}
{{#tags}}({{.}}){{/tags}} {{person.nick}}
"""


@given(
    st.fixed_dictionaries(
        {
            "name": WORDS,
            "lines": st.lists(st.fixed_dictionaries({"label": WORDS, "amount": st.integers()}), max_size=3),
            "person": st.fixed_dictionaries({"nick": WORDS}),
            "town": WORDS,
            "flag": st.sampled_from([True, False, 0, 1, "", "x", [], {}, None]),
            "tags": st.lists(WORDS.filter(bool), max_size=3),
        },
    ),
)
def test_a_template_means_what_mustache_makes_of_it(fields: Fields) -> None:
    templates = {
        Part.SUBJECT: compiled("-", Part.SUBJECT),
        Part.TEXT: compiled("-", Part.TEXT),
        Part.HTML: compiled(LAYOUT),
    }
    assert render(templates, Channel.EMAIL, fields).html == chevron.render(LAYOUT, fields)
