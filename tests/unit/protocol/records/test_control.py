"""The markers that end a transaction."""

import pytest
from kafka.record.default_records import DefaultRecordBatch

from ottla.base.errors import ProtocolError
from ottla.protocol.records.batch import parse_header
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.control import (
    EndTransactionMarker,
    build_end_transaction_marker,
    read_end_transaction_marker,
)
from ottla.protocol.records.record import Record
from tests.unit.protocol.records.samples import NOW_MS


@pytest.mark.parametrize("committed", [True, False])
def test_a_marker_survives_and_others_understand_it(committed):
    marker = EndTransactionMarker(committed, coordinator_epoch=31)
    batch = build_end_transaction_marker(
        marker, producer_id=8, producer_epoch=2, now_ms=NOW_MS, base_offset=50, leader_epoch=1
    )
    assert read_end_transaction_marker(b"before" + batch, 6) == marker
    header = parse_header(batch)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (8, 2, -1)
    (theirs,) = DefaultRecordBatch(batch)
    assert (theirs.commit, theirs.abort) == (committed, not committed)
    assert (header.base_offset, header.leader_epoch, theirs.timestamp) == (50, 1, NOW_MS)
    assert DefaultRecordBatch(batch).validate_crc()


def test_a_marker_of_a_later_version_is_read_as_far_as_it_is_known():
    later = Record(key=b"\0\1\0\1", value=b"\0\1\0\0\0\x09 and more", headers=(("h", b""),))
    assert read_end_transaction_marker(build_batch([later], control=True)) == (True, 9)


def test_a_marker_that_ends_in_the_middle_is_refused():
    marker = EndTransactionMarker(True, coordinator_epoch=31)
    batch = build_end_transaction_marker(marker, producer_id=8, producer_epoch=2, now_ms=NOW_MS)
    with pytest.raises(ProtocolError):
        read_end_transaction_marker(batch[:-1])


def test_other_control_records_and_emptied_batches_are_no_markers():
    leader_change = Record(key=b"\0\0\0\2", value=b"\0\0")
    assert read_end_transaction_marker(build_batch([leader_change], control=True)) is None
    assert read_end_transaction_marker(build_batch([], control=True)) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [(None, None), (b"\0\0\0", b"\0" * 6), (b"\0\0\0\1", None), (b"\0\0\0\1", b"\0" * 5)],
)
def test_a_torn_marker_is_refused(key, value):
    with pytest.raises(ProtocolError):
        read_end_transaction_marker(build_batch([Record(key=key, value=value)], control=True))


def test_records_of_a_client_are_no_markers():
    with pytest.raises(ProtocolError, match="outside of a control batch"):
        read_end_transaction_marker(build_batch([Record(key=b"\0\0\0\1", value=b"\0" * 6)]))
