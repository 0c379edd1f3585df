"""What a task does when the broker, the log or the bytes are not what it was promised."""

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from ottla.base.errors import OttlaError, ProtocolError
from ottla.base.ids import TopicPartition
from ottla.pipeline.reading import ROWS_BYTES, DataLoss, Reading, read_range
from ottla.pipeline.reading_brokers import brokers_for
from ottla.pipeline.source_ranges import Range
from tests.compat.test_transactions import transactional
from tests.pipeline.topics import delete_before, delete_topic
from tests.support.broker import OttlaBroker
from tests.support.clients import create_topic, produce

RECORDS = 30


@pytest.fixture
def broker(own_broker: Callable[..., OttlaBroker]) -> OttlaBroker:
    return own_broker()


@pytest.fixture
def topic(broker: OttlaBroker) -> str:
    """A topic in which every record is a batch of its own."""
    name = create_topic(broker.bootstrap)
    produce(broker.bootstrap, name, [b"%d" % n for n in range(RECORDS)], batch_num_messages=1)
    return name


def how(broker: OttlaBroker, *, timeout_ms: int = 20_000, fails: bool = True) -> Reading:
    """One batch with each fetch."""
    client = {"bootstrap.servers": broker.bootstrap, "max.partition.fetch.bytes": "1"}
    return Reading(client, False, False, fails, timeout_ms)


def whole(topic: str, end: int = RECORDS) -> Range:
    return Range(TopicPartition(topic, 0), 0, end)


def values(topic: str, reading: Reading) -> list[bytes]:
    batches = read_range(whole(topic), reading)
    return [value for batch in batches for value in batch.column("value").to_pylist()]


def test_a_broker_that_restarts_is_waited_for(broker: OttlaBroker, topic: str) -> None:
    batches = read_range(whole(topic), how(broker))
    found = [next(batches)]
    broker.restart()
    found += batches
    assert [batch.column("offset").to_pylist() for batch in found] == [[n] for n in range(RECORDS)]


def test_a_worker_keeps_its_connection(broker: OttlaBroker, topic: str) -> None:
    reading = how(broker)
    assert len(values(topic, reading)) == RECORDS
    brokers = brokers_for(reading.client)
    address = brokers.leader(TopicPartition(topic, 0))
    kept = brokers.take(address)
    brokers.give_back(kept)
    assert len(values(topic, reading)) == RECORDS
    again = brokers.take(address)
    brokers.give_back(again)
    assert again is kept


@pytest.mark.parametrize(
    ("partition_bytes", "all_bytes", "fetches"),
    [("1", None, RECORDS), (None, "1", RECORDS), ("1", "1000000", RECORDS), (None, "1000000", 1)],
)
def test_the_smaller_of_two_sizes_limits_a_fetch(
    broker: OttlaBroker,
    topic: str,
    partition_bytes: str | None,
    all_bytes: str | None,
    fetches: int,
) -> None:
    sizes = {"max.partition.fetch.bytes": partition_bytes, "fetch.max.bytes": all_bytes}
    given = {name: size for name, size in sizes.items() if size is not None}
    reading = replace(how(broker), client={"bootstrap.servers": broker.bootstrap, **given})
    assert len(list(read_range(whole(topic), reading))) == fetches


def test_a_fetch_waits_for_records_as_long_as_it_is_told(broker: OttlaBroker, topic: str) -> None:
    patient = {**how(broker).client, "fetch.max.wait.ms": "900"}
    behind = Range(TopicPartition(topic, 0), RECORDS, RECORDS + 1)
    began = time.monotonic()
    with pytest.raises(DataLoss, match="reaches to offset 30 now"):
        list(read_range(behind, replace(how(broker, timeout_ms=1), client=patient)))
    assert time.monotonic() - began >= 0.9


def test_a_read_that_is_given_up_leaves_no_answer_for_the_next(
    broker: OttlaBroker, topic: str
) -> None:
    reading = how(broker)
    batches = read_range(whole(topic), reading)
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert len(values(topic, reading)) == RECORDS


def test_records_that_go_while_they_are_read(broker: OttlaBroker, topic: str) -> None:
    delete_before(broker.bootstrap, topic, 25)
    with pytest.raises(DataLoss, match=r"offsets 0 to 29 of .* holds 25 to 29 only"):
        values(topic, how(broker))
    with pytest.warns(UserWarning, match="what is gone is passed over"):
        found = values(topic, how(broker, fails=False))
    assert found == [b"%d" % n for n in range(25, RECORDS)]


def test_a_topic_that_is_deleted(broker: OttlaBroker, topic: str) -> None:
    delete_topic(broker.bootstrap, topic)
    with pytest.raises(DataLoss, match=f"{topic}-0 .* the topic was deleted"):
        values(topic, how(broker, timeout_ms=300))
    with pytest.warns(UserWarning, match="was deleted, and is passed over"):
        assert values(topic, how(broker, timeout_ms=300, fails=False)) == []


def test_a_log_that_is_shorter_than_it_was(broker: OttlaBroker, topic: str) -> None:
    longer = whole(topic, RECORDS + 1)
    with pytest.raises(DataLoss, match="reaches to offset 30 now, though it reached to 31"):
        list(read_range(longer, how(broker, timeout_ms=300)))
    with pytest.warns(UserWarning, match="shorter than it was: .* what is gone is passed over"):
        found = list(read_range(longer, how(broker, timeout_ms=300, fails=False)))
    assert len(found) == RECORDS


def test_a_transaction_that_stays_open_is_no_loss(broker: OttlaBroker, topic: str) -> None:
    writer = transactional(broker.bootstrap)
    writer.begin_transaction()
    writer.produce(topic, b"undecided")
    writer.flush(20)
    reading = replace(how(broker, timeout_ms=300, fails=False), read_committed=True)
    with pytest.raises(OttlaError, match="a transaction is still open at offset 30"):
        list(read_range(whole(topic, RECORDS + 1), reading))
    writer.abort_transaction(20)


def test_a_broker_that_is_gone(broker: OttlaBroker, topic: str) -> None:
    batches = read_range(whole(topic), how(broker, timeout_ms=300))
    next(batches)
    broker.kill()
    with pytest.raises(OttlaError, match=r"could not be read from offset \d+ on, .*pollTimeoutMs"):
        list(batches)


def test_a_corrupt_batch_is_named(broker: OttlaBroker, topic: str) -> None:
    [log] = broker.data_dir.glob(f"**/{topic}-0/*.log")
    content = bytearray(log.read_bytes())
    content[-3] ^= 0xFF
    with log.open("r+b") as file:
        file.write(content)
    with pytest.raises(
        ProtocolError, match=f"{topic}-0 holds a corrupt batch at or after offset 29"
    ):
        values(topic, how(broker))


def test_what_compresses_well_comes_in_parts(broker: OttlaBroker) -> None:
    topic = create_topic(broker.bootstrap)
    produce(broker.bootstrap, topic, [bytes(500_000)] * 160, compression_type="zstd")
    client = {"bootstrap.servers": broker.bootstrap}
    batches = read_range(whole(topic, 160), Reading(client, False, False, True, 20_000))
    sizes = [batch.nbytes for batch in batches]
    assert len(sizes) > 1
    assert max(sizes) <= ROWS_BYTES + 1_000_000
    assert sum(sizes) >= 80_000_000
