"""CommitTxnGroup: the winners of a batch are read by careful readers, all of them, and nobody else."""

from collections.abc import Callable
from contextlib import closing

import pytest

from ottla.protocol.apis.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.sinking import Driver, Task
from tests.unit.broker.handlers.transacting import committed

pytestmark = pytest.mark.usefixtures("ottla_only")


def test_winners_are_read_and_a_loser_is_not(client: Client) -> None:
    topic = client.new_topic(2)
    driver = Driver(client)
    left, right = driver.task(0, partition=0), driver.task(0, partition=1)
    loser = driver.task(0, partition=1, attempt=1)
    for partition in range(2):
        for task, value in ((left, b"left"), (loser, b"loser"), (right, b"right")):
            assert task.send(topic, value, partition=partition) == 0
        assert committed(client, topic, partition) == []
    assert driver.commit(0, [left, right]) == 0
    for partition in range(2):
        assert committed(client, topic, partition) == [b"left", b"right"]
    assert driver.describe().slots == []


def test_a_group_can_be_committed_once_more_and_changes_nothing(client: Client) -> None:
    topic = client.new_topic()
    driver = Driver(client)
    task = driver.task(0)
    task.send(topic, b"once")
    assert driver.commit(0, [task]) == driver.commit(0, [task]) == driver.commit(0) == 0
    assert driver.commit(0, [task], "other") == ErrorCode.SINK_BATCH_DIFFERS
    other = driver.task(1)
    other.send(topic, b"other")
    assert driver.commit(0, [other]) == ErrorCode.SINK_ALREADY_COMMITTED
    assert committed(client, topic) == [b"once"]


def test_nothing_commits_when_a_slot_is_lost(client: Client) -> None:
    topic = client.new_topic()
    driver = Driver(client)
    kept, stale = driver.task(0, 0), driver.task(0, 1)
    kept.send(topic, b"kept")
    stale.epoch += 1
    assert driver.commit(0, [kept, stale]) == ErrorCode.SINK_SLOT_LOST
    assert committed(client, topic) == []
    assert driver.describe().committed_batch == -1
    assert driver.commit(0, [kept]) == 0
    assert committed(client, topic) == [b"kept"]


def test_a_slot_whose_topic_was_deleted_ends_all_the_same(client: Client) -> None:
    kept, gone, again = client.new_topic(), client.new_topic(), client.new_topic(2)
    driver = Driver(client)
    task = driver.task(0)
    for topic, partition in ((kept, 0), (gone, 0), (again, 1)):
        task.send(topic, b"v", partition=partition)
    for topic in (gone, again):
        client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)]))
    assert driver.commit(0, [task]) == 0
    wait_for(lambda: not driver.describe().slots, "the slot to end")
    assert committed(client, kept) == [b"v"]


def test_a_restart_loses_neither_the_ledger_nor_an_open_slot(
    own_broker: Callable[..., OttlaBroker],
) -> None:
    broker = own_broker({"transaction.state.log.num.partitions": "4"})
    with closing(Client(broker.bootstrap)) as client:
        topic, driver = client.new_topic(), Driver(client)
        first = driver.task(0)
        first.send(topic, b"first")
        driver.commit(0, [first])
        second = driver.task(1)
        second.send(topic, b"second")
    broker.kill()
    broker.start()
    with closing(Client(broker.bootstrap)) as client:
        driver.client = client
        assert driver.open().committed_batch == 0
        assert Task(client, driver.slot(1)).as_slot() == second.as_slot()
        assert committed(client, topic) == [b"first"]
        assert driver.commit(1, [second]) == 0
        assert committed(client, topic) == [b"first", b"second"]
