"""Produce where the records themselves matter: keys, codecs, and the thread that looks at large batches."""

import pytest

from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import iter_headers
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.compression import Codec
from ottla.protocol.records.record import Record, read_records
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import NOW_MS, Client
from tests.unit.broker.handlers.records import (
    batch,
    fetch,
    fetch_request,
    produce,
    produce_request,
    receive,
    send,
    topic_id,
    values,
    with_bytes,
)
from tests.unit.broker.handlers.test_alter_configs import shows
from tests.unit.broker.handlers.test_describe_configs import TOPIC
from tests.unit.broker.handlers.test_incremental_alter_configs import SET, change

LARGE = 200_000
CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
@pytest.mark.parametrize("version", [3, 7, 8, 9, 12])
def test_a_compacted_topic_takes_no_record_without_a_key(
    client: Client, version: int, codec: Codec
) -> None:
    topic = client.new_topic(cleanup_policy="compact")
    records = [Record(0, NOW_MS, key, b"v", ()) for key in (b"k", None, b"k", None)]
    result = produce(client, topic, build_batch(records, codec=codec), version=version)
    assert (result.error_code, result.base_offset) == (ErrorCode.INVALID_RECORD, -1)
    bad = [1, 3] if version >= 8 else []
    assert [error.batch_index for error in result.record_errors] == bad
    assert all(error.batch_index_error_message for error in result.record_errors)
    assert fetch(client, topic, max_wait_ms=0).high_watermark == 0


@pytest.mark.parametrize("by_id", [False, True])
def test_several_partitions_of_a_compacted_topic_are_looked_into_one_by_one(
    client: Client, by_id: bool
) -> None:
    topic = client.new_topic(4, cleanup_policy="compact")
    parts = {
        0: batch(b"small"),
        1: batch(b"x" * LARGE, codec=Codec.GZIP),
        2: batch(b"keyless" * 5000, key=None),
        3: batch(b"y" * LARGE, codec=Codec.ZSTD),
    }
    named = topic_id(client, topic) if by_id else topic
    [answered] = client.ask(produce_request({named: parts}), 13 if by_id else 12).responses
    codes = {part.index: part.error_code for part in answered.partition_responses}
    assert codes == {0: 0, 1: 0, 2: ErrorCode.INVALID_RECORD, 3: 0}
    assert values(fetch(client, topic, partition=3).records) == [b"y" * LARGE]


def test_what_is_pipelined_behind_a_large_batch_stays_behind_it(client: Client) -> None:
    topic = client.new_topic(cleanup_policy="compact")
    bodies = [b"%d" % n if n % 3 else b"x" * LARGE for n in range(30)]
    writes = [
        produce_request({topic: {0: batch(body, codec=Codec.GZIP if n % 3 == 0 else 0)}}, acks=1)
        for n, body in enumerate(bodies)
    ]
    read = fetch_request({topic: {0: 0}})
    send(client, *[(write, 9) for write in writes], (read, 12))
    for n, write in enumerate(writes):
        [answered] = receive(client, write, 9, n).responses
        assert answered.partition_responses[0].base_offset == n
    [found] = receive(client, read, 12, len(writes)).responses
    assert values(found.partitions[0].records)[:30] == bodies


def test_without_acks_a_large_batch_that_is_refused_closes_the_connection(client: Client) -> None:
    topic = client.new_topic(cleanup_policy="compact")
    send(client, (produce_request({topic: {0: batch(b"x" * LARGE, key=None)}}, acks=0), 9))
    with pytest.raises((EOFError, ConnectionResetError)):
        client.receive()


def test_several_partitions_are_synced_while_others_are_looked_into(client: Client) -> None:
    topic = client.new_topic(3, cleanup_policy="compact", flush_messages=1)
    parts = {n: batch(b"x" * LARGE * 5, codec=Codec.GZIP) for n in range(3)}
    request = produce_request({topic: {0: batch(b"first"), **{n: parts[n] for n in (1, 2)}}})
    request.timeout_ms = 120_000
    [answered] = client.ask(request, 12).responses
    assert [part.error_code for part in answered.partition_responses] == [0, 0, 0]


@pytest.mark.parametrize("target", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_a_topic_may_have_a_codec_of_its_own(client: Client, target: str) -> None:
    topic = client.new_topic(compression_type=target)
    wanted = Codec.NONE if target == "uncompressed" else Codec[target.upper()]
    for n, codec in enumerate([Codec.NONE, *CODECS]):
        records = batch(b"a" * 500, b"b" * 500, codec=codec)
        assert produce(client, topic, records).base_offset == 2 * n
    found = fetch(client, topic)
    assert {header.codec for _, header in iter_headers(found.records)} == {wanted}
    assert values(found.records) == [b"a" * 500, b"b" * 500] * 5


def test_a_codec_may_be_chosen_while_records_come_in(client: Client) -> None:
    topic = client.new_topic()
    produce(client, topic, batch(b"before" * 100, codec=Codec.LZ4))
    change(client, TOPIC, topic, ("compression.type", SET, "zstd"))
    wait_for(lambda: shows(client, topic, compression_type="zstd"), "the change")
    produce(client, topic, batch(b"after" * 100, codec=Codec.LZ4))
    records = fetch(client, topic).records
    assert [header.codec for _, header in iter_headers(records)] == [Codec.LZ4, Codec.ZSTD]
    assert values(records) == [b"before" * 100, b"after" * 100]


def test_recompressed_records_are_the_same_in_everything_else(client: Client) -> None:
    topic = client.new_topic(compression_type="gzip")
    records = [
        Record(
            0, NOW_MS + n, b"key-%d" % n, None if n == 3 else b"v" * n, (("h", b"1"), ("h", None))
        )
        for n in range(10)
    ]
    assert produce(client, topic, build_batch(records, codec=Codec.ZSTD)).error_code == 0
    found = read_records(fetch(client, topic).records)
    assert [record._replace(offset=0) for record in found] == records
    assert [record.offset for record in found] == list(range(10))


def test_a_batch_that_grows_too_large_when_unpacked_is_refused(client: Client) -> None:
    topic = client.new_topic(compression_type="uncompressed", max_message_bytes=100_000)
    result = produce(client, topic, batch(b"x" * 200_000, codec=Codec.GZIP))
    assert result.error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_a_batch_that_lies_about_its_codec_is_refused(client: Client, ottla_only: None) -> None:
    topic = client.new_topic(cleanup_policy="compact")
    lie = with_bytes(batch(b"v"), 21, b"\0\4")
    assert produce(client, topic, lie).error_code == ErrorCode.INVALID_RECORD
    assert produce(client, topic, batch(b"v")).base_offset == 0
