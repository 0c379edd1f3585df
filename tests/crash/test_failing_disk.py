"""A disk fails: its directory goes offline until a restart, and the other one goes on."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.broker import OttlaBroker
from tests.support.clients import consume, create_topic, produce
from tests.support.disk import failing_disk
from tests.support.requirements import requires
from tests.support.wire import Wire, batch, produce_request, produced

pytestmark = pytest.mark.compat

KAFKA_STORAGE_ERROR = 56
VALUE = b"x" * 200_000
PARTITIONS = 4


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    requires("mkfs.ext4", "losetup", "loop devices")
    with failing_disk(tmp_path, healthy_mib=48) as mount_point:
        yield mount_point


def write_until_refused(wire: Wire, topic: str, partition: int) -> int:
    """Produce with a sync for each batch until the broker refuses; how many it acknowledged."""
    for count in range(2000):
        answer = produced(wire.ask(produce_request(topic, batch(VALUE), partition=partition)))
        if answer.error_code != 0:
            assert answer.error_code == KAFKA_STORAGE_ERROR
            return count
    raise AssertionError("the disk never failed")


def partitions_in(directory: Path, topic: str) -> list[int]:
    return [n for n in range(PARTITIONS) if (directory / f"{topic}-{n}").is_dir()]


def test_a_failed_sync_takes_its_directory_offline_and_no_other(
    disk: Path, tmp_path: Path, own_broker: Callable[..., OttlaBroker]
) -> None:
    good, bad = tmp_path / "good", disk / "data"
    broker = own_broker({"log.dirs": f"{good},{bad}", "log.flush.interval.messages": "1"}, good)
    topic = create_topic(broker.bootstrap, partitions=PARTITIONS)
    healthy, doomed = partitions_in(good, topic), partitions_in(bad, topic)
    assert len(healthy) == len(doomed) == PARTITIONS // 2
    with Wire(broker.bootstrap) as wire:
        assert write_until_refused(wire, topic, doomed[0]) > 0
        for partition in doomed:
            answer = produced(wire.ask(produce_request(topic, batch(b"no"), partition=partition)))
            assert answer.error_code == KAFKA_STORAGE_ERROR, "offline until a restart"
    for partition in healthy:
        produce(broker.bootstrap, topic, [{"value": b"yes", "partition": partition}] * 10)
        assert len(consume(broker.bootstrap, topic, partition)) == 10
    assert "log directory offline" in broker.log
    broker.kill()
