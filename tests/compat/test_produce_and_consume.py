"""What goes in comes out: confluent-kafka (librdkafka) against the broker."""

import os
import time
from collections import Counter

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME

from tests.support.clients import consume, create_topic, produce
from tests.support.wire import Wire, codecs_of, fetch_request, fetched

pytestmark = pytest.mark.compat

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_comes_back_as_it_went_in(bootstrap: str, topic: str, codec: str) -> None:
    values = [b"value %06d " % n * 5 for n in range(2000)]
    produce(bootstrap, topic, values, compression_type=codec, linger_ms=50)
    assert [message.value() for message in consume(bootstrap, topic)] == values
    assert stored_codecs(bootstrap, topic) == {CODECS.index(codec)}


def stored_codecs(bootstrap: str, topic: str) -> set[int]:
    """How the log is really compressed: librdkafka drops a codec it thinks a broker lacks."""
    with Wire(bootstrap) as wire:
        return codecs_of(fetched(wire.ask(fetch_request(topic, 0))).records)


def test_values_that_do_not_compress_come_back_too(bootstrap: str, topic: str) -> None:
    values = [os.urandom(10_000) for _ in range(50)]
    produce(bootstrap, topic, values, compression_type="lz4")
    assert [message.value() for message in consume(bootstrap, topic)] == values


def test_headers_keep_their_order_their_repeats_and_their_nulls(bootstrap: str, topic: str) -> None:
    headers = [("a", b"1"), ("b", None), ("a", b""), ("é", b"\xff\x00"), ("", b"empty name")]
    produce(bootstrap, topic, [{"value": b"v", "headers": headers}])
    [message] = consume(bootstrap, topic)
    assert message.headers() == headers


def test_null_and_empty_are_different_for_keys_and_values(bootstrap: str, topic: str) -> None:
    records = [(None, None), (b"", None), (None, b""), (b"", b""), (b"k", b"v")]
    produce(bootstrap, topic, [{"key": key, "value": value} for key, value in records])
    assert [(message.key(), message.value()) for message in consume(bootstrap, topic)] == records


def test_timestamps_are_the_producers_own(bootstrap: str, topic: str) -> None:
    now_ms = int(time.time() * 1000)
    stamps = [now_ms, now_ms - 3_600_000, now_ms - 1, now_ms + 60_000]
    produce(bootstrap, topic, [{"value": b"v", "timestamp": stamp} for stamp in stamps])
    found = [message.timestamp() for message in consume(bootstrap, topic)]
    assert found == [(TIMESTAMP_CREATE_TIME, stamp) for stamp in stamps]


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_log_append_time_replaces_them(bootstrap: str, codec: str) -> None:
    topic = create_topic(bootstrap, message_timestamp_type="LogAppendTime")
    before_ms = int(time.time() * 1000)
    records = [{"value": b"v", "timestamp": 1_000_000 + n} for n in range(3)]
    delivered = produce(bootstrap, topic, records, compression_type=codec)
    after_ms = int(time.time() * 1000)
    found = [message.timestamp() for message in consume(bootstrap, topic, check_crcs=True)]
    assert {kind for kind, _ in found} == {TIMESTAMP_LOG_APPEND_TIME}
    assert all(before_ms <= stamp <= after_ms for _, stamp in found)
    assert [message.timestamp()[1] for message in delivered] == [stamp for _, stamp in found]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_all_acks_are_served(bootstrap: str, topic: str, acks: str) -> None:
    delivered = produce(bootstrap, topic, [b"%d" % n for n in range(500)], acks=acks)
    messages = consume_exactly(bootstrap, topic, 500)
    assert [message.value() for message in messages] == [b"%d" % n for n in range(500)]
    if acks != "0":
        assert [message.offset() for message in delivered] == list(range(500))


def consume_exactly(bootstrap: str, topic: str, count: int) -> list:
    """With acks=0 the last records may still be on their way: read until they are there."""
    messages: list = []
    deadline = time.monotonic() + 10
    while len(messages) < count and time.monotonic() < deadline:
        messages += consume(bootstrap, topic, offset=len(messages))
    return messages


def test_an_idempotent_producer_keeps_order_and_offsets(bootstrap: str, topic: str) -> None:
    values = [b"%d" % n for n in range(20_000)]
    delivered = produce(bootstrap, topic, values, enable_idempotence=True, batch_num_messages=500)
    assert [message.offset() for message in delivered] == list(range(20_000))
    assert [message.value() for message in consume(bootstrap, topic)] == values


def test_reading_committed_sees_everything_when_there_are_no_transactions(
    bootstrap: str, topic: str
) -> None:
    values = [b"%d" % n for n in range(100)]
    produce(bootstrap, topic, values)
    for level in ("read_committed", "read_uncommitted"):
        messages = consume(bootstrap, topic, isolation_level=level)
        assert [message.value() for message in messages] == values


def test_every_partition_has_its_own_offsets(bootstrap: str) -> None:
    topic = create_topic(bootstrap, partitions=3)
    delivered = produce(bootstrap, topic, [{"value": b"v", "partition": n % 3} for n in range(30)])
    assert Counter(message.partition() for message in delivered) == {0: 10, 1: 10, 2: 10}
    for partition in range(3):
        messages = consume(bootstrap, topic, partition)
        assert [message.offset() for message in messages] == list(range(10))


@pytest.mark.parametrize("stored", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_a_topic_may_choose_the_codec_itself(bootstrap: str, stored: str) -> None:
    topic = create_topic(bootstrap, compression_type=stored)
    values = [b"value %06d " % n * 5 for n in range(500)]
    produce(bootstrap, topic, values[:250], compression_type="gzip")
    produce(bootstrap, topic, values[250:], compression_type="none")
    messages = consume(bootstrap, topic, check_crcs=True)
    assert [message.value() for message in messages] == values
    assert stored_codecs(bootstrap, topic) == {CODECS.index(stored.replace("uncompressed", "none"))}
