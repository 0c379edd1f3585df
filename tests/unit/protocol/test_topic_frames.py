"""Replies written by hand name brokers as the tables say they do."""

import pytest

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import decode_response
from ottla.protocol.fetch_frames import PartitionData, encode_fetch_response
from ottla.protocol.produce_frames import PartitionResult, encode_produce_response

ENDPOINTS = [(1, "one.example", 9092, None), (2, "two", 9093, "rack-b")]
TOPIC_ID = bytes(range(16))


def told(response: object) -> list[tuple[int, str, int, str | None]]:
    nodes = response.node_endpoints  # type: ignore[attr-defined]
    return [(each.node_id, each.host, each.port, each.rack) for each in nodes]


@pytest.mark.parametrize("version", [16, 17, 18])
def test_fetch(version: int) -> None:
    moved = PartitionData(0, 6, current_leader=(2, 7))
    pieces = encode_fetch_response(5, version, 0, 0, [(TOPIC_ID, [moved])], 1, ENDPOINTS)
    _, response = decode_response(ApiKey.FETCH, version, b"".join(pieces)[4:])
    assert told(response) == ENDPOINTS
    leader = response.responses[0].partitions[0].current_leader
    assert (leader.leader_id, leader.leader_epoch) == (2, 7)


@pytest.mark.parametrize("version", [10, 12, 13])
def test_produce(version: int) -> None:
    topic = TOPIC_ID if version >= 13 else "t"
    moved = PartitionResult(0, 6, current_leader=(2, 7))
    frame = encode_produce_response(5, version, [(topic, [moved])], ENDPOINTS)
    _, response = decode_response(ApiKey.PRODUCE, version, frame[4:])
    assert told(response) == ENDPOINTS


def test_versions_that_know_no_endpoints_are_spared_them() -> None:
    frame = encode_produce_response(5, 9, [("t", [PartitionResult(0, 6)])], ENDPOINTS)
    assert decode_response(ApiKey.PRODUCE, 9, frame[4:])[1].responses[0].name == "t"
