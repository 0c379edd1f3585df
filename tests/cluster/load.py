"""A producer that goes on whatever happens to the cluster, and knows what it was promised."""

import time
from itertools import pairwise

from confluent_kafka import KafkaError, Message, Producer

from tests.support.clients import consume
from tests.support.cluster import Cluster
from tests.support.waiting import wait_for


class Load:
    """An idempotent producer with acks=all that notes when it was acknowledged."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.topic = topic
        self.sent = 0
        self.acked: list[bytes] = []
        self.acked_at: list[float] = []
        self.errors: list[str] = []
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 1,
                "log_level": 0,
            }
        )

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(str(error))
            return
        self.acked.append(message.value())
        self.acked_at.append(time.monotonic())

    def run(self, seconds: float) -> None:
        """Send for a while, all the time."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for _ in range(20):
                value = b"%d" % self.sent
                self._producer.produce(self.topic, value, on_delivery=self._delivered)
                self.sent += 1
            self._producer.poll(0.005)

    def finish(self) -> None:
        """Everything that was sent is acknowledged in the end."""
        assert self._producer.flush(30) == 0
        assert not self.errors
        assert len(self.acked) == self.sent

    def check(self, cluster: Cluster) -> None:
        """What is there is what was acknowledged: nothing lost, nothing twice."""
        # A broker that has just become the leader shows all of it once its followers have asked.
        wait_for(lambda: len(self._found(cluster)) >= len(self.acked), "all that was acknowledged")
        found = self._found(cluster)
        missing, doubled = set(self.acked) - set(found), len(found) - len(set(found))
        assert sorted(found) == sorted(self.acked), f"{len(missing)} missing, {doubled} doubled"

    def _found(self, cluster: Cluster) -> list[bytes | None]:
        return [
            message.value()
            for partition in cluster.partitions(self.topic)
            for message in consume(cluster.bootstrap, self.topic, partition)
        ]

    def longest_gap_after(self, moment: float) -> float:
        """The longest time without an acknowledgement around and after a moment."""
        times = [moment, *(at for at in self.acked_at if at >= moment)]
        return max(after - before for before, after in pairwise(times))
