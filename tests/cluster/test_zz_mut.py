"""A batch that was committed is there as a whole, whichever broker dies before its markers are written."""

from contextlib import ExitStack, closing

import pytest

from ottla.coordination.routing import partition_for
from ottla.protocol.apis.find_coordinator import FindCoordinatorRequest
from tests.support.clients import admin, create_named, create_topic, unique_name
from tests.support.cluster import Cluster, MakeCluster
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.records import fetch
from tests.unit.broker.handlers.sinking import Driver, Task
from tests.unit.broker.handlers.transacting import committed

pytestmark = [pytest.mark.compat, pytest.mark.java]

TRANSACTIONS = "__transaction_state"


class Job:
    """A job on a cluster, whose requests go to the brokers that they concern."""

    def __init__(self, cluster: Cluster, connections: ExitStack) -> None:
        self.cluster, self._connections = cluster, connections
        self.sink = unique_name("sink")
        find = FindCoordinatorRequest(key_type=1, coordinator_keys=[self.sink])
        any_broker = self.connect(1)
        wait_for(lambda: not any_broker.ask(find, 4).coordinators[0].error_code, "a coordinator")
        cluster.wait_until_in_sync(TRANSACTIONS)
        self.driver = Driver(self.connect(self.coordinator()), self.sink)

    def connect(self, broker: int) -> Client:
        return self._connections.enter_context(
            closing(Client(self.cluster.brokers[broker].bootstrap))
        )

    def coordinator(self) -> int:
        index = partition_for(self.sink, len(self.cluster.partitions(TRANSACTIONS)))
        return self.cluster.leader(TRANSACTIONS, index)

    def find_coordinator(self) -> None:
        """Go on with whoever coordinates the sink now."""
        self.driver.client = self.connect(self.coordinator())

    def write(self, task: Task, value: bytes, topic: str, partition: int = 0) -> None:
        with closing(self.connect(self.cluster.leader(topic, partition))) as leader:
            task.client = leader
            assert task.send(topic, value, partition=partition) == 0

    def read(self, topic: str, partition: int = 0) -> list[bytes]:
        with closing(self.connect(self.cluster.leader(topic, partition))) as leader:
            return committed(leader, topic, partition)


def test_markers_follow_although_the_coordinator_died_after_the_commit(
    make_cluster: MakeCluster,
) -> None:
    from pathlib import Path; cluster = make_cluster(source=Path("/tmp/mutsrc"))
    safe = create_topic(cluster.bootstrap, replicas=3)
    alone = create_topic(cluster.bootstrap, partitions=3, replicas=1)
    with ExitStack() as connections:
        job = Job(cluster, connections)
        first = job.coordinator()
        lone, leader = next(
            (n, each.leader)
            for n, each in cluster.partitions(alone).items()
            if each.leader != first
        )
        winners = [job.driver.task(0, number) for number in range(2)]
        loser = job.driver.task(0, 1, attempt=1)
        for task, value in zip([*winners, loser], (b"a", b"b", b"lost"), strict=True):
            job.write(task, value, safe)
            job.write(task, value, alone, lone)
        # Its partition has no other replica: the markers for it have to wait.
        cluster.brokers[leader].kill()
        assert job.driver.commit(0, winners) == 0
        assert {slot.state for slot in job.driver.describe().slots} == {
            "PrepareCommit",
            "PrepareAbort",
        }
        cluster.brokers[first].kill()
        cluster.brokers[leader].start()
        job.find_coordinator()
        assert job.coordinator() != first
        assert job.driver.commit(0, winners) == 0, "whoever lost the answer asks again"
        assert job.driver.open().committed_batch == 0
        wait_for(lambda: not job.driver.describe().slots, "all markers to be written", 30)
        assert job.read(safe) == job.read(alone, lone) == [b"a", b"b"]


def test_an_open_batch_goes_on_with_the_next_coordinator(make_cluster: MakeCluster) -> None:
    from pathlib import Path; cluster = make_cluster(source=Path("/tmp/mutsrc"))
    topic = create_topic(cluster.bootstrap, replicas=3)
    with ExitStack() as connections:
        job = Job(cluster, connections)
        task = job.driver.task(0)
        job.write(task, b"before", topic)
        first = job.coordinator()
        cluster.brokers[first].kill()
        wait_for(lambda: job.coordinator() != first, "another coordinator")
        job.find_coordinator()
        again = job.driver.task(0)
        assert again.as_slot() == task.as_slot()
        job.write(task, b"after", topic)
        assert job.driver.commit(0, [task]) == 0
        wait_for(lambda: not job.driver.describe().slots, "its markers to be written", 30)
        assert job.read(topic) == [b"before", b"after"]


def test_a_topic_that_was_deleted_and_made_again_is_left_alone(make_cluster: MakeCluster) -> None:
    from pathlib import Path; cluster = make_cluster(source=Path("/tmp/mutsrc"))
    name = create_topic(cluster.bootstrap, partitions=3, replicas=1)
    with ExitStack() as connections:
        job = Job(cluster, connections)
        leader = next(
            each.leader
            for each in cluster.partitions(name).values()
            if each.leader != job.coordinator()
        )
        mine = [n for n, each in cluster.partitions(name).items() if each.leader == leader]
        task = job.driver.task(0)
        for number in mine:
            job.write(task, b"gone with its topic", name, number)
        cluster.brokers[leader].kill()
        assert job.driver.commit(0, [task]) == 0
        assert [slot.state for slot in job.driver.describe().slots] == ["PrepareCommit"]
        alive = ",".join(each.bootstrap for each in cluster.brokers.values() if each.running)
        client = admin(alive)
        client.delete_topics([name])[name].result(20)
        create_named(alive, name, 3, replicas=2)
        wait_for(lambda: not job.driver.describe().slots, "the slot to end", 30)
        for number in range(3):
            with closing(job.connect(cluster.leader(name, number))) as reader:
                assert fetch(reader, name, partition=number, max_wait_ms=0).high_watermark == 0
