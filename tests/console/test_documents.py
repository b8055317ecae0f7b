import codecs
import json
from pathlib import Path

import pytest

from console.documents import MOST, read
from console.exits import Exit, Stop
from tests.console.shell import ADDRESS, document, key


def written(folder: Path, content: str | bytes, name: str = "notices.json") -> str:
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(file)


def refusal(source: str) -> tuple[str, ...]:
    with pytest.raises(Stop) as stopped:
        read(source)
    assert stopped.value.code is Exit.BAD_INPUT
    assert ADDRESS not in str(stopped.value)
    return stopped.value.lines


ONE = json.dumps(document("one"))
BOM = codecs.BOM_UTF8.decode()
TWO = json.dumps(document("two"))


@pytest.mark.parametrize(
    ("content", "name", "events"),
    [
        pytest.param(ONE, "a.json", ["one"], id="a document on one line"),
        pytest.param(json.dumps(document("one"), indent=2), "a.json", ["one"], id="an indented document"),
        pytest.param(
            json.dumps(document("one"), indent=0), "a.json", ["one"], id="broken into lines, flush left"
        ),
        pytest.param(f"{BOM}{ONE}", "a.json", ["one"], id="a byte order mark"),
        pytest.param(f"{ONE}\n{TWO}\n", "a.json", ["one", "two"], id="NDJSON by its look"),
        pytest.param(f"{ONE}\r\n\r\n{TWO}", "a.txt", ["one", "two"], id="CRLF and a blank line"),
        pytest.param(f"{BOM}{ONE}\n{TWO}", "a.txt", ["one", "two"], id="a byte order mark before NDJSON"),
        pytest.param(ONE, "a.ndjson", ["one"], id="NDJSON by its name"),
        pytest.param(f"{ONE}\n{ONE}\n", "a.jsonl", ["one", "one"], id="the same notice twice"),
    ],
)
def test_every_way_to_write_notices_is_read(
    tmp_path: Path, content: str, name: str, events: list[str]
) -> None:
    assert [each.key for each in read(written(tmp_path, content, name))] == [key(each) for each in events]


def test_a_mistake_names_its_field(tmp_path: Path) -> None:
    bad = document("one") | {"recipient": {"id": "user-1", "email": f"{ADDRESS} or so"}}
    first, last = refusal(written(tmp_path, json.dumps(bad)))
    assert first.startswith("recipient.email: must be one address")
    assert last.endswith("notices.json: nothing was started")


def test_every_mistake_of_many_lines_names_its_line_and_field(tmp_path: Path) -> None:
    lines = [ONE, '{"kind": "password_reset", ', "", json.dumps(document("three", fallback="soon")), TWO]
    found = refusal(written(tmp_path, "\n".join(lines), "a.ndjson"))
    assert [line.partition(": ")[0] for line in found[:-1]] == ["line 2", "line 4"]
    assert found[0].startswith("line 2: column 28: not JSON")
    assert found[1].startswith("line 4: fallback: unknown key, did you mean fallback_at?")


def test_two_contents_for_one_notice_are_a_mistake(tmp_path: Path) -> None:
    other = json.dumps(document("one", fields={"name": "Somebody else"}))
    first, _ = refusal(written(tmp_path, f"{ONE}\n{TWO}\n{other}\n"))
    assert first == "line 3: the same notice as line 1, with other content"


def test_a_flood_of_mistakes_is_cut_short_and_counted(tmp_path: Path) -> None:
    found = refusal(written(tmp_path, "{}x\n" * (MOST + 5)))
    assert len(found) == MOST + 2
    assert found[-2] == "and 5 more"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        pytest.param(" \n\n", "is empty", id="empty"),
        pytest.param("[]", "document: must be one JSON object", id="a list"),
        pytest.param(b"\xff\xfe{\x00}\x00", "not UTF-8", id="another encoding"),
        pytest.param('{"kind": NaN}', "kind", id="no JSON number"),
        pytest.param('{"kind": "a", "kind": "b"}', "given more than once", id="a key twice"),
    ],
)
def test_what_is_no_document_is_refused_in_words(tmp_path: Path, content: str | bytes, line: str) -> None:
    assert any(line in each for each in refusal(written(tmp_path, content)))


@pytest.mark.parametrize(("name", "why"), [("missing.json", "No such file"), (".", "Is a directory")])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, why: str) -> None:
    (line,) = refusal(str(tmp_path / name))
    assert line.startswith(f"{tmp_path / name}: cannot be read: {why}")
