"""The partition.metadata file."""

from pathlib import Path

import pytest

from ottla.base.errors import CorruptLog
from ottla.base.ids import id_text
from ottla.storage.partition_metadata import read_topic_id, write_topic_id
from tests.unit.storage.samples import TOPIC_ID


def test_the_text_is_kafkas(tmp_path: Path) -> None:
    write_topic_id(str(tmp_path), TOPIC_ID)
    text = (tmp_path / "partition.metadata").read_text()
    assert text == f"version: 0\ntopic_id: {id_text(TOPIC_ID)}\n"
    assert read_topic_id(str(tmp_path)) == TOPIC_ID


def test_kafkas_file_without_a_last_newline_reads(tmp_path: Path) -> None:
    text = f"version: 0\ntopic_id: {id_text(TOPIC_ID)}"
    (tmp_path / "partition.metadata").write_text(text)
    assert read_topic_id(str(tmp_path)) == TOPIC_ID


def test_a_directory_may_have_none(tmp_path: Path) -> None:
    assert read_topic_id(str(tmp_path)) is None
    (tmp_path / "partition.metadata").touch()
    assert read_topic_id(str(tmp_path)) is None, "a power cut may leave it empty"


@pytest.mark.parametrize(
    "text", ["nonsense", "version: 1\ntopic_id: x", "version: 0\ntopic_id: short"]
)
def test_a_malformed_file_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "partition.metadata").write_text(text)
    with pytest.raises(CorruptLog, match="delete it"):
        read_topic_id(str(tmp_path))
