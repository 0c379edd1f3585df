"""ReplicaEnds: a broker says how far its replicas are."""

from collections.abc import Callable
from contextlib import closing
from uuid import UUID

from ottla.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from ottla.protocol.apis.replica_ends import ReplicaEndsRequest, TopicPartitions
from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.support.clients import produce
from tests.unit.broker.handlers.brokers import introduced


def test_ends_and_epochs_are_told(own_broker: Callable[..., OttlaBroker]) -> None:
    broker = own_broker()
    with closing(introduced(broker)) as client:
        topic = client.new_topic(partitions=2)
        produce(broker.bootstrap, topic, [{"value": b"x", "partition": 0}] * 3)
        [found] = client.ask(MetadataRequest(topics=[MetadataRequestTopic(name=topic)])).topics
        wanted = [TopicPartitions(topic_id=found.topic_id, partitions=[0, 1, 7])]
        [told] = client.ask(ReplicaEndsRequest(topics=wanted)).topics
    ends = [(each.error_code, each.last_epoch, each.end_offset) for each in told.partitions]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ends == [(0, 0, 3), (0, -1, 0), (unknown, -1, -1)]


def test_a_topic_that_is_not_here(own_broker: Callable[..., OttlaBroker]) -> None:
    with closing(introduced(own_broker())) as client:
        wanted = [TopicPartitions(topic_id=UUID(int=5), partitions=[0])]
        [told] = client.ask(ReplicaEndsRequest(topics=wanted)).topics
    assert told.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
