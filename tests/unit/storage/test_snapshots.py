"""The producer snapshot files of a log."""

from pathlib import Path

from ottla.protocol.records.batch import parse_header
from ottla.storage.producer_state import ProducerState
from ottla.storage.snapshots import Snapshots
from tests.unit.storage.samples import NOW_MS, make_batch


def producers(*ids: int) -> ProducerState:
    state = ProducerState()
    for n, producer_id in enumerate(ids):
        state.update(parse_header(make_batch(producer_id=producer_id)), n, NOW_MS)
    return state


def names(directory: Path) -> list[str]:
    return sorted(path.name.lstrip("0") for path in directory.iterdir())


def test_the_newest_readable_one_is_taken(tmp_path: Path) -> None:
    snapshots = Snapshots(str(tmp_path))
    assert snapshots.newest(99)[1] == 0
    for offset in (10, 20, 30):
        snapshots.write(offset, producers(offset))
    Path(snapshots.path(30)).write_bytes(b"rubbish")
    assert 20 in snapshots.newest(99)[0]
    assert snapshots.newest(99)[1] == 20
    assert snapshots.newest(19)[1] == 10


def test_one_that_exists_is_not_written_again(tmp_path: Path) -> None:
    snapshots = Snapshots(str(tmp_path), [10])
    assert snapshots.to_write(10, producers()) == []
    assert len(snapshots.to_write(11, producers())) == 1


def test_between_segments_only_the_newest_stays(tmp_path: Path) -> None:
    snapshots = Snapshots(str(tmp_path))
    for offset in (10, 15, 20, 25, 27):
        snapshots.write(offset, producers())
    snapshots.keep_newest_and({10, 20})
    assert names(tmp_path) == ["10.snapshot", "20.snapshot", "27.snapshot"]


def test_those_of_deleted_segments_are_set_aside(tmp_path: Path) -> None:
    snapshots = Snapshots(str(tmp_path))
    for offset in (10, 20):
        snapshots.write(offset, producers())
    assert len(snapshots.retire_below(20, ".deleted")) == 1
    assert names(tmp_path) == ["10.snapshot.deleted", "20.snapshot"]
