"""The disk runs full: the broker says so, loses nothing, and goes on when there is room again."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ottla.client.administration.topics import NewTopic
from ottla.client.sync_admin import SyncAdmin
from tests.support.broker import OttlaBroker
from tests.support.clients import consume, create_topic, produce
from tests.support.disk import MIB, fill, small_disk
from tests.support.requirements import requires
from tests.support.waiting import wait_for
from tests.support.wire import Wire, batch, produce_request, produced

pytestmark = pytest.mark.compat

KAFKA_STORAGE_ERROR = 56
VALUE = b"x" * 100_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    requires("loop devices")
    with small_disk(tmp_path / "small", size_mib=96) as mount_point:
        yield mount_point


def produce_until_refused(wire: Wire, topic: str) -> int:
    """Produce until the broker refuses, and return how many records it took before."""
    for count in range(1000):
        answer = produced(wire.ask(produce_request(topic, batch(VALUE))))
        if answer.error_code != 0:
            assert answer.error_code == KAFKA_STORAGE_ERROR
            return count
        assert answer.base_offset == count
    raise AssertionError("the disk never ran full")


def test_a_full_disk_refuses_and_recovers(
    disk: Path, own_broker: Callable[..., OttlaBroker]
) -> None:
    broker = own_broker(data_dir=disk / "data")
    quiet, busy = (create_topic(broker.bootstrap) for _ in range(2))
    produce(broker.bootstrap, quiet, [b"safe"] * 10)
    ballast = fill(disk, leave_bytes=4 * MIB)
    with Wire(broker.bootstrap) as wire:
        taken = produce_until_refused(wire, busy)
        assert len(consume(broker.bootstrap, quiet)) == 10
        assert len(consume(broker.bootstrap, busy, check_crcs=True)) == taken
        ballast.unlink()
        again = produced(wire.ask(produce_request(busy, batch(b"room again"))))
        assert (again.error_code, again.base_offset) == (0, taken)
    broker.restart()
    assert len(consume(broker.bootstrap, busy, check_crcs=True)) == taken + 1
    assert len(consume(broker.bootstrap, quiet)) == 10
    broker.stop()


def test_what_follows_a_batch_that_found_no_room_is_not_out_of_order(
    disk: Path, own_broker: Callable[..., OttlaBroker]
) -> None:
    broker = own_broker(data_dir=disk / "data")
    topic = create_topic(broker.bootstrap)
    batches = [batch(VALUE, producer=(77, 0, sequence)) for sequence in range(3)]
    with Wire(broker.bootstrap) as wire:

        def send(sequence: int) -> int:
            return int(produced(wire.ask(produce_request(topic, batches[sequence]))).error_code)

        assert send(0) == 0
        ballast = fill(disk, leave_bytes=len(VALUE) // 2)
        assert [send(1), send(2)] == [KAFKA_STORAGE_ERROR] * 2
        ballast.unlink()
        assert send(2) == KAFKA_STORAGE_ERROR
        assert [send(1), send(2)] == [0, 0]
    assert len(consume(broker.bootstrap, topic, check_crcs=True)) == 3
    broker.stop()


def test_a_partition_made_while_the_disk_was_full_opens_when_there_is_room(
    disk: Path, own_broker: Callable[..., OttlaBroker]
) -> None:
    roomy = disk.with_name("roomy")  # the metadata lies in the first directory
    broker = own_broker({"log.dirs": f"{roomy},{disk}/logs"}, data_dir=roomy)
    create_topic(broker.bootstrap)
    ballast = fill(disk, leave_bytes=0)
    with SyncAdmin({"bootstrap.servers": broker.bootstrap}) as client:
        client.create_topics([NewTopic("late", 1)])
    with Wire(broker.bootstrap) as wire:
        refused = produced(wire.ask(produce_request("late", batch(b"too early"))))
        assert refused.error_code == KAFKA_STORAGE_ERROR
        ballast.unlink()

        def taken() -> bool:
            return produced(wire.ask(produce_request("late", batch(b"room")))).error_code == 0

        wait_for(taken, "the partition to open")
    assert [each.value() for each in consume(broker.bootstrap, "late")] == [b"room"]
