"""Moves between log directories, in the words of Kafka's own tool; the moving itself: tests/crash."""

import pytest

from ottla.base.ids import TopicPartition
from ottla.cli.kafka.log_dir_moves import Place, Replica, is_moving, state_of, wanted_directories
from ottla.cli.kafka.reassignment_files import Target

REPLICA = Replica(1, TopicPartition("orders", 0))


def test_only_directories_that_are_named_are_wanted() -> None:
    target = Target((1, 2), ("/disk", "any"))
    assert wanted_directories({REPLICA.partition: target}) == {REPLICA: "/disk"}


@pytest.mark.parametrize(
    ("place", "moving", "said"),
    [
        (Place("/b", None), False, "Reassignment of replica orders-0-1 completed successfully."),
        (Place("/a", "/b"), True, "Reassignment of replica orders-0-1 is still in progress."),
        (
            Place("/a", "/c"),
            True,
            "Partition orders-0 on broker 1 is being moved to log dir /c instead of /b.",
        ),
        (
            Place("/a", None),
            False,
            "Partition orders-0 on broker 1 is not being moved from log dir /a to /b.",
        ),
        (
            Place(None, "/b"),
            True,
            "Partition orders-0 is not found in any live log dir on broker 1. There is likely an "
            "offline log directory on the broker.",
        ),
        (
            None,
            True,
            "Partition orders-0 cannot be found in any live log directory on broker 1.",
        ),
    ],
)
def test_states(place: Place | None, moving: bool, said: str) -> None:
    assert state_of(REPLICA, "/b", place) == said
    assert is_moving(place) == moving
