"""Tables for people, JSON and CSV for programs, and nothing but text in a pipe."""

import csv
import io
import json

import pytest

from ottla.cli.output import RowWriter, paint, show, show_one, table

ROWS = [
    {"topic": "a", "partitions": 12, "replicas": [1, 2], "rack": None, "internal": False},
    {"topic": "longer", "partitions": 3, "replicas": [], "rack": "r", "internal": True},
]


class Terminal(io.StringIO):
    """A stream that a person looks at."""

    def isatty(self) -> bool:
        return True


def printed(output: str, capsys: pytest.CaptureFixture[str]) -> str:
    show(ROWS, output)
    return capsys.readouterr().out


def test_a_table_aligns_numbers_to_the_right() -> None:
    assert table(ROWS) == [
        "TOPIC   PARTITIONS  REPLICAS  RACK  INTERNAL",
        "a               12  1,2       -     no",
        "longer           3  -         r     yes",
    ]


def test_json_is_one_document_and_ndjson_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(printed("json", capsys)) == ROWS
    assert [json.loads(line) for line in printed("ndjson", capsys).splitlines()] == ROWS
    show([], "json", nothing="nothing there")
    assert capsys.readouterr() == ("[]\n", "")


def test_csv_has_a_head(capsys: pytest.CaptureFixture[str]) -> None:
    found = list(csv.DictReader(io.StringIO(printed("csv", capsys))))
    assert found[0] == {
        "topic": "a", "partitions": "12", "replicas": "1,2", "rack": "", "internal": "no",
    }  # fmt: skip


def test_nothing_is_said_to_people_and_not_to_programs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show([], "table", nothing="there are no topics")
    assert capsys.readouterr() == ("", "there are no topics\n")
    show_one({"name": "x", "configs": {"a": "1"}}, "table")
    assert capsys.readouterr().out == "NAME     x\nCONFIGS  a=1\n"


def test_rows_are_written_as_they_come() -> None:
    stream = io.StringIO()
    writer = RowWriter("json", stream)
    writer.write({"n": 1})
    assert stream.getvalue() == '[\n{"n": 1}'
    writer.close()
    assert json.loads(stream.getvalue()) == [{"n": 1}]


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert paint("x", "red", io.StringIO()) == "x"
    assert paint("x", "red", Terminal()) == "\x1b[31mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert paint("x", "red", Terminal()) == "x"
