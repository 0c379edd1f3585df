"""ResetSink: a sink forgets what it has committed, so that a job may begin anew."""

import pytest

from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.sinking import Driver
from tests.unit.broker.handlers.transacting import committed

pytestmark = pytest.mark.usefixtures("ottla_only")


def test_after_it_a_new_run_begins_with_any_batch(client: Client) -> None:
    topic = client.new_topic()
    old = Driver(client)
    old.commit(7)
    left = old.task(8)
    left.send(topic, b"left open")
    assert old.reset() == 0
    assert old.commit(8, [left]) == old.open().error_code == ErrorCode.SINK_FENCED
    new = Driver(client, old.sink_id)
    assert new.open().committed_batch == -1
    task = new.task(0)
    task.send(topic, b"from the beginning")
    assert new.commit(0, [task]) == 0
    assert committed(client, topic) == [b"from the beginning"]


def test_what_is_not_there_cannot_be_reset(client: Client) -> None:
    driver = Driver(client)
    assert driver.reset() == 0
    assert driver.reset() == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert driver.describe().error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
