"""Lines of a file, each once, whatever a crash leaves behind."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from ottla.connect.connectors.connector import Part, Range
from ottla.connect.connectors.file_sink import FileSink
from ottla.connect.data.record import Record
from ottla.connect.data.schema import STRING


def sink(root: Path) -> FileSink:
    return FileSink({"file": "out.txt", "file.roots": str(root)})


def staged(found: FileSink, start: int, texts: Iterable[str], topic: str = "t") -> Part:
    texts = list(texts)
    records = (Record(topic, 0, None, None, STRING, text) for text in texts)
    return Part(Range(topic, 0, start, start + len(texts)), found.stage(topic, 0, start, records))


def test_what_is_committed_is_in_the_file_once(tmp_path: Path) -> None:
    found = sink(tmp_path)
    assert found.open() == {}
    parts = [staged(found, 0, ["a", "b"]), staged(found, 7, ["c"], topic="s")]
    found.commit(parts)
    found.commit(parts)  # the answer to the first time was lost
    assert (tmp_path / "out.txt").read_text() == "c\na\nb\n"
    assert sink(tmp_path).open() == {("t", 0): 2, ("s", 0): 8}


def test_what_is_staged_and_not_committed_is_forgotten(tmp_path: Path) -> None:
    found = sink(tmp_path)
    found.open()
    staged(found, 0, ["a"])
    again = sink(tmp_path)
    assert again.open() == {}
    again.commit([staged(again, 0, ["a"])])
    assert (tmp_path / "out.txt").read_text() == "a\n"


@pytest.mark.parametrize("written", [0, 1, 3, 4])
def test_a_commit_that_a_crash_cut_short_is_undone(
    tmp_path: Path, written: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = sink(tmp_path)
    found.open()
    found.commit([staged(found, 0, ["first"])])
    part = staged(found, 1, ["x", "y"])
    intended = []
    monkeypatch.setattr(found, "_write_ledger", lambda offsets, intended: crash(intended))

    def crash(bytes_to_come: list[int] | None) -> None:
        FileSink._write_ledger(found, {("t", 0): 1}, bytes_to_come)
        intended.append(bytes_to_come)
        with (tmp_path / "out.txt").open("a") as file:
            file.write("x\ny\n"[:written])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found.commit([part])
    assert intended == [[6, 10]]
    again = sink(tmp_path)
    assert again.open() == {("t", 0): 1}
    assert (tmp_path / "out.txt").read_text() == "first\n"
    again.commit([staged(again, 1, ["x", "y"])])
    assert (tmp_path / "out.txt").read_text() == "first\nx\ny\n"


def test_lines_of_others_stay(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("theirs\n")
    found = sink(tmp_path)
    found.open()
    found.commit([staged(found, 0, ["ours"])])
    with (tmp_path / "out.txt").open("a") as file:
        file.write("theirs again\n")
    again = sink(tmp_path)
    again.open()
    again.commit([staged(again, 1, ["ours again"])])
    assert (tmp_path / "out.txt").read_text() == "theirs\nours\ntheirs again\nours again\n"


def test_a_file_that_was_moved_away_begins_anew(tmp_path: Path) -> None:
    found = sink(tmp_path)
    found.open()
    found.commit([staged(found, 0, ["old"])])
    (tmp_path / "out.txt").rename(tmp_path / "out.1.txt")
    found.commit([staged(found, 1, ["new"])])
    assert (tmp_path / "out.txt").read_text() == "new\n"
