"""Subscriptions and assignments of classic consumers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base.errors import ProtocolError
from ottla.protocol.consumer_protocol import (
    Assignment,
    Subscription,
    TopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_partitions,
    encode_subscription,
    subscribed_topics,
)

OWNED = [TopicPartitions(topic="t", partitions=[0, 2])]


@pytest.mark.parametrize("version", range(4))
def test_a_subscription_is_read_as_it_was_written(version: int) -> None:
    wanted = Subscription(topics=["t", "u"], user_data=b"d", owned_partitions=OWNED, generation=3)
    found = decode_subscription(encode_subscription(wanted, version))
    assert (found.topics, found.user_data) == (["t", "u"], b"d")
    assert len(found.owned_partitions) == (1 if version else 0)
    assert found.generation == (3 if version > 1 else -1)


def test_an_assignment_is_read_as_it_was_written() -> None:
    found = decode_assignment(encode_assignment(Assignment(partitions=OWNED)))
    assert [(each.topic, each.partitions) for each in found.partitions] == [("t", [0, 2])]
    assert decode_assignment(b"").partitions == []


@given(
    st.dictionaries(st.text(max_size=9), st.lists(st.integers(0, 2**31 - 1), max_size=5)),
    st.integers(0, 99),
)
def test_an_assignment_written_by_hand_is_as_the_tables_say(
    partitions: dict[str, list[int]], version: int
) -> None:
    rows = [TopicPartitions(topic=name, partitions=found) for name, found in partitions.items()]
    expected = encode_assignment(Assignment(partitions=rows), version)
    assert encode_partitions(partitions.items(), version) == expected


def test_a_newer_version_is_read_as_far_as_it_is_known() -> None:
    newer = b"\0\x63" + encode_subscription(Subscription(topics=["t"]))[2:] + b"more"
    assert subscribed_topics(newer) == {"t"}


@given(st.binary(max_size=60))
def test_other_bytes_are_no_subscription(data: bytes) -> None:
    try:
        decode_subscription(data)
        decode_assignment(data)
    except ProtocolError:
        assert subscribed_topics(b"") is None
