"""AbortTxnGroup: a driver gives up, and nothing of its batch is ever read."""

from collections.abc import Callable
from contextlib import closing

import pytest

from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.sinking import Driver
from tests.unit.broker.handlers.transacting import committed

pytestmark = pytest.mark.usefixtures("ottla_only")


def test_what_was_given_up_is_not_read_and_may_be_written_again(client: Client) -> None:
    topic = client.new_topic()
    driver = Driver(client)
    task = driver.task(0)
    task.send(topic, b"given up")
    assert driver.abort() == driver.abort() == 0
    assert driver.commit(0, [task]) == ErrorCode.SINK_SLOT_LOST
    again = driver.task(0)
    assert again.as_slot() != task.as_slot()
    again.send(topic, b"again")
    assert driver.commit(0, [again]) == 0
    assert committed(client, topic) == [b"again"]


def test_a_run_that_was_fenced_has_nothing_to_give_up(client: Client) -> None:
    old = Driver(client)
    new = Driver(client, old.sink_id)
    task = new.task(0)
    assert old.abort() == ErrorCode.SINK_FENCED
    assert new.commit(0, [task]) == 0


def test_an_ephemeral_sink_is_over(client: Client) -> None:
    driver = Driver(client, ephemeral=True)
    driver.task(0).send(client.new_topic(), b"v")
    assert driver.abort() == 0
    assert driver.slot(0).error_code == ErrorCode.SINK_FENCED
    not_found = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    wait_for(lambda: driver.describe().error_code == not_found, "its slot to end")


def test_a_group_that_gives_no_sign_of_life_is_aborted_as_a_whole(
    own_broker: Callable[..., OttlaBroker],
) -> None:
    often = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"}
    broker = own_broker(often | {"transaction.state.log.num.partitions": "4"})
    with closing(Client(broker.bootstrap)) as client:
        topic, driver = client.new_topic(), Driver(client, timeout_ms=500)
        tasks = [driver.task(0, number) for number in range(3)]
        for task in tasks[:2]:
            task.send(topic, b"v")
        wait_for(lambda: not driver.describe().slots, "the time-out")
        assert driver.commit(0, tasks) == ErrorCode.SINK_SLOT_LOST
        assert committed(client, topic) == []
        assert driver.open().error_code == 0, "the run may write the batch again"
