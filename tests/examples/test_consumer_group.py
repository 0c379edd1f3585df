"""examples/consumer_group.py: workers come, die and leave, and every order is handled."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from threading import Thread

import pytest

import ottla
from ottla.testing import Broker, Topic
from tests.support.waiting import wait_for

Start = Callable[..., "subprocess.Popen[str]"]
PARTITIONS = 4


class Shop:
    """Orders in a topic, the workers that handle them, and what each has said."""

    def __init__(self, broker: Broker, topic: Topic, start: Start) -> None:
        self.broker, self.topic, self._start = broker, topic, start
        self.handled: list[str] = []
        self.ordered = 0
        self._readers: list[Thread] = []

    def order(self, count: int) -> None:
        with ottla.Producer(
            bootstrap_servers=self.broker.bootstrap_servers, value_serializer="json"
        ) as producer:
            for n in range(count):
                order = {"item": f"item-{self.ordered + n}"}
                producer.send(self.topic, order, key=b"c", partition=n % PARTITIONS)
        self.ordered += count

    def hire(self, session_timeout_ms: int = 6000) -> "subprocess.Popen[str]":
        options = {
            "--bootstrap-server": self.broker.bootstrap_servers,
            "--topic": self.topic,
            "--group": f"{self.topic}-group",
            "--session-timeout-ms": str(session_timeout_ms),
        }
        worker = self._start(
            "consumer_group.py", *[part for pair in options.items() for part in pair]
        )
        self._readers.append(Thread(target=lambda: self.handled.extend(worker.stdout or ())))
        self._readers[-1].start()
        return worker

    def items(self) -> list[str]:
        return [line.split(": ")[1].strip() for line in self.handled]

    def wait_until_all_is_handled(self) -> None:
        wait_for(lambda: len(set(self.items())) == self.ordered, "all orders to be handled", 20)

    def close(self) -> None:
        for reader in self._readers:
            reader.join(10)


@pytest.fixture
def shop(
    start_example: Start, ottla_broker: Broker, ottla_topics: Callable[..., Topic]
) -> Iterator[Shop]:
    return Shop(ottla_broker, ottla_topics(partitions=PARTITIONS), start_example)


def given(worker: "subprocess.Popen[str]") -> str:
    assert worker.stderr is not None
    return worker.stderr.readline().strip()


def leave(worker: "subprocess.Popen[str]") -> None:
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(20) == 0


def test_workers_join_and_leave_and_nothing_is_handled_twice(shop: Shop) -> None:
    first = shop.hire()
    assert given(first) == "given [0, 1, 2, 3]"
    shop.order(200)
    second = shop.hire()
    assert given(second).count(",") == 1
    shop.order(200)
    shop.wait_until_all_is_handled()
    leave(first)
    shop.order(200)
    shop.wait_until_all_is_handled()
    leave(second)
    shop.close()
    assert len(shop.handled) == shop.ordered


def test_what_a_dead_worker_left_is_handled_by_another(shop: Shop) -> None:
    first, second = shop.hire(1000), shop.hire(1000)
    shop.order(400)
    wait_for(lambda: len(shop.handled) > 50, "some orders to be handled", 20)
    first.kill()
    first.wait(10)
    shop.order(400)
    shop.wait_until_all_is_handled()
    leave(second)
    shop.close()
