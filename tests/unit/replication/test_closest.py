"""Which replica a consumer of a rack had better read from."""

from ottla.cluster.image import BrokerImage, Changes, Image, PartitionImage, advance
from ottla.replication.closest import closest_replica
from ottla.replication.leadership import Leadership

PLACED = PartitionImage(0, (1, 2, 3, 4), (1, 2, 3), 1, 0, 0, 10)


def image(**racks: str) -> Image:
    brokers = {int(n[1:]): BrokerImage(int(n[1:]), (), rack, 1) for n, rack in racks.items()}
    return advance(Image(), Changes(brokers=brokers))[0]


def asked(rack: str, offset: int = 50, **racks: str) -> int:
    leadership = Leadership(1, PLACED, 0, 0)
    for broker, end in ((2, 80), (3, 90), (4, 100)):
        leadership.fetched(broker, 1, end, 100, 0)
    return closest_replica(image(**racks), PLACED, leadership, rack, offset)


def test_the_furthest_follower_of_the_rack() -> None:
    assert asked("x", b1="y", b2="x", b3="x", b4="x") == 3, "broker 4 is not in sync"


def test_the_leader_if_it_stands_there_or_nobody_does() -> None:
    assert asked("x", b1="x", b2="x", b3="x") == -1
    assert asked("z", b1="y", b2="x", b3="x") == -1


def test_only_one_that_holds_the_offset() -> None:
    assert asked("x", 85, b1="y", b2="x", b3="z") == -1
