"""The lines of a file that grows."""

from pathlib import Path

import pytest

from ottla.connect.connectors.connector import Offset
from ottla.connect.connectors.file_source import FileSource
from ottla.connect.connectors.roots import OutsideRoots
from ottla.connect.errors import ConnectError

PARTITION = {"filename": "in.txt"}


def source(root: Path, **more: str) -> FileSource:
    return FileSource({"file": "in.txt", "topic": "t", "file.roots": str(root), **more})


def lines(found: FileSource, start: Offset | None, end: Offset | None) -> list[str]:
    assert end is not None
    return [record.value for record in found.read(PARTITION, start, end)]


def test_whole_lines_are_read_and_the_last_one_waits_for_its_end(tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    found = source(tmp_path)
    assert found.latest(PARTITION, None) is None  # the file may come later
    file.write_bytes(b"one\ntwo\r\nthr")
    first = found.latest(PARTITION, None)
    assert (first, lines(found, None, first)) == ({"position": 9}, ["one", "two"])
    assert found.latest(PARTITION, first) is None
    with file.open("ab") as more:
        more.write(b"ee\n\xff\n")
    second = found.latest(PARTITION, first)
    assert lines(found, first, second) == ["three", "\ufffd"]


def test_the_same_range_gives_the_same_records_again(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a\nb\n")
    found = source(tmp_path)
    end = found.latest(PARTITION, None)
    assert lines(found, None, end) == lines(found, None, end) == ["a", "b"]


def test_a_file_that_was_cut_is_not_read_from_the_wrong_place(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a\n")
    with pytest.raises(ConnectError, match="it was cut or replaced"):
        source(tmp_path).latest(PARTITION, {"position": 100})


@pytest.mark.parametrize("path", ["../in.txt", "/etc/passwd", "link/passwd"])
def test_files_outside_of_the_roots_are_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to("/etc")
    with pytest.raises(OutsideRoots):
        source(tmp_path / "root", file=path)
