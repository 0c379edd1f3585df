"""Leader epochs answer where a former leader's records end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base.errors import CorruptLog
from ottla.storage.epochs import LeaderEpochs


def make_epochs(*entries: tuple[int, int]) -> LeaderEpochs:
    epochs = LeaderEpochs()
    for epoch, start in entries:
        epochs.assign(epoch, start)
    return epochs


@pytest.mark.parametrize(
    ("asked", "answer"),
    [(-1, (-1, -1)), (1, (1, 10)), (2, (2, 40)), (3, (2, 40)), (4, (4, 100)), (5, (-1, -1))],
)
def test_end_offset_for_an_epoch(asked: int, answer: tuple[int, int]) -> None:
    assert make_epochs((2, 10), (4, 40)).end_offset_for(asked, 100) == answer


def test_an_epoch_without_records_is_replaced() -> None:
    epochs = make_epochs((1, 0), (2, 10), (3, 10))
    assert epochs.entries() == [(1, 0), (3, 10)]
    assert epochs.latest == 3


def test_an_old_epoch_changes_nothing() -> None:
    epochs = make_epochs((5, 0))
    epochs.assign(4, 10)
    epochs.assign(5, 20)
    assert epochs.entries() == [(5, 0)]


def test_truncation_at_both_ends() -> None:
    epochs = make_epochs((1, 0), (2, 10), (3, 20), (4, 30))
    epochs.truncate_from_end(30)
    assert epochs.latest == 3
    epochs.truncate_from_start(15)
    assert epochs.entries() == [(2, 15), (3, 20)]
    assert [epochs.epoch_of(offset) for offset in (14, 15, 25)] == [-1, 2, 3]


def test_the_file_is_kafkas() -> None:
    assert make_epochs((1, 0), (2, 10)).encode() == b"0\n2\n1 0\n2 10\n"


@pytest.mark.parametrize("data", [b"", b"7\n0\n", b"0\nx\n", b"0\n1\n1 2 3\n", b"0\n2\n1 1\n"])
def test_a_malformed_file_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptLog):
        LeaderEpochs.decode(data)


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 1000)), max_size=30))
def test_columns_ascend_whatever_is_assigned_and_the_file_round_trips(
    assigned: list[tuple[int, int]],
) -> None:
    epochs = make_epochs(*assigned)
    entries = epochs.entries()
    assert entries == sorted(set(entries))
    assert len({start for _, start in entries}) == len(entries)
    assert LeaderEpochs.decode(epochs.encode()).entries() == entries
