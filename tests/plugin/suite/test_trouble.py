"""What one test does to the broker, the next one does not see."""

import ottla
from ottla.testing import Broker, Topic


def test_one_breaks_everything(ottla_broker: Broker, ottla_topic: Topic) -> None:
    ottla_broker.faults.drop("Metadata", times=None)
    ottla_broker.faults.fail("Produce", "TOPIC_AUTHORIZATION_FAILED", times=None)
    ottla_broker.advance_clock(days=1)


def test_the_next_finds_it_whole(ottla_broker: Broker, ottla_topic: Topic) -> None:
    with ottla.Producer(bootstrap_servers=ottla_broker.bootstrap_servers) as producer:
        assert producer.send(ottla_topic, b"a").result(20).offset == 0


def test_one_leaves_it_dead(ottla_broker: Broker, ottla_topic: Topic) -> None:
    ottla_broker.kill()


def test_the_next_finds_it_alive(ottla_broker: Broker, ottla_topic: Topic) -> None:
    with ottla.Producer(bootstrap_servers=ottla_broker.bootstrap_servers) as producer:
        assert producer.send(ottla_topic, b"a").result(20).offset == 0
