"""Metadata frames put together from encoded topics equal what the message tables encode."""

import uuid
from collections.abc import Iterable

import pytest

from ottla.broker.metadata_frames import EncodedTopics, encode_metadata_response
from ottla.cluster.image import BrokerImage, Image, PartitionImage, TopicImage
from ottla.cluster.znodes import Endpoint
from ottla.protocol.apis.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from ottla.protocol.codec import encode_response
from ottla.protocol.errors import ErrorCode

NOT_ASKED = -(2**31)


def partition(index: int, leader: int, replicas: tuple[int, ...]) -> PartitionImage:
    return PartitionImage(index, replicas, replicas, leader, 3, 5)


def topic(name: str, *partitions: PartitionImage) -> TopicImage:
    return TopicImage(name, uuid.uuid5(uuid.NAMESPACE_DNS, name), partitions, 0)


def image(topics: Iterable[TopicImage], brokers: Iterable[int] = (1,)) -> Image:
    alive = {
        each: BrokerImage(each, (Endpoint("PLAINTEXT", "PLAINTEXT", "h", 9092),), None, 1)
        for each in brokers
    }
    return Image(brokers=alive, topics={each.name: each for each in topics}, cluster_id="c")


def rendered(shown: TopicImage) -> MetadataResponseTopic:
    partitions = [
        MetadataResponsePartition(
            partition_index=each.partition,
            leader_id=each.leader,
            leader_epoch=each.leader_epoch,
            replica_nodes=list(each.replicas),
            isr_nodes=list(each.isr),
        )
        for each in shown.partitions
    ]
    internal = shown.name.startswith("__")
    return MetadataResponseTopic(
        name=shown.name, topic_id=shown.topic_id, is_internal=internal, partitions=partitions
    )


@pytest.mark.parametrize("count", [0, 1, 2, 126, 127, 200])
@pytest.mark.parametrize("version", range(14))
def test_spliced_frames_equal_encoded_ones(version: int, count: int) -> None:
    names = ["__consumer_offsets", *(f"topic-{n}" for n in range(count))][:count]
    topics = [topic(name, partition(0, 1, (1,)), partition(1, 1, (1,))) for name in names]
    now, cache = image(topics), EncodedTopics()
    brokers = [MetadataResponseBroker(node_id=1, host="h", port=9092, rack="r")]
    head = {"brokers": brokers, "cluster_id": "c", "controller_id": 1}
    expected = MetadataResponse(**head, topics=[rendered(each) for each in topics])
    for _ in range(2):
        pieces = [cache.get(now, each, version, NOT_ASKED) for each in topics]
        frame = encode_metadata_response(MetadataResponse(**head), pieces, version, 42)
        assert frame == encode_response(expected, version, 42)


def decoded(now: Image, shown: TopicImage, version: int) -> MetadataResponsePartition:
    from ottla.protocol.decoders import decoder

    data = EncodedTopics().get(now, shown, version, NOT_ASKED)
    return decoder(MetadataResponseTopic, version, version >= 9)(data, 0, len(data)).partitions[0]


def test_a_partition_without_a_living_leader_says_so() -> None:
    for leader in (-1, 2):
        shown = topic("t", partition(0, leader, (1, 2)))
        found = decoded(image([shown]), shown, 12)
        assert (found.error_code, found.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
        assert (found.replica_nodes, found.offline_replicas) == ([1, 2], [2])


def test_the_oldest_clients_see_living_replicas_only() -> None:
    shown = topic("t", partition(0, 1, (1, 2)))
    found = decoded(image([shown]), shown, 0)
    assert found.error_code == ErrorCode.REPLICA_NOT_AVAILABLE
    assert found.leader_id == 1
    assert found.replica_nodes == found.isr_nodes == [1]


def test_a_topic_is_encoded_again_when_it_or_the_brokers_change() -> None:
    cache, old = EncodedTopics(), topic("t", partition(0, 1, (1,)))
    now = image([old])
    first = cache.get(now, old, 12, NOT_ASKED)
    assert cache.get(now, old, 12, NOT_ASKED) is first
    grown = topic("t", partition(0, 1, (1,)), partition(1, 1, (1,)))
    assert cache.get(now._replace(topics={"t": grown}), grown, 12, NOT_ASKED) != first
    alone = cache.get(image([old], brokers=()), old, 12, NOT_ASKED)
    assert alone != first


def test_deleted_topics_are_forgotten() -> None:
    cache = EncodedTopics()
    brokers = image([]).brokers
    for number in range(1000):
        shown = topic(f"t{number}", partition(0, 1, (1,)))
        cache.get(Image(brokers=brokers, topics={shown.name: shown}), shown, 12, NOT_ASKED)
    assert sum(map(len, cache._tables.values())) < 200
