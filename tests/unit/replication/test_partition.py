"""One partition: how far it is committed, who is told, and what is refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.base.errors import ApiError, DiskFull, LogDirOffline, OffsetOutOfRange
from ottla.cluster.image import PartitionImage
from ottla.config.log import LogConfig
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import iter_headers, parse_header
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.control import EndTransactionMarker
from ottla.protocol.records.record import Record
from ottla.replication import metrics
from ottla.replication.partition import Partition, error_code_of
from ottla.storage.validate import ValidatedBatch
from tests.unit.storage.samples import NOW_MS, TOPIC_ID, TP, make_batch, open_log


def placed(*, isr: tuple[int, ...] = (1,), replicas: tuple[int, ...] = (1,), epoch: int = 0):
    return PartitionImage(0, replicas, isr, 1, epoch, 0)


class Sleeper:
    """A long poll that counts how often it is woken."""

    def __init__(self) -> None:
        self.woken = 0

    def wake(self) -> None:
        self.woken += 1


class Watch:
    """Notes who asked for a sync."""

    def __init__(self, flushes: list[Partition]) -> None:
        self.flush = flushes.append
        self.caught_up = lambda partition: None
        self.changed = lambda partition, wake: None
        self.leads = lambda placed: placed.leader == 1


@pytest.fixture
def flushes() -> list[Partition]:
    """Who asked for a sync."""
    return []


def make(tmp_path: Path, flushes: list[Partition], **config: object) -> Partition:
    log = open_log(tmp_path, LogConfig(**config))  # type: ignore[arg-type]
    return Partition(TP, log, placed(), node_id=1, watch=Watch(flushes), now_ms=NOW_MS)


@pytest.fixture
def partition(tmp_path: Path, flushes: list[Partition]) -> Iterator[Partition]:
    """One whose records are committed as soon as they are written."""
    made = make(tmp_path, flushes)
    yield made
    made.log.close()


@pytest.fixture
def synced(tmp_path: Path, flushes: list[Partition]) -> Iterator[Partition]:
    """One whose records are committed once they are synced."""
    made = make(tmp_path, flushes, flush_messages=1)
    yield made
    made.log.close()


def append(partition: Partition, count: int = 1, **options: int) -> int:
    """Append a batch; the offset behind it."""
    batch = memoryview(make_batch(count, **options))
    appended = partition.append(ValidatedBatch(parse_header(batch), batch, -1), NOW_MS)
    return appended.last_offset + 1


def sync(partition: Partition) -> None:
    ticket = partition.log.flush_begin()
    assert ticket is not None
    ticket.run()
    partition.log.flush_done(ticket)
    partition.flushed(None)


def test_what_is_written_is_committed_at_once(
    partition: Partition, flushes: list[Partition]
) -> None:
    sleeper = Sleeper()
    partition.add_waiter(sleeper)
    assert append(partition, 3) == 3
    assert (partition.high_watermark, partition.last_stable_offset) == (3, 3)
    assert (sleeper.woken, flushes) == (1, [])
    partition.remove_waiter(sleeper)
    append(partition)
    assert sleeper.woken == 1


def test_what_has_to_wait_for_a_replica_is_not_acknowledged_at_once(partition: Partition) -> None:
    assert [partition.acknowledges_at_once(acks) for acks in (-1, 0, 1)] == [True, False, True]
    partition.place(placed(isr=(1, 2), replicas=(1, 2)), NOW_MS)
    assert [partition.acknowledges_at_once(acks) for acks in (-1, 1)] == [False, True]
    partition.place(PartitionImage(0, (1, 2), (1, 2), 2, 1, 0), NOW_MS)
    assert not partition.acknowledges_at_once(1)


def test_what_has_to_wait_for_a_sync_is_not_acknowledged_at_once(synced: Partition) -> None:
    assert not any(synced.acknowledges_at_once(acks) for acks in (-1, 1))


def test_where_every_batch_is_synced_nothing_else_is_committed(
    synced: Partition, flushes: list[Partition]
) -> None:
    told: list[tuple[str, int]] = []
    sleeper = Sleeper()
    synced.add_waiter(sleeper)
    for name in ("a", "b"):
        end = append(synced, 2)
        synced.when_committed(end, lambda error, name=name: told.append((name, error)))
    assert (flushes, synced.high_watermark, told, sleeper.woken) == ([synced] * 2, 0, [], 0)
    sync(synced)
    assert (synced.high_watermark, told, sleeper.woken) == (4, [("a", 0), ("b", 0)], 1)


def test_a_batch_sent_again_waits_for_no_more_than_its_own(synced: Partition) -> None:
    told: list[str] = []
    first = append(synced, producer_id=7, sequence=0)
    ticket = synced.log.flush_begin()
    assert ticket is not None
    second = append(synced, producer_id=7, sequence=1)
    synced.when_committed(second, lambda error: told.append("second"))
    synced.when_committed(first, lambda error: told.append("first, sent again"))
    ticket.run()
    synced.log.flush_done(ticket)
    synced.flushed(None)
    assert (synced.high_watermark, told) == (1, ["first, sent again"])


def test_a_failed_sync_fails_whoever_waits_for_it(synced: Partition) -> None:
    told: list[int] = []
    sleeper = Sleeper()
    synced.add_waiter(sleeper)
    synced.when_committed(append(synced), told.append)
    synced.flushed(LogDirOffline("the disk is gone"))
    assert (told, sleeper.woken) == ([ErrorCode.KAFKA_STORAGE_ERROR], 1)
    sync(synced)
    assert told == [ErrorCode.KAFKA_STORAGE_ERROR], "nobody is told twice"


def test_a_topic_that_no_longer_wants_syncs_commits_what_it_has(synced: Partition) -> None:
    append(synced, 5)
    synced.log.config = LogConfig()
    synced.advance_high_watermark()
    assert synced.high_watermark == 5
    synced.log.config = LogConfig(flush_messages=1)
    synced.advance_high_watermark()
    assert synced.high_watermark == 5, "what was committed stays committed"


@pytest.mark.parametrize(
    ("replicas", "isr", "minimum", "enough"),
    [
        ((1,), (1,), 1, True),
        ((1,), (1,), 2, True),  # Kafka asks for no more replicas than there are
        ((1, 2, 3), (1,), 2, False),
        ((1, 2, 3), (1, 3), 2, True),
        ((1, 2), (1,), 3, False),
    ],
)
def test_acks_of_all_need_enough_replicas_in_sync(
    partition: Partition,
    replicas: tuple[int, ...],
    isr: tuple[int, ...],
    minimum: int,
    enough: bool,
) -> None:
    partition.place(placed(replicas=replicas, isr=isr), NOW_MS)
    partition.log.config = LogConfig(min_insync_replicas=minimum)
    if enough:
        partition.check_in_sync()
        return
    with pytest.raises(ApiError) as refused:
        partition.check_in_sync()
    assert refused.value.code == ErrorCode.NOT_ENOUGH_REPLICAS


def test_leader_epochs_are_compared(partition: Partition) -> None:
    partition.place(placed(epoch=5), NOW_MS)
    for claimed, code in ((4, ErrorCode.FENCED_LEADER_EPOCH), (6, ErrorCode.UNKNOWN_LEADER_EPOCH)):
        with pytest.raises(ApiError) as refused:
            partition.check_leader_epoch(claimed)
        assert refused.value.code == code
    for claimed in (-1, 5):
        partition.check_leader_epoch(claimed)


def test_a_new_leader_epoch_wakes_long_polls_and_marks_what_follows(partition: Partition) -> None:
    sleeper = Sleeper()
    append(partition)
    partition.add_waiter(sleeper)
    partition.place(placed(epoch=3), NOW_MS)
    assert sleeper.woken == 1
    append(partition)
    data = partition.read(0, 1 << 20, 2, at_least_one=True).data
    assert [header.leader_epoch for _, header in iter_headers(data)] == [0, 3]


def test_readers_are_told_where_their_log_parts_from_ours(partition: Partition) -> None:
    append(partition, 2)
    partition.place(placed(epoch=3), NOW_MS)
    append(partition, 2)
    assert partition.diverging_epoch(-1, 0) is None
    assert partition.diverging_epoch(0, 2) is None
    assert partition.diverging_epoch(3, 4) is None
    assert partition.diverging_epoch(0, 3) == (0, 2)
    assert partition.diverging_epoch(2, 3) == (0, 2)
    with pytest.raises(OffsetOutOfRange):
        partition.diverging_epoch(4, 4)
    partition.advance_start_offset(1)
    with pytest.raises(OffsetOutOfRange):
        partition.diverging_epoch(0, 0)


@pytest.mark.parametrize(
    ("asked", "start"), [(0, 2), (2, 2), (3, 3), (5, 5), (-1, 5), (6, None), (-2, None)]
)
def test_the_start_moves_up_and_never_past_what_is_committed(
    partition: Partition, asked: int, start: int | None
) -> None:
    append(partition, 5)
    assert partition.advance_start_offset(2) == 2
    if start is None:
        with pytest.raises(OffsetOutOfRange):
            partition.advance_start_offset(asked)
    else:
        assert partition.advance_start_offset(asked) == start == partition.log.start_offset


@pytest.mark.parametrize("offset", [-1, 1, 6])
def test_only_offsets_of_the_log_can_be_read(partition: Partition, offset: int) -> None:
    append(partition, 5)
    partition.advance_start_offset(2)
    with pytest.raises(OffsetOutOfRange):
        partition.read(offset, 1000, 5, at_least_one=True)
    assert partition.read(5, 1000, 5, at_least_one=True).data == b""


def test_a_partition_belongs_to_its_topic(partition: Partition) -> None:
    assert partition.topic_id == TOPIC_ID
    assert not partition.syncs_every_batch


def test_every_failure_has_a_code() -> None:
    assert error_code_of(ApiError(ErrorCode.INVALID_RECORD)) == ErrorCode.INVALID_RECORD
    assert error_code_of(OffsetOutOfRange("x")) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert error_code_of(DiskFull("x")) == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_marker_ends_a_transaction_and_wakes_careful_readers(partition: Partition) -> None:
    append_in_transaction(partition, epoch=3)
    assert (partition.high_watermark, partition.last_stable_offset) == (1, 0)
    sleeper = Sleeper()
    partition.add_waiter(sleeper)
    marker = EndTransactionMarker(committed=False, coordinator_epoch=0)
    assert partition.end_transaction(7, 4, marker, NOW_MS, must_bump=True) == 2
    assert (partition.high_watermark, partition.last_stable_offset) == (2, 2)
    assert partition.aborted_transactions(0, 2) == ((7, 0),)
    assert sleeper.woken == 1


def test_a_marker_that_comes_late_ends_nothing(partition: Partition) -> None:
    append_in_transaction(partition, epoch=3)
    marker = EndTransactionMarker(committed=True, coordinator_epoch=0)
    with pytest.raises(ApiError) as refused:
        partition.end_transaction(7, 3, marker, NOW_MS, must_bump=True)
    assert refused.value.code == ErrorCode.INVALID_PRODUCER_EPOCH
    with pytest.raises(ApiError):
        partition.end_transaction(7, 2, marker, NOW_MS)
    assert partition.last_stable_offset == 0
    partition.end_transaction(7, 3, marker, NOW_MS)
    assert partition.last_stable_offset == 2


def append_in_transaction(partition: Partition, epoch: int) -> None:
    data = build_batch(
        [Record(timestamp=NOW_MS, value=b"v")],
        producer_id=7,
        producer_epoch=epoch,
        base_sequence=0,
        transactional=True,
    )
    batch = memoryview(data)
    partition.append(ValidatedBatch(parse_header(batch), batch, -1), NOW_MS)


def test_a_fresh_leader_does_not_tell_the_end_before_it_knows_it(tmp_path, flushes) -> None:
    partition = make(tmp_path, flushes)
    append(partition, 3)
    partition.log.high_watermark = 1  # as a follower knows it
    partition.place(placed(isr=(1, 2), replicas=(1, 2), epoch=1), NOW_MS)
    with pytest.raises(ApiError) as refused:
        partition.check_end_known()
    assert refused.value.code == ErrorCode.OFFSET_NOT_AVAILABLE
    partition.replica_fetched(2, 0, 3, NOW_MS)
    partition.check_end_known()
    partition.log.close()


def replicated(tmp_path: Path, flushes: list[Partition]) -> Partition:
    """One with a follower in sync that holds all of its five records."""
    partition = make(tmp_path, flushes)
    partition.place(placed(isr=(1, 2), replicas=(1, 2, 3), epoch=1), NOW_MS)
    append(partition, 5)
    partition.replica_fetched(2, 0, 5, NOW_MS, 0)
    assert partition.high_watermark == 5
    return partition


def test_records_are_deleted_once_every_replica_in_sync_begins_behind_them(
    tmp_path, flushes
) -> None:
    partition, told = replicated(tmp_path, flushes), []
    assert partition.advance_start_offset(3) == 3
    partition.when_trimmed(3, told.append)
    partition.replica_fetched(2, 0, 5, NOW_MS, 0)
    assert told == [], "a failover would bring them back"
    partition.replica_fetched(2, 0, 5, NOW_MS, 3)
    assert told == [0]
    partition.log.close()


def test_a_deletion_waits_for_a_replica_only_as_long_as_that_is_in_sync(tmp_path, flushes) -> None:
    partition, told = replicated(tmp_path, flushes), []
    partition.advance_start_offset(3)
    partition.when_trimmed(3, told.append)
    partition.place(placed(isr=(1,), replicas=(1, 2, 3), epoch=1), NOW_MS)
    assert told == [0]
    partition.log.close()


def test_a_replica_that_would_bring_deleted_records_back_does_not_join(tmp_path, flushes) -> None:
    partition = replicated(tmp_path, flushes)
    partition.advance_start_offset(3)
    assert partition.leadership is not None
    partition.replica_fetched(3, 7, 5, NOW_MS, 0)
    assert partition.leadership.expansion(5, {1: 0, 2: 0, 3: 7}) is None
    partition.replica_fetched(3, 7, 5, NOW_MS, 3)
    joined = partition.leadership.expansion(5, {1: 0, 2: 0, 3: 7})
    assert joined is not None
    assert joined.members == (1, 2, 3)
    partition.log.close()


def test_a_deletion_ends_with_the_leadership(tmp_path, flushes) -> None:
    partition, told = replicated(tmp_path, flushes), []
    partition.advance_start_offset(3)
    partition.when_trimmed(3, told.append)
    partition.place(placed(isr=(1, 2), replicas=(1, 2, 3), epoch=2)._replace(leader=2), NOW_MS)
    assert told == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    partition.log.close()


def test_what_was_deleted_is_not_the_beginning_of_an_open_transaction(partition: Partition) -> None:
    append_in_transaction(partition, epoch=3)
    append(partition, 5)
    partition.advance_start_offset(4)
    assert (partition.log.start_offset, partition.last_stable_offset) == (4, 4)


def test_a_partition_is_under_replicated_while_its_leader_misses_a_replica(
    tmp_path, flushes
) -> None:
    partition = make(tmp_path, flushes)
    shrinks, expands = metrics.ISR_SHRINKS.value, metrics.ISR_EXPANDS.value
    for isr, adding, expected in (
        ((1, 2), (), True),
        ((1, 2, 3), (), False),
        ((1, 2), (3,), False),
    ):
        now = placed(isr=isr, replicas=(1, 2, 3), epoch=1)._replace(adding=adding)
        partition.place(now, NOW_MS)
        assert partition.is_under_replicated is expected
    assert metrics.ISR_SHRINKS.value - shrinks == 1
    assert metrics.ISR_EXPANDS.value - expands == 2
    partition.place(placed(isr=(2,), replicas=(1, 2, 3), epoch=2)._replace(leader=2), NOW_MS)
    assert not partition.is_under_replicated, "the leader counts it"
    partition.log.close()
