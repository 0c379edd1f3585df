"""OpenSinkSlot: a task attempt gets a producer, with which it writes like any other."""

import pytest

from ottla.protocol.apis.describe_producers import DescribeProducersRequest, TopicRequest
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.sinking import Driver
from tests.unit.broker.handlers.transacting import committed

pytestmark = pytest.mark.usefixtures("ottla_only")


def test_the_same_attempt_gets_the_same_producer_and_another_attempt_another(
    client: Client,
) -> None:
    driver = Driver(client)
    first = driver.slot(0)
    assert driver.slot(0) == first
    twin = driver.slot(0, attempt=1)
    assert twin.producer_id != first.producer_id
    assert twin.transactional_id != first.transactional_id
    assert driver.sink_id in first.transactional_id


@pytest.mark.parametrize("version", [9, 12])
def test_old_and_new_ways_of_writing_work(client: Client, version: int) -> None:
    topic = client.new_topic(2)
    driver = Driver(client)
    task = driver.task(0)
    task.produce_version = version
    if version == 9:
        assert task.add(topic, 0, 1) == {0}
    for partition in range(2):
        assert task.send(topic, b"%d" % partition, partition=partition) == 0
    assert driver.commit(0, [task]) == 0
    assert committed(client, topic, 0) + committed(client, topic, 1) == [b"0", b"1"]


def test_a_producer_is_used_again_and_its_former_task_is_kept_out(client: Client) -> None:
    topic = client.new_topic()
    driver = Driver(client)
    first = driver.task(0)
    first.send(topic, b"first")
    driver.commit(0, [first])
    second = driver.task(1)
    assert second.producer_id == first.producer_id
    assert second.epoch > first.epoch
    assert first.send(topic, b"late") == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert second.send(topic, b"second") == 0
    assert first.send(topic, b"late") == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    driver.commit(1, [second])
    assert committed(client, topic) == [b"first", b"second"]


def test_slots_of_committed_batches_are_refused(client: Client) -> None:
    driver = Driver(client)
    driver.commit(7)
    assert driver.slot(7).error_code == ErrorCode.SINK_ALREADY_COMMITTED
    behind = driver.slot(6)
    assert behind.error_code == ErrorCode.CHECKPOINT_BEHIND_SINK
    assert "ottla sinks reset" in behind.error_message


def test_a_task_cannot_end_its_slot(client: Client) -> None:
    topic = client.new_topic()
    driver = Driver(client)
    task = driver.task(0)
    task.send(topic, b"v")
    assert task.end(True).error_code == ErrorCode.INVALID_TXN_STATE
    assert task.init().error_code == ErrorCode.INVALID_TXN_STATE
    assert driver.commit(0, [task]) == 0
    assert committed(client, topic) == [b"v"]


def test_partitions_remember_no_more_producers_after_many_batches(client: Client) -> None:
    topic = client.new_topic()
    driver = Driver(client)
    for batch in range(30):
        tasks = [driver.task(batch, number) for number in range(3)]
        for task in tasks:
            assert task.send(topic, b"%d" % batch) == 0
        assert driver.commit(batch, tasks) == 0
    asked = [TopicRequest(name=topic, partition_indexes=[0])]
    [row] = client.ask(DescribeProducersRequest(topics=asked)).topics[0].partitions
    assert len(row.active_producers) == 3
    assert len(committed(client, topic)) == 90
