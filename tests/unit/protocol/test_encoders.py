"""What an encoder writes, to the byte."""

from __future__ import annotations

from typing import Any

from ottla.protocol.apis.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest
from ottla.protocol.apis.fetch import FetchRequest, ReplicaState
from ottla.protocol.apis.list_offsets import ListOffsetsRequest
from ottla.protocol.encoders import encoder


def encoded(message: Any, version: int, flexible: bool) -> bytes:
    out = bytearray()
    encoder(type(message), version, flexible)(message, out)
    return bytes(out)


def test_neighbours_of_fixed_width_and_lengths() -> None:
    request = ListOffsetsRequest(replica_id=-1, isolation_level=1, topics=[])
    assert encoded(request, 2, False) == b"\xff\xff\xff\xff\x01\x00\x00\x00\x00"


def test_a_structure_that_may_be_null_is_led_by_a_byte() -> None:
    none = encoded(DescribeTopicPartitionsRequest(), 0, True)
    assert none == b"\x01\x00\x00\x07\xd0\xff\x00"
    cursor = Cursor(topic_name="t", partition_index=1)
    some = encoded(DescribeTopicPartitionsRequest(cursor=cursor), 0, True)
    assert some == b"\x01\x00\x00\x07\xd0\x01\x02t\x00\x00\x00\x01\x00\x00"


def test_tagged_fields_that_hold_their_default_are_not_written() -> None:
    plain = encoded(FetchRequest(), 15, True)
    assert encoded(FetchRequest(replica_state=ReplicaState()), 15, True) == plain
    named = encoded(FetchRequest(cluster_id="c"), 15, True)
    assert named == plain[:-1] + b"\x01\x00\x02\x02c"


def test_tagged_fields_are_written_in_the_order_of_their_tags() -> None:
    request = FetchRequest(cluster_id="c", replica_state=ReplicaState(replica_id=1))
    plain = encoded(FetchRequest(), 15, True)
    state = b"\x00\x00\x00\x01" + b"\xff" * 8 + b"\x00"
    assert encoded(request, 15, True) == plain[:-1] + b"\x02\x00\x02\x02c\x01\x0d" + state
