"""What a task does when the broker, the log or the bytes are not what it was promised."""

from collections.abc import Callable

import pytest

from ottla.base.errors import OttlaError, ProtocolError
from ottla.base.ids import TopicPartition
from ottla.pipeline.reading import ROWS_BYTES, DataLoss, Reading, read_range
from ottla.pipeline.reading_brokers import brokers_for
from ottla.pipeline.source_ranges import Range
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
    reading = how(broker, timeout_ms=300)
    with pytest.raises(OttlaError, match="reaches to offset 30 now, though it reached to 31"):
        list(read_range(whole(topic, RECORDS + 1), reading))


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
