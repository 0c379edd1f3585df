"""By what a batch is known again."""

from pathlib import Path

import pytest

from ottla.pipeline.sink_digest import batch_digest, query_id_of

METADATA = '{"batchWatermarkMs":0,"batchTimestampMs":%d,"conf":{}}'


def wrote(checkpoint: Path, batch: int, offsets: str, stamp: int = 1) -> None:
    directory = checkpoint / "offsets"
    directory.mkdir(exist_ok=True)
    (directory / str(batch)).write_text(f"v1\n{METADATA % stamp}\n{offsets}")


def test_the_offsets_of_the_sources_make_it(tmp_path: Path) -> None:
    wrote(tmp_path, 3, '{"t":{"0":5}}')
    first = batch_digest("q", str(tmp_path), 3, 10)
    wrote(tmp_path, 3, '{"t":{"0":5}}', stamp=2)
    assert batch_digest("q", str(tmp_path), 3, 11) == first
    wrote(tmp_path, 3, '{"t":{"0":6}}')
    assert batch_digest("q", str(tmp_path), 3, 10) != first


def test_a_file_url_is_a_path(tmp_path: Path) -> None:
    odd = tmp_path / "with space"
    odd.mkdir()
    wrote(odd, 0, "1")
    expected = batch_digest("q", str(odd), 0, 1)
    assert expected.startswith("q offsets ")
    assert batch_digest("q", "file://" + str(odd).replace(" ", "%20"), 0, 1) == expected
    assert batch_digest("q", "file:" + str(odd), 0, 1) == expected


@pytest.mark.parametrize("location", [None, "", "hdfs://host/c", "s3a://bucket/c", "/not/there"])
def test_without_readable_offsets_the_rows_are_counted(location: str | None) -> None:
    assert batch_digest("q", location, 0, 12) == "q rows 12"


def test_a_torn_file_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_bytes(b"v1\n")
    assert batch_digest("q", str(tmp_path), 0, 12) == "q rows 12"


def test_another_query_has_another_digest(tmp_path: Path) -> None:
    wrote(tmp_path, 0, "{}")
    assert batch_digest("q", str(tmp_path), 0, 1) != batch_digest("r", str(tmp_path), 0, 1)


def test_a_checkpoint_tells_its_query(tmp_path: Path) -> None:
    assert query_id_of(None) is None
    assert query_id_of(str(tmp_path)) is None
    (tmp_path / "metadata").write_text('{"id":"q"}')
    assert query_id_of(str(tmp_path)) == "q"
    (tmp_path / "metadata").write_text("torn")
    assert query_id_of(str(tmp_path)) is None
