"""What a crash leaves behind is removed, completed or undone."""

import os
from pathlib import Path

from ottla.config.log import LogConfig
from ottla.storage.log import Log
from tests.unit.storage.samples import fill, open_log, read_all

SMALL = LogConfig(segment_bytes=8192, index_interval_bytes=1024)


def test_leftovers_of_deletions_and_cleanings_are_removed(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 3)
    log.close()
    rubbish = ["00000000000000000000.log.deleted", "00000000000000000000.index.cleaned", "x.tmp"]
    for name in [*rubbish, "00000000000000000077.timeindex"]:
        Path(log.directory, name).touch()
    assert read_all(open_log(tmp_path))
    left = os.listdir(log.directory)
    assert not set(left) & {*rubbish, "00000000000000000077.timeindex"}


COMPACTED = LogConfig(
    segment_bytes=8192, index_interval_bytes=1024, cleanup_policy=frozenset({"compact"})
)


def prepare_swap(tmp_path: Path) -> tuple[Log, list[int]]:
    """A compaction of the first two segments that crashed before the last rename."""
    log = open_log(tmp_path, SMALL)
    fill(log, 30)
    bounds = [segment.base_offset for segment in log.segments]
    log.gaps.allow_below(bounds[2])
    log.close()
    first, second = (Path(segment.path) for segment in log.segments[:2])
    batch = second.read_bytes()[: second.stat().st_size // ((bounds[2] - bounds[1]) // 10)]
    Path(f"{first}.swap").write_bytes(
        first.read_bytes()[: len(batch)] + second.read_bytes()[-len(batch) :]
    )
    return log, bounds


def test_an_interrupted_swap_is_completed(tmp_path: Path) -> None:
    log, bounds = prepare_swap(tmp_path)
    Path(log.directory, f"{0:020d}.index.swap").touch()
    Path(log.directory, f"{0:020d}.timeindex.swap").touch()
    again = open_log(tmp_path, COMPACTED, clean=False)
    bases = [header.base_offset for header in read_all(again)]
    assert bases == [0, bounds[2] - 10, *range(bounds[2], 300, 10)]
    assert [segment.base_offset for segment in again.segments] == [0, *bounds[2:]]


def test_a_swap_that_never_took_place_is_undone(tmp_path: Path) -> None:
    log, _ = prepare_swap(tmp_path)
    Path(log.directory, f"{0:020d}.timeindex.cleaned").touch()
    again = open_log(tmp_path, COMPACTED, clean=False)
    assert len(read_all(again)) == 30
