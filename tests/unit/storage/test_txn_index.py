"""The transaction index lists aborted transactions by range."""

from pathlib import Path

import pytest

from ottla.base.errors import CorruptLog
from ottla.storage.txn_index import AbortedTxn, TxnIndex

FIRST = AbortedTxn(7, 10, 20, 15)
SECOND = AbortedTxn(8, 15, 30, 31)
THIRD = AbortedTxn(7, 40, 50, 51)


def make_index(path: Path, *entries: AbortedTxn) -> TxnIndex:
    index = TxnIndex(str(path / "0.txnindex"), 0)
    index.reset()
    for entry in entries:
        index.append(entry)
    return index


def test_an_index_without_entries_makes_no_file(tmp_path: Path) -> None:
    index = make_index(tmp_path)
    assert not index.flush()
    index.seal()
    assert not Path(index.path).exists()
    assert index.all() == []


def test_entries_survive_in_kafkas_34_bytes(tmp_path: Path) -> None:
    index = make_index(tmp_path, FIRST, SECOND)
    index.seal()
    assert Path(index.path).stat().st_size == 68
    assert index.all() == [FIRST, SECOND]


def test_only_transactions_that_touch_the_range_are_collected(tmp_path: Path) -> None:
    index = make_index(tmp_path, FIRST, SECOND, THIRD)
    assert index.collect(0, 15) == ([FIRST], True)
    assert index.collect(21, 40) == ([SECOND], True)
    assert index.collect(0, 100) == ([FIRST, SECOND, THIRD], False)


def test_truncation_drops_markers_at_and_above(tmp_path: Path) -> None:
    index = make_index(tmp_path, FIRST, SECOND)
    index.flush()
    index.truncate_to(30)
    assert index.all() == [FIRST]
    index.flush()
    assert Path(index.path).stat().st_size == 34


def test_an_unknown_version_is_refused(tmp_path: Path) -> None:
    index = make_index(tmp_path, FIRST)
    index.seal()
    path = Path(index.path)
    path.write_bytes(b"\0\x09" + path.read_bytes()[2:])
    with pytest.raises(CorruptLog, match="version 9"):
        index.all()
