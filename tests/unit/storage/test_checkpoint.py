"""Kafka's checkpoint files and the clean-shutdown marker."""

import json
from pathlib import Path

import pytest

from ottla.base.errors import CorruptLog
from ottla.base.ids import TopicPartition
from ottla.storage import checkpoint

OFFSETS = {TopicPartition("orders", 0): 5, TopicPartition("a-b.c", 12): 2**40}


def test_the_text_is_kafkas() -> None:
    assert checkpoint.encode(OFFSETS) == b"0\n2\norders 0 5\na-b.c 12 1099511627776\n"


def test_what_is_written_is_read(tmp_path: Path) -> None:
    checkpoint.write(str(tmp_path), checkpoint.RECOVERY_POINTS, OFFSETS)
    assert checkpoint.read(str(tmp_path), checkpoint.RECOVERY_POINTS) == OFFSETS


@pytest.mark.parametrize("data", [b"", b"1\n0\n", b"0\n2\norders 0 5\n", b"0\n1\norders 0\n"])
def test_a_malformed_file_is_refused_but_counts_as_empty_at_start(
    data: bytes, tmp_path: Path
) -> None:
    with pytest.raises(CorruptLog):
        checkpoint.decode(data)
    (tmp_path / checkpoint.START_OFFSETS).write_bytes(data)
    assert checkpoint.read(str(tmp_path), checkpoint.START_OFFSETS) == {}


def test_a_missing_file_is_empty(tmp_path: Path) -> None:
    assert checkpoint.read(str(tmp_path), checkpoint.HIGH_WATERMARKS) == {}


def test_the_clean_shutdown_marker_is_taken_once(tmp_path: Path) -> None:
    checkpoint.mark_clean_shutdown(str(tmp_path), 42)
    content = json.loads((tmp_path / ".kafka_cleanshutdown").read_text())
    assert content == {"version": 0, "brokerEpoch": 42}
    assert checkpoint.take_clean_shutdown(str(tmp_path)) == 42
    assert checkpoint.take_clean_shutdown(str(tmp_path)) is None


def test_the_empty_marker_of_older_kafka_counts(tmp_path: Path) -> None:
    (tmp_path / ".kafka_cleanshutdown").touch()
    assert checkpoint.take_clean_shutdown(str(tmp_path)) == -1
