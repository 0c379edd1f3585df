"""What the nodes hold: Kafka's own JSON, read back as it was written."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base.errors import ClusterError
from ottla.cluster import znodes
from ottla.cluster.znodes import BrokerNode, Endpoint, ProducerIdBlock, StateNode, TopicNode

TOPIC_ID = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")

ids = st.integers(0, 2**31 - 1)
replicas = st.lists(ids, min_size=1, max_size=5).map(tuple)


def test_a_topic_looks_as_in_kafkas_zookeeper() -> None:
    data = znodes.encode_topic(TopicNode(TOPIC_ID, ((1, 2), (2, 1))))
    assert json.loads(data) == {
        "version": 3,
        "topic_id": "ABEiM0RVZneImaq7zN3u_w",
        "partitions": {"0": [1, 2], "1": [2, 1]},
        "adding_replicas": {},
        "removing_replicas": {},
    }


def test_a_state_looks_as_in_kafkas_zookeeper() -> None:
    assert znodes.encode_state(StateNode(1, 5, (1, 2), 9)) == (
        b'{"controller_epoch":9,"leader":1,"version":1,"leader_epoch":5,"isr":[1,2]}'
    )
    assert znodes.state_path("orders", 3) == "/brokers/topics/orders/partitions/3/state"


def test_a_registration_looks_as_in_kafkas_zookeeper() -> None:
    endpoints = (Endpoint("PLAINTEXT", "PLAINTEXT", "host", 9092), Endpoint("X", "SSL", "::1", 93))
    data = znodes.encode_broker(BrokerNode(endpoints, "rack-1", 1234))
    assert json.loads(data) == {
        "version": 5,
        "host": "host",
        "port": 9092,
        "jmx_port": -1,
        "timestamp": "1234",
        "endpoints": ["PLAINTEXT://host:9092", "X://[::1]:93"],
        "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT", "X": "SSL"},
        "features": {},
        "rack": "rack-1",
    }


@pytest.mark.parametrize(
    ("group_id", "name"),
    [
        ("billing-1_a.b~", "billing-1_a.b~"),
        ("a/b *+%", "a%2Fb%20%2A%2B%25"),
        ("größe", "gr%C3%B6%C3%9Fe"),
        ("<default>", "%3Cdefault%3E"),
        (".", "%2E"),
        ("..", "%2E%2E"),
    ],
)
def test_groups_are_named_as_kafka_names_users(group_id: str, name: str) -> None:
    assert znodes.group_config_path(group_id) == f"/config/groups/{name}"


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_group_of_any_name_has_one_node_and_is_found_by_it(group_id: str) -> None:
    parent, name = znodes.group_config_path(group_id).rsplit("/", 1)
    assert parent == znodes.GROUP_CONFIGS
    assert name not in ("", ".", "..")
    assert name.isascii()
    assert znodes.group_of(name) == group_id


endpoints = st.builds(
    Endpoint,
    st.sampled_from(["PLAINTEXT", "EXTERNAL"]),
    st.just("PLAINTEXT"),
    st.sampled_from(["localhost", "10.0.0.1", "fe80::1"]),
    st.integers(0, 65535),
)


@given(
    st.lists(endpoints, min_size=1, max_size=2, unique_by=lambda e: e.listener).map(tuple),
    st.none() | st.text(),
    st.integers(0, 2**50),
    st.none() | st.text(),
)
def test_a_registration_is_read_as_written(
    endpoints: tuple[Endpoint, ...], rack: str | None, timestamp_ms: int, machine: str | None
) -> None:
    node = BrokerNode(endpoints, rack, timestamp_ms, machine=machine)
    assert znodes.decode_broker("/p", znodes.encode_broker(node)) == node


@given(st.builds(TopicNode, st.uuids(), st.lists(replicas, max_size=20).map(tuple)))
def test_a_topic_is_read_as_written(node: TopicNode) -> None:
    assert znodes.decode_topic("/p", znodes.encode_topic(node)) == node


@given(st.builds(StateNode, ids, ids, replicas, ids))
def test_a_state_is_read_as_written(node: StateNode) -> None:
    assert znodes.decode_state("/p", znodes.encode_state(node)) == node


@given(st.dictionaries(st.text(), st.text()))
def test_settings_are_read_as_written(values: dict[str, str]) -> None:
    assert znodes.decode_config("/p", znodes.encode_config(values)) == values


def test_the_rest_is_read_as_written() -> None:
    block = ProducerIdBlock(3, 1000, 1999)
    assert znodes.decode_producer_ids("/p", znodes.encode_producer_ids(block)) == block
    assert znodes.decode_controller("/p", znodes.encode_controller(7, 1)) == 7
    assert znodes.decode_cluster_id("/p", znodes.encode_cluster_id("abc")) == "abc"
    assert znodes.decode_features("/p", znodes.encode_features({"f": 2})) == {"f": 2}
    assert znodes.decode_number("/p", znodes.encode_number(12)) == 12


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"null", b"7x", b'{"config":3}', b"\xff"])
@pytest.mark.parametrize(
    "decode",
    [
        znodes.decode_topic,
        znodes.decode_state,
        znodes.decode_broker,
        znodes.decode_config,
        znodes.decode_controller,
        znodes.decode_cluster_id,
        znodes.decode_producer_ids,
        znodes.decode_features,
        znodes.decode_number,
    ],
)
def test_what_cannot_be_read_is_named(decode: Callable[[str, bytes], Any], data: bytes) -> None:
    with pytest.raises(ClusterError, match="/some/path: the node cannot be read"):
        decode("/some/path", data)
