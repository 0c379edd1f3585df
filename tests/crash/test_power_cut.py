"""The power goes: with flush.messages=1 everything acknowledged is still there afterwards."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.broker import OttlaBroker
from tests.support.clients import consume, create_topic, produce
from tests.support.disk import PowerCutDisk
from tests.support.requirements import requires
from tests.support.running_producer import RunningProducer, check_promises

pytestmark = [pytest.mark.compat, pytest.mark.slow]

CUTS = 3
FLUSH_ALWAYS = {"log.flush.interval.messages": "1"}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[PowerCutDisk]:
    requires("mkfs.ext4", "losetup", "loop devices")
    disk = PowerCutDisk(tmp_path)
    yield disk
    disk.unmount()


def test_synced_records_survive_the_power_cut(
    disk: PowerCutDisk, own_broker: Callable[..., OttlaBroker]
) -> None:
    broker = own_broker(FLUSH_ALWAYS, disk.mount_point / "data")
    for cut in range(CUTS):
        topic = create_topic(broker.bootstrap, f"cut-{cut}", partitions=2)
        with RunningProducer(broker.bootstrap, topic, partitions=2) as running:
            running.wait_for_acks(300)
            broker.kill()
            running.stop_at_once()
        disk.cut_power()
        broker.start()
        check_promises(broker.bootstrap, running)
    broker.kill()


def test_a_broker_that_syncs_nothing_still_starts_again(
    disk: PowerCutDisk, own_broker: Callable[..., OttlaBroker]
) -> None:
    broker = own_broker(data_dir=disk.mount_point / "data")
    lost = create_topic(broker.bootstrap, "lost")
    produce(broker.bootstrap, lost, [b"perhaps"] * 100)
    broker.kill()
    disk.cut_power()
    broker.start()
    after = create_topic(broker.bootstrap, "after")
    produce(broker.bootstrap, after, [b"surely"])
    assert len(consume(broker.bootstrap, after)) == 1
    broker.kill()
