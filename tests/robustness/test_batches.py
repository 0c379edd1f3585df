"""Record batches that lie: each is refused with Kafka's error, and nothing of it is stored."""

import struct

import pytest
from kafka.protocol.metadata import MetadataRequest

from tests.robustness.conftest import Target
from tests.support.clients import create_topic
from tests.support.wire import (
    NOW_MS,
    Wire,
    batch,
    fetch_request,
    fetched,
    legacy_batch,
    patched,
    produce_request,
    produced,
    values_of,
)

pytestmark = pytest.mark.compat

CORRUPT_MESSAGE = 2
UNKNOWN_TOPIC_OR_PARTITION = 3
INVALID_TOPIC_EXCEPTION = 17
INVALID_REQUIRED_ACKS = 21
INVALID_TIMESTAMP = 32
INVALID_RECORD = 87

BASE_OFFSET, LENGTH, MAGIC, ATTRIBUTES, LAST_DELTA, PRODUCER_ID, COUNT = 0, 8, 16, 21, 23, 43, 57
GOOD = batch(b"a", b"b", b"c")


def int32(value: int) -> bytes:
    return struct.pack(">i", value)


def int16(value: int) -> bytes:
    return struct.pack(">h", value)


def claiming(count: int) -> bytes:
    """The good batch, claiming another count, and a last offset that goes with it."""
    return patched(patched(GOOD, COUNT, int32(count)), LAST_DELTA, int32(count - 1))


REFUSED = {
    "a wrong CRC": (patched(GOOD, 40, b"\xff", fix_crc=False), CORRUPT_MESSAGE),
    "a flipped bit in a value": (GOOD[:-2] + bytes([GOOD[-2] ^ 1]) + GOOD[-1:], CORRUPT_MESSAGE),
    "a magic of the future": (patched(GOOD, MAGIC, b"\3"), CORRUPT_MESSAGE),
    "a negative magic": (patched(GOOD, MAGIC, b"\xff"), CORRUPT_MESSAGE),
    "a length of nothing": (patched(GOOD, LENGTH, int32(0), fix_crc=False), CORRUPT_MESSAGE),
    "a negative length": (patched(GOOD, LENGTH, int32(-1), fix_crc=False), CORRUPT_MESSAGE),
    "more records than offsets": (patched(GOOD, COUNT, int32(5)), INVALID_RECORD),
    "a negative count": (patched(GOOD, COUNT, int32(-1)), INVALID_RECORD),
    "a count of nothing": (patched(GOOD, COUNT, int32(0)), INVALID_RECORD),
    "a negative last offset": (patched(GOOD, LAST_DELTA, int32(-5)), INVALID_RECORD),
    "more records than bytes": (claiming(2**31 - 1), INVALID_RECORD),
    "a message set of magic 0": (legacy_batch(0), INVALID_RECORD),
    "a message set of magic 1": (legacy_batch(1), INVALID_RECORD),
    "two batches at once": (GOOD + GOOD, INVALID_RECORD),
    "no batch at all": (b"", INVALID_RECORD),
    "a batch that breaks off": (GOOD[:-1], INVALID_RECORD),
    "a header that breaks off": (GOOD[:40], INVALID_RECORD),
    "a control batch": (patched(GOOD, ATTRIBUTES, int16(0x20)), INVALID_RECORD),
    "a base offset of its own": (patched(GOOD, BASE_OFFSET, struct.pack(">q", 7)), INVALID_RECORD),
    "a producer without a sequence": (
        patched(GOOD, PRODUCER_ID, struct.pack(">qhi", 5, 0, -1)),
        INVALID_RECORD,
    ),
    "a time of next week": (batch(b"v", timestamp_ms=NOW_MS + 7 * 86_400_000), INVALID_TIMESTAMP),
}


@pytest.mark.parametrize(("records", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_a_lying_batch_is_refused(
    target: Target, attacker: Wire, records: bytes, code: int
) -> None:
    topic = create_topic(target.bootstrap)
    answer = produced(attacker.ask(produce_request(topic, records)))
    assert (answer.error_code, answer.base_offset) == (code, -1)
    assert produced(attacker.ask(produce_request(topic, GOOD))).base_offset == 0


# Kafka says UNKNOWN_SERVER_ERROR to these; any error will do.
BROKEN = {
    "a codec that does not exist": patched(GOOD, ATTRIBUTES, int16(7)),
    "a length beyond the request": patched(GOOD, LENGTH, int32(2**31 - 1), fix_crc=False),
}


@pytest.mark.parametrize("records", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_batch_is_refused(target: Target, attacker: Wire, records: bytes) -> None:
    topic = create_topic(target.bootstrap)
    assert produced(attacker.ask(produce_request(topic, records))).error_code != 0
    assert produced(attacker.ask(produce_request(topic, GOOD))).base_offset == 0


KEYED = batch(b"a", b"b", b"c", key=b"k")
LOOKED_INTO = {
    "a record without a key": GOOD,
    "a batch that claims one record more": patched(
        patched(KEYED, COUNT, int32(4)), LAST_DELTA, int32(3)
    ),
    "a batch that claims one record less": patched(
        patched(KEYED, COUNT, int32(2)), LAST_DELTA, int32(1)
    ),
    "a batch that is not compressed as it says": patched(KEYED, ATTRIBUTES, int16(1)),
    "a record longer than its batch": patched(KEYED, 61, b"\xfe\xff\xff\xff\x0f"),
}


@pytest.mark.parametrize("records", LOOKED_INTO.values(), ids=LOOKED_INTO.keys())
def test_batches_of_compacted_topics_are_looked_into(
    target: Target, attacker: Wire, records: bytes
) -> None:
    topic = create_topic(target.bootstrap, cleanup_policy="compact")
    assert produced(attacker.ask(produce_request(topic, records))).error_code != 0
    assert produced(attacker.ask(produce_request(topic, KEYED))).base_offset == 0


def test_records_without_a_key_are_pointed_at(target: Target, attacker: Wire) -> None:
    topic = create_topic(target.bootstrap, cleanup_policy="compact")
    answer = produced(attacker.ask(produce_request(topic, GOOD)))
    assert answer.error_code == INVALID_RECORD
    assert [error.batch_index for error in answer.record_errors] == [0, 1, 2]
    assert answer.error_message


def test_a_decompression_bomb_does_not_go_off(target: Target, attacker: Wire) -> None:
    topic = create_topic(target.bootstrap, compression_type="uncompressed")
    bomb = batch(b"\0" * 300_000_000, codec=1)
    assert len(bomb) < 1_000_000
    assert produced(attacker.ask(produce_request(topic, bomb))).error_code != 0
    if target.broker:
        assert target.broker.peak_rss_bytes < 250_000_000


@pytest.mark.parametrize("acks", [2, -2])
def test_acks_that_do_not_exist_are_refused(target: Target, attacker: Wire, acks: int) -> None:
    topic = create_topic(target.bootstrap)
    answer = produced(attacker.ask(produce_request(topic, GOOD, acks=acks)))
    assert answer.error_code == INVALID_REQUIRED_ACKS


@pytest.mark.parametrize("partition", [-1, 1, 2**31 - 1])
def test_partitions_that_do_not_exist_are_unknown(
    target: Target, attacker: Wire, partition: int
) -> None:
    topic = create_topic(target.bootstrap)
    answer = produced(attacker.ask(produce_request(topic, GOOD, partition=partition)))
    assert answer.error_code == UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("name", ["../x", "..", ".", "/etc/passwd", "a/b", "", "x" * 250])
def test_names_that_could_be_paths_are_never_used(attacker: Wire, name: str) -> None:
    asked = MetadataRequest.MetadataRequestTopic(name=name)
    request = MetadataRequest[8](topics=[asked], allow_auto_topic_creation=True)
    assert attacker.ask(request).topics[0].error_code == INVALID_TOPIC_EXCEPTION
    code = produced(attacker.ask(produce_request(name, GOOD))).error_code
    assert code in (UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION)


def test_a_refused_batch_without_acks_closes_the_connection(target: Target, attacker: Wire) -> None:
    topic = create_topic(target.bootstrap)
    wrong = patched(GOOD, 40, b"\xff", fix_crc=False)
    attacker.send(produce_request(topic, wrong, acks=0))
    assert attacker.is_closed()


def test_one_bad_partition_does_not_spoil_the_others(target: Target, attacker: Wire) -> None:
    topic = create_topic(target.bootstrap, partitions=3)
    request = produce_request(topic, GOOD)
    data = type(request.topic_data[0].partition_data[0])
    wrong = patched(GOOD, 40, b"\xff", fix_crc=False)
    request.topic_data[0].partition_data = [
        data(index=index, records=records) for index, records in enumerate([GOOD, wrong, GOOD])
    ]
    parts = attacker.ask(request).responses[0].partition_responses
    assert {p.index: p.error_code for p in parts} == {0: 0, 1: CORRUPT_MESSAGE, 2: 0}
    assert values_of(fetched(attacker.ask(fetch_request(topic, 0, partition=2))).records) == [
        b"a",
        b"b",
        b"c",
    ]


def test_null_records_are_answered_or_hung_up_on(
    target: Target, attacker: Wire, ottla_only: None
) -> None:
    topic = create_topic(target.bootstrap)
    attacker.send(produce_request(topic, None))
    assert attacker.socket.recv(4) is not None
