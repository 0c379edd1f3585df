"""Where records go: by key as every Kafka client does it, without a key in turns (KIP-794)."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as oracle

from ottla.client.partitioners import StickyPartition, murmur2, partition_for_key


@given(st.binary(max_size=70))
def test_murmur2_is_that_of_kafka_python(key: bytes) -> None:
    assert murmur2(key) == oracle(key) & 0xFFFF_FFFF


@pytest.mark.parametrize(
    ("key", "signed"),
    [(b"21", -973932308), (b"foobar", -790332482), (b"a-little-bit-long-string", -985981536)],
)
def test_murmur2_is_that_of_the_java_client(key: bytes, signed: int) -> None:
    assert murmur2(key) == signed & 0xFFFF_FFFF


def test_a_key_always_goes_to_the_same_partition() -> None:
    assert {partition_for_key(b"customer 7", 12) for _ in range(3)} == {
        (oracle(b"customer 7") & 0x7FFF_FFFF) % 12
    }


def test_a_partition_takes_its_share_before_the_next_has_its_turn() -> None:
    sticky = StickyPartition(100, lambda below: below - 1)
    assert sticky.choose([0, 1, 2], [0, 0, 0]) == 2
    assert not sticky.produced(60)
    assert sticky.produced(60)
    sticky.choose([0, 1, 2], [0, 0, 0])
    assert not sticky.produced(60)


def test_partitions_with_long_queues_are_drawn_less_often() -> None:
    chosen: Counter[int] = Counter()
    total = sum((4, 1, 3))  # a queue of 3 weighs one, an empty one weighs four
    for draw in range(total):
        sticky = StickyPartition(1, lambda below, draw=draw: draw)  # type: ignore[misc]
        chosen[sticky.choose([5, 6, 7], [0, 3, 1])] += 1
    assert chosen == {5: 4, 6: 1, 7: 3}
