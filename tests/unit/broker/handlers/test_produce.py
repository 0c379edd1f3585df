"""Produce: what is appended, what is refused, and when the answer comes."""

import time
import uuid

import pytest

from ottla.protocol.apis.find_coordinator import FindCoordinatorRequest
from ottla.protocol.codec import encode_request
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import iter_headers
from ottla.protocol.records.compression import Codec
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import NOW_MS, Client
from tests.unit.broker.handlers.records import (
    batch,
    fetch,
    produce,
    produce_request,
    receive,
    send,
    topic_id,
    values,
)

BY_NAME = range(3, 13)
BY_ID = 13


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("version", [*BY_NAME, BY_ID])
def test_every_version_appends(client: Client, version: int, acks: int) -> None:
    name = client.new_topic()
    topic = topic_id(client, name) if version == BY_ID else name
    for offset in (0, 2):
        result = produce(client, topic, batch(b"a", b"b"), version=version, acks=acks)
        assert (result.error_code, result.base_offset) == (ErrorCode.NONE, offset)
        assert result.log_append_time_ms == -1
        assert result.log_start_offset == (0 if version >= 5 else -1)
    assert values(fetch(client, name).records) == [b"a", b"b"] * 2


@pytest.mark.parametrize("version", range(3))
def test_versions_that_are_advertised_for_old_clients_only_close_the_connection(
    client: Client, version: int
) -> None:
    client.send(b"\0\0\0\x14" + bytes([0, 0, 0, version]) + b"\0\0\0\1\xff\xff" + bytes(10))
    with pytest.raises((EOFError, ConnectionResetError)):
        client.receive()


def test_without_acks_there_is_no_answer(client: Client) -> None:
    topic = client.new_topic()
    silent, loud = (produce_request({topic: {0: batch(b"v")}}, acks) for acks in (0, 1))
    send(client, (silent, 9), (silent, 9), (loud, 9))
    [answered] = receive(client, loud, 9, 2).responses
    assert answered.partition_responses[0].base_offset == 2


def test_without_acks_a_refused_batch_closes_the_connection(client: Client) -> None:
    send(client, (produce_request({"no-such-topic": {0: batch(b"v")}}, acks=0), 9))
    with pytest.raises((EOFError, ConnectionResetError)):
        client.receive()


@pytest.mark.parametrize("acks", [2, -2, 32767])
def test_other_acks_do_not_exist(client: Client, acks: int) -> None:
    topic = client.new_topic()
    result = produce(client, topic, batch(b"v"), acks=acks)
    assert (result.error_code, result.base_offset) == (ErrorCode.INVALID_REQUIRED_ACKS, -1)
    assert fetch(client, topic, max_wait_ms=0).high_watermark == 0


def test_unknown_topics_partitions_and_ids_are_told(client: Client) -> None:
    topic = client.new_topic()
    unknown = produce(client, "no-such-topic", batch(b"v"))
    assert (unknown.error_code, unknown.base_offset) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    beyond = produce(client, topic, batch(b"v"), partition=1)
    assert beyond.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for wrong in (uuid.uuid4(), uuid.UUID(int=0)):
        result = produce(client, wrong, batch(b"v"), version=BY_ID)
        assert result.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_one_bad_partition_among_several_topics_spoils_nothing_else(client: Client) -> None:
    first, second = client.new_topic(2), client.new_topic(2)
    bad = batch(b"bad")
    bad[-1] ^= 1
    request = produce_request(
        {
            first: {0: batch(b"a"), 1: bad},
            "no-such-topic": {0: batch(b"b")},
            second: {7: batch(b"c"), 1: batch(b"d")},
        }
    )
    codes = {
        (topic.name, part.index): part.error_code
        for topic in client.ask(request, 12).responses
        for part in topic.partition_responses
    }
    assert codes == {
        (first, 0): ErrorCode.NONE,
        (first, 1): ErrorCode.CORRUPT_MESSAGE,
        ("no-such-topic", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (second, 7): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (second, 1): ErrorCode.NONE,
    }
    assert values(fetch(client, second, partition=1).records) == [b"d"]


@pytest.mark.parametrize("version", [3, 7, 8, 9, 12])
def test_a_wrong_crc_is_told_in_every_shape_of_the_response(client: Client, version: int) -> None:
    topic = client.new_topic()
    wrong = batch(b"value")
    wrong[-2] ^= 0x40
    result = produce(client, topic, wrong, version=version)
    assert (result.error_code, result.base_offset) == (ErrorCode.CORRUPT_MESSAGE, -1)
    assert result.error_message is None or version >= 8
    assert fetch(client, topic, max_wait_ms=0).high_watermark == 0


def test_a_batch_may_be_as_large_as_the_topic_says_and_not_a_byte_larger(client: Client) -> None:
    fits = batch(b"x" * 5000)
    topic = client.new_topic(max_message_bytes=len(fits))
    assert produce(client, topic, fits).error_code == ErrorCode.NONE
    assert produce(client, topic, batch(b"x" * 5001)).error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_no_batch_is_larger_than_a_segment(client: Client) -> None:
    topic = client.new_topic(segment_bytes=1_048_576, max_message_bytes=3_000_000)
    result = produce(client, topic, batch(b"x" * 1_048_576))
    assert result.error_code == ErrorCode.RECORD_LIST_TOO_LARGE
    assert produce(client, topic, batch(b"x" * 1_000_000)).base_offset == 0


@pytest.mark.parametrize("acks", [1, -1])
def test_a_topic_of_one_replica_cannot_ask_for_two(client: Client, acks: int) -> None:
    topic = client.new_topic(min_insync_replicas=2)
    assert produce(client, topic, batch(b"v"), acks=acks).error_code == ErrorCode.NONE


@pytest.mark.parametrize("version", range(3, 8))
def test_zstd_needs_a_client_that_knows_it(client: Client, version: int) -> None:
    topic = client.new_topic()
    result = produce(client, topic, batch(b"v", codec=Codec.ZSTD), version=version)
    known = version >= 7
    expected = ErrorCode.NONE if known else ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert result.error_code == expected


def test_a_batch_of_no_transaction_that_anybody_began_is_refused(
    client: Client, ottla_only: None
) -> None:
    topic = client.new_topic()
    records = batch(b"v", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    assert produce(client, topic, records).error_code != ErrorCode.NONE
    assert fetch(client, topic, max_wait_ms=0).high_watermark == 0


def test_records_get_the_time_of_their_arrival_where_the_topic_says_so(client: Client) -> None:
    topic = client.new_topic(message_timestamp_type="LogAppendTime")
    before = int(time.time() * 1000)
    result = produce(client, topic, batch(b"a", b"b", timestamp=NOW_MS - 10**9))
    assert before <= result.log_append_time_ms <= int(time.time() * 1000)
    records = fetch(client, topic).records
    [(_, header)] = iter_headers(records)
    assert (header.is_log_append_time, header.max_timestamp) == (True, result.log_append_time_ms)
    assert values(records) == [b"a", b"b"]


@pytest.mark.parametrize("version", [3, 8, 9])
@pytest.mark.parametrize("name", ["x" * 32_700, "\N{SNOWMAN}" * 10_900])
def test_unknown_topics_may_have_long_names(
    client: Client, name: str, version: int, ottla_only: None
) -> None:
    result = produce(client, name, batch(b"v"), version=version)
    assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", [3, 9])
def test_a_name_that_is_not_text_closes_the_connection(
    client: Client, version: int, ottla_only: None
) -> None:
    frame = encode_request(produce_request({"name": {0: batch(b"v")}}), version, 1, "test")
    client.send(frame.replace(b"name", b"\xff\xff\xff\xff"))
    with pytest.raises((EOFError, ConnectionResetError)):
        client.receive()


@pytest.mark.parametrize("acks", [1, -1])
def test_where_every_batch_is_synced_the_answer_says_so(client: Client, acks: int) -> None:
    topic = client.new_topic(flush_messages=1)
    requests = [produce_request({topic: {0: batch(b"%d" % n)}}, acks) for n in range(50)]
    send(client, *[(request, 9) for request in requests])
    for n, request in enumerate(requests):
        [answered] = receive(client, request, 9, n).responses
        [result] = answered.partition_responses
        assert (result.error_code, result.base_offset) == (ErrorCode.NONE, n)
    found = fetch(client, topic)
    assert found.high_watermark == 50
    assert values(found.records) == [b"%d" % n for n in range(50)]


def test_only_coordinators_write_to_their_topics(client: Client) -> None:
    key = FindCoordinatorRequest(key_type=0, coordinator_keys=["any"])

    def is_there() -> bool:
        return client.ask(key, 4).coordinators[0].error_code == ErrorCode.NONE

    wait_for(is_there, "the coordinator's topic")
    result = produce(client, "__consumer_offsets", batch(b"v"))
    assert (result.error_code, result.base_offset) == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)
