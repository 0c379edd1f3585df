"""Where a reader may start: offsets, times, the ends, and what lies outside them."""

import time

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    TopicPartition,
)

from tests.support.clients import consume, consumer, create_topic, produce, read_to_end

pytestmark = pytest.mark.compat

NOW_MS = int(time.time() * 1000)


@pytest.fixture(scope="module")
def filled(bootstrap: str) -> str:
    """A topic of 1,000 records in batches of 100, one every 10 ms."""
    topic = create_topic(bootstrap, "filled")
    records = [{"value": b"%d" % n, "timestamp": NOW_MS + n * 10} for n in range(1000)]
    produce(bootstrap, topic, records, batch_num_messages=100, compression_type="lz4")
    return topic


@pytest.fixture
def reader(bootstrap: str) -> Consumer:
    client = consumer(bootstrap)
    yield client
    client.close()


@pytest.mark.parametrize("offset", [0, 1, 99, 100, 550, 999, 1000])
def test_reading_from_an_offset_starts_there(bootstrap: str, filled: str, offset: int) -> None:
    found = [message.offset() for message in consume(bootstrap, filled, offset=offset)]
    assert found == list(range(offset, 1000))


@pytest.mark.parametrize(("start", "first"), [(OFFSET_BEGINNING, 0), (OFFSET_END, 1000)])
def test_reading_from_an_end(bootstrap: str, filled: str, start: int, first: int) -> None:
    found = [message.offset() for message in consume(bootstrap, filled, offset=start)]
    assert found == list(range(first, 1000))


@pytest.mark.parametrize("n", [0, 1, 99, 100, 101, 573, 999])
def test_a_time_leads_to_its_very_record(reader: Consumer, filled: str, n: int) -> None:
    for stamp in (NOW_MS + n * 10, NOW_MS + n * 10 - 9):
        [found] = reader.offsets_for_times([TopicPartition(filled, 0, stamp)], 10)
        assert found.offset == n


def test_a_time_after_the_last_record_leads_to_the_end(reader: Consumer, filled: str) -> None:
    [found] = reader.offsets_for_times([TopicPartition(filled, 0, NOW_MS + 10_000_000)], 10)
    assert found.offset == OFFSET_END


def test_a_time_finds_the_first_record_when_stamps_go_back_and_forth(
    bootstrap: str, reader: Consumer, topic: str
) -> None:
    stamps = [NOW_MS + delta for delta in (50, 10, 70, 20, 60)]
    produce(bootstrap, topic, [{"value": b"v", "timestamp": stamp} for stamp in stamps])
    for asked, offset in ((5, 0), (51, 2), (55, 2), (70, 2)):
        [found] = reader.offsets_for_times([TopicPartition(topic, 0, NOW_MS + asked)], 10)
        assert found.offset == offset


def test_watermarks_are_the_two_ends(reader: Consumer, filled: str) -> None:
    assert reader.get_watermark_offsets(TopicPartition(filled, 0), timeout=10) == (0, 1000)


def test_an_offset_beyond_the_end_is_out_of_range(reader: Consumer, filled: str) -> None:
    reader.assign([TopicPartition(filled, 0, 5000)])
    with pytest.raises((KafkaException, AssertionError)) as failure:
        read_to_end(reader)
    code = failure.value.args[0].code()
    assert code in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)


def test_a_reset_policy_takes_an_outsider_to_the_beginning(bootstrap: str, filled: str) -> None:
    messages = consume(bootstrap, filled, offset=5000, auto_offset_reset="earliest")
    assert len(messages) == 1000


def test_seeking_back_reads_again(reader: Consumer, filled: str) -> None:
    reader.assign([TopicPartition(filled, 0, 990)])
    assert len(read_to_end(reader)) == 10
    reader.seek(TopicPartition(filled, 0, 400))
    assert [message.offset() for message in read_to_end(reader)] == list(range(400, 1000))


def test_one_consumer_reads_many_partitions(bootstrap: str, reader: Consumer) -> None:
    topic = create_topic(bootstrap, partitions=8)
    produce(bootstrap, topic, [{"value": b"%d" % n, "partition": n % 8} for n in range(800)])
    reader.assign([TopicPartition(topic, partition, 0) for partition in range(8)])
    messages = read_to_end(reader, partitions=8)
    assert sorted(int(message.value()) for message in messages) == list(range(800))


def test_a_small_fetch_limit_still_reads_everything(bootstrap: str, topic: str) -> None:
    values = [b"x" * 50_000 for _ in range(20)]
    produce(bootstrap, topic, values)
    messages = consume(
        bootstrap,
        topic,
        max_partition_fetch_bytes=1000,
        fetch_max_bytes=1000,
        message_max_bytes=1000,
    )
    assert len(messages) == 20
