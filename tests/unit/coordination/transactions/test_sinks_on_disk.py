"""A job that writes for long leaves no more on a broker's disk than one that has just begun."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.support.broker import OttlaBroker
from tests.support.disk import segments_are_below
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.sinking import Driver

TASKS = 8
FEW, MANY = 20, 300
SEGMENT_BYTES = 1_048_576
SINK = "a-sink-with-a-long-name-" * 10
"""Makes records long: without compaction the log would have several segments at the end."""

SETTINGS = {
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.segment.bytes": str(SEGMENT_BYTES),
    "log.cleaner.backoff.ms": "50",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.cleaner.delete.retention.ms": "0",
    "log.segment.delete.delay.ms": "0",
    "log.initial.task.delay.ms": "0",
}


def write(driver: Driver, topic: str, batches: range) -> None:
    for batch in batches:
        tasks = [driver.task(batch, number) for number in range(TASKS)]
        for task in tasks:
            assert task.send(topic) == 0
        assert driver.commit(batch, tasks) == 0


def producers_remembered(broker: OttlaBroker, topic: str) -> int:
    """The size of the producers' snapshot that a broker leaves when it stops."""
    broker.stop()
    snapshots = sorted(Path(broker.data_dir, f"{topic}-0").glob("*.snapshot"))
    size_bytes = snapshots[-1].stat().st_size
    broker.start()
    return size_bytes


def test_many_batches_leave_as_much_as_few(own_broker: Callable[..., OttlaBroker]) -> None:
    broker = own_broker(SETTINGS)
    state = broker.data_dir / "__transaction_state-0"
    with closing(Client(broker.bootstrap)) as client:
        topic, driver = client.new_topic(), Driver(client, SINK)
        write(driver, topic, range(FEW))
    after_few = producers_remembered(broker, topic)
    with closing(Client(broker.bootstrap)) as client:
        driver.client = client
        write(driver, topic, range(FEW, MANY))
        wait_for(lambda: segments_are_below(state, 1.5 * SEGMENT_BYTES), "the compaction", 30)
        assert driver.describe().committed_batch == MANY - 1
        assert not driver.describe().slots
    assert producers_remembered(broker, topic) == after_few
