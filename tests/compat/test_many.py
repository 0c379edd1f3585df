"""Many partitions, and many connections."""

import resource
import shutil
from collections.abc import Callable

import pytest
from confluent_kafka import TopicPartition
from kafka.protocol.metadata import MetadataRequest

from tests.support.broker import OttlaBroker
from tests.support.clients import consumer, create_topic, produce, read_to_end
from tests.support.wire import Wire, batch, frame_of, produce_request, produced

pytestmark = pytest.mark.compat

MIB = 1024 * 1024
CONNECTIONS = 2000


def test_a_topic_of_a_thousand_partitions_works(bootstrap: str) -> None:
    topic = create_topic(bootstrap, "thousand", partitions=1000)
    records = [{"value": b"%d" % n, "partition": n % 1000} for n in range(3000)]
    produce(bootstrap, topic, records)
    reader = consumer(bootstrap)
    reader.assign([TopicPartition(topic, partition, 0) for partition in range(1000)])
    messages = read_to_end(reader, partitions=1000)
    reader.close()
    assert sorted(int(message.value()) for message in messages) == list(range(3000))


@pytest.mark.slow
def test_two_thousand_connections_are_cheap(own_broker: Callable[..., OttlaBroker]) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    broker = own_broker()
    topic = create_topic(broker.bootstrap)
    before = broker.rss_bytes
    connections = [Wire(broker.bootstrap) for _ in range(CONNECTIONS)]
    try:
        for wire in connections:
            wire.ask(MetadataRequest[1](topics=[]))
        assert broker.rss_bytes - before < 100 * MIB
        send_a_megabyte_each(connections, topic)
        assert broker.rss_bytes - before < 100 * MIB
    finally:
        for wire in connections:
            wire.close()
        broker.stop()
        shutil.rmtree(broker.data_dir)


def send_a_megabyte_each(connections: list[Wire], topic: str) -> None:
    """All connections have a request under way before the first is finished."""
    request = produce_request(topic, batch(b"x" * 1_000_000))
    frame = frame_of(request)
    half = len(frame) - 100_000
    for start in range(0, len(connections), 50):
        group = connections[start : start + 50]
        for wire in group:
            wire.send_bytes(frame[:half])
        for wire in group:
            wire.send_bytes(frame[half:])
        for wire in group:
            assert produced(wire.receive(request)).error_code == 0
