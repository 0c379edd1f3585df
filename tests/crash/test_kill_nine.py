"""kill -9, fifty times, under a producer that never rests."""

from collections.abc import Callable

import pytest
from confluent_kafka.admin import ConfigResource, ResourceType

from tests.support.broker import OttlaBroker
from tests.support.clients import admin, consume, create_topic, produce
from tests.support.running_producer import RunningProducer, check_promises

pytestmark = [pytest.mark.compat, pytest.mark.slow]

KILLS = 50
START_LIMIT_CPU_S = 2.0


def kill_and_restart(broker: OttlaBroker, running: RunningProducer, kills: int) -> list[float]:
    """Kill the broker again and again, each time in the middle of work; returns the CPU that each start took."""
    seconds = []
    for n in range(kills):
        running.wait_for_acks(50 + 37 * n % 200)
        broker.kill()
        broker.start()
        seconds.append(broker.start_cpu_seconds)
    return seconds


def test_nothing_acknowledged_is_lost_or_doubled(own_broker: Callable[..., OttlaBroker]) -> None:
    broker = own_broker()
    topic = create_topic(broker.bootstrap, partitions=3, segment_bytes=1_048_576)
    with RunningProducer(broker.bootstrap, topic, partitions=3) as running:
        seconds = kill_and_restart(broker, running, KILLS)
        running.finish()
    assert check_promises(broker.bootstrap, running) == running.sent
    assert max(seconds) < START_LIMIT_CPU_S


def test_topics_and_their_settings_survive(own_broker: Callable[..., OttlaBroker]) -> None:
    broker = own_broker()
    topic = create_topic(broker.bootstrap, partitions=2, retention_ms=123_456)
    produce(broker.bootstrap, topic, [{"value": b"%d" % n, "partition": 1} for n in range(10)])
    broker.kill()
    broker.start()
    assert len(consume(broker.bootstrap, topic, 1)) == 10
    client = admin(broker.bootstrap)
    assert len(client.list_topics(topic, timeout=10).topics[topic].partitions) == 2
    [described] = client.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
    assert described.result(10)["retention.ms"].value == "123456"


def test_every_torn_tail_is_cut_back_to_the_last_whole_batch(
    own_broker: Callable[..., OttlaBroker],
) -> None:
    broker = own_broker()
    topic = create_topic(broker.bootstrap)
    for n in range(10):
        produce(broker.bootstrap, topic, [b"%d" % n * 100])
    broker.kill()
    log = broker.data_dir / f"{topic}-0" / "00000000000000000000.log"
    whole = log.stat().st_size
    for torn in (b"\0" * 500, b"garbage" * 20, log.read_bytes()[:70]):
        with log.open("ab") as file:
            file.write(torn)
        broker.start()
        assert len(consume(broker.bootstrap, topic, check_crcs=True)) == 10
        assert log.stat().st_size == whole
        broker.kill()
