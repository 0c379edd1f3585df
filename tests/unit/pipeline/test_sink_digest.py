"""How a repeated batch is recognised."""

from pathlib import Path

import pytest

from ottla.pipeline.sink_digest import UnknownBatch, batch_digest, local_reader, query_id_of

METADATA = '{"batchWatermarkMs":0,"batchTimestampMs":%d,"conf":{}}'


def wrote(checkpoint: Path, batch: int, offsets: str, stamp: int = 1) -> None:
    directory = checkpoint / "offsets"
    directory.mkdir(exist_ok=True)
    (directory / str(batch)).write_text(f"v1\n{METADATA % stamp}\n{offsets}")


def digest(location: object, batch: int = 0, query: str = "q") -> str:
    return batch_digest(query, str(location), batch, local_reader(str(location)))


def test_the_offsets_of_the_sources_make_it(tmp_path: Path) -> None:
    wrote(tmp_path, 3, '{"t":{"0":5}}')
    first = digest(tmp_path, 3)
    wrote(tmp_path, 3, '{"t":{"0":5}}', stamp=2)
    assert digest(tmp_path, 3) == first
    wrote(tmp_path, 3, '{"t":{"0":6}}')
    assert digest(tmp_path, 3) != first


def test_files_are_told_by_their_names_and_not_by_the_number_of_their_batch(tmp_path: Path) -> None:
    wrote(tmp_path, 7, '{"t":{"0":5}}\n{"logOffset":4}')
    log = tmp_path / "sources" / "1"
    log.mkdir(parents=True)
    (log / "4").write_text('v1\n{"path":"a.txt"}')
    first = digest(tmp_path, 7)
    (log / "4").write_text('v1\n{"path":"b.txt"}')
    assert digest(tmp_path, 7) != first
    (log / "4").rename(log / "4.compact")
    (log / "4.compact").write_text('v1\n{"path":"a.txt"}')
    assert digest(tmp_path, 7) == first


def test_a_file_url_is_a_path(tmp_path: Path) -> None:
    odd = tmp_path / "with space"
    odd.mkdir()
    wrote(odd, 0, "1")
    expected = digest(odd)
    assert expected.startswith("q offsets ")
    assert digest("file://" + str(odd).replace(" ", "%20")) == expected
    assert digest("file:" + str(odd)) == expected


@pytest.mark.parametrize("location", ["hdfs://host/c", "s3a://bucket/c", "/not/there"])
def test_without_readable_offsets_nothing_can_be_known_again(location: str) -> None:
    with pytest.raises(UnknownBatch, match=f"{location}/offsets/0 cannot be read .*write_stream"):
        digest(location)


def test_a_checkpoint_of_one_run_is_never_repeated() -> None:
    assert batch_digest("q", None, 0, None) == "q in a checkpoint of one run"


def test_a_torn_file_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_bytes(b"v1\n")
    with pytest.raises(UnknownBatch):
        digest(tmp_path)


def test_another_query_has_another_digest(tmp_path: Path) -> None:
    wrote(tmp_path, 0, "{}")
    assert digest(tmp_path) != digest(tmp_path, query="r")


def test_a_checkpoint_tells_its_query(tmp_path: Path) -> None:
    assert query_id_of(local_reader(None)) is None
    assert query_id_of(local_reader("hdfs://host/c")) is None
    assert query_id_of(local_reader(str(tmp_path))) is None
    (tmp_path / "metadata").write_text('{"id":"q"}')
    assert query_id_of(local_reader(str(tmp_path))) == "q"
    (tmp_path / "metadata").write_text("torn")
    assert query_id_of(local_reader(str(tmp_path))) is None
