"""Committed offsets are written byte for byte as Kafka 4.3 writes them, and everything Kafka ever wrote is read."""

import struct
import uuid
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base.errors import ProtocolError
from ottla.coordination.groups.offset_records import (
    NO_EXPIRY,
    Committed,
    OffsetKey,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
)

TOPIC_ID = uuid.UUID("5b9229c4-e339-48ba-a974-c6ca4a58c970")

# Read from the log of an Apache Kafka 4.3.0 that was asked to commit these.
KAFKA_KEY = "00010001670012746f7069632d36373966653564643861383300000001"
KAFKA_VALUES = {
    "00040000000000000006ffffffff01000001a1e1b801400100105b9229c4e33948baa974c6ca4a58c970": Committed(
        6, -1, "", 1794788294976, topic_id=TOPIC_ID
    ),
    "000400000000000000070000000303c3a9000001a1e1b801460100105b9229c4e33948baa974c6ca4a58c970": (
        Committed(7, 3, "é", 1794788294982, topic_id=TOPIC_ID)
    ),
    "0001000000000000000500046d657461000001a1e1b800d2000001a1e1b8eb32": Committed(
        5, -1, "meta", 1794788294866, 1794788354866
    ),
    # A commit in a transaction has no topic id.
    "00040000000000000007ffffffff01000001a1e1b8e29300": Committed(7, -1, "", 1794788352659),
}


def test_a_key_is_kafkas() -> None:
    assert encode_key("g", "topic-679fe5dd8a83", 1).hex() == KAFKA_KEY
    assert decode_key(bytes.fromhex(KAFKA_KEY)) == OffsetKey("g", "topic-679fe5dd8a83", 1)


def read(value: bytes) -> Committed:
    """A position without the answer that it keeps, which other tests look at."""
    return decode_value(value)._replace(wire=b"")


@pytest.mark.parametrize(("written", "committed"), KAFKA_VALUES.items())
def test_a_value_is_kafkas(written: str, committed: Committed) -> None:
    assert encode_value(committed).hex() == written
    assert read(bytes.fromhex(written)) == committed


def test_keys_of_brokers_before_0_9_are_read() -> None:
    assert decode_key(b"\0\0" + bytes.fromhex(KAFKA_KEY)[2:]).group_id == "g"


def test_values_of_all_older_versions_are_read() -> None:
    text = struct.pack(">h", 4) + b"meta"
    old = struct.pack(">hq", 0, 5) + text + struct.pack(">q", 77)
    assert read(old) == Committed(5, metadata="meta", commit_timestamp_ms=77)
    assert decode_value(b"\0\2" + old[2:]) == decode_value(old)
    third = struct.pack(">hqi", 3, 5, 9) + text + struct.pack(">q", 77)
    assert read(third) == Committed(5, 9, "meta", 77)


def test_tags_of_a_later_kafka_are_skipped() -> None:
    value = encode_value(Committed(5, 9, "m", 77, topic_id=TOPIC_ID))
    tagged = value[:-19] + b"\x02" + value[-18:] + b"\x07\x03new"
    assert decode_value(tagged) == decode_value(value)


def test_a_version_that_is_not_known_is_refused() -> None:
    with pytest.raises(ProtocolError, match="version 5"):
        decode_value(b"\0\5" + bytes(40))
    with pytest.raises(ProtocolError, match="not the key"):
        decode_key(b"\0\2" + bytes(40))


names = st.text(max_size=20)
int64s = st.integers(-(2**63), 2**63 - 1)
positions = st.builds(
    Committed,
    committed_offset=int64s,
    committed_leader_epoch=st.integers(-1, 2**31 - 1),
    metadata=st.text(max_size=300),
    commit_timestamp_ms=int64s,
    topic_id=st.uuids(),
    partition_index=st.just(-1),
    error_code=st.just(0),
    wire=st.just(b""),
)


@given(names, names, st.integers(-(2**31), 2**31 - 1))
def test_any_key_comes_back(group: str, topic: str, partition: int) -> None:
    assert decode_key(encode_key(group, topic, partition)) == (group, topic, partition)


@given(positions, st.one_of(st.just(NO_EXPIRY), int64s))
def test_any_value_comes_back(position: Committed, expire_ms: int) -> None:
    written = position._replace(expire_timestamp_ms=expire_ms)
    # Version 1 has room for the expiry, but for neither an epoch nor an id.
    kept = Committed(position.committed_offset, metadata=position.metadata)._replace(
        commit_timestamp_ms=position.commit_timestamp_ms, expire_timestamp_ms=expire_ms
    )
    assert read(encode_value(written)) == (written if expire_ms == NO_EXPIRY else kept)


@given(st.binary(max_size=60))
def test_noise_raises_nothing_else(noise: bytes) -> None:
    for version in range(6):
        for decode in (decode_key, decode_value):
            with suppress(ProtocolError):
                decode(struct.pack(">h", version) + noise)
