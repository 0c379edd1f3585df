"""What the checker says of replicas that differ, in their files or when they lead."""

import json

from tests.checker.check import check
from tests.checker.history import Action, Operation, dump, load
from tests.checker.replicas import Batch, Replica
from tests.checker.test_writes import broken, noted

BATCHES = [Batch(0, 4, 0, 11), Batch(5, 6, 0, 12), Batch(7, 9, 2, 13)]
EPOCHS = [(0, 0), (2, 7)]


def said_of(*replicas: Replica) -> set[str]:
    """The promises that these replicas of one log break, after a detour through a file."""
    history = [
        Operation(
            id=str(each.node),
            process="files",
            action=Action.REPLICA,
            completed_ms=1.0,
            node=each.node,
            keys=frozenset({"t/0"}),
            facts=each.facts(),
        )
        for each in replicas
    ]
    return check(load(dump(history))).bad


def test_replicas_that_are_the_same() -> None:
    assert said_of(Replica(1, 10, BATCHES, EPOCHS), Replica(2, 10, BATCHES, EPOCHS)) == set()


def test_a_replica_may_differ_above_the_high_watermark() -> None:
    tail = [*BATCHES[:2], Batch(7, 8, 1, 99)]
    assert said_of(Replica(1, 10, BATCHES, EPOCHS), Replica(2, 7, tail, [(0, 0), (1, 7)])) == set()


def test_a_replica_may_begin_later() -> None:
    assert said_of(Replica(1, 10, BATCHES, EPOCHS), Replica(2, 10, BATCHES[1:], EPOCHS)) == set()


def test_a_batch_has_other_bytes() -> None:
    flipped = [BATCHES[0], BATCHES[1]._replace(crc=99), BATCHES[2]]
    replicas = Replica(1, 10, BATCHES, EPOCHS), Replica(2, 10, flipped, EPOCHS)
    assert said_of(*replicas) == {"replica-divergence"}


def test_a_batch_is_missing() -> None:
    replicas = Replica(1, 10, BATCHES, EPOCHS), Replica(2, 10, BATCHES[:2], EPOCHS)
    assert said_of(*replicas) == {"replica-divergence"}


def test_a_replica_remembers_other_epochs() -> None:
    replicas = Replica(1, 10, BATCHES, EPOCHS), Replica(2, 10, BATCHES, [(0, 0), (1, 6), (2, 7)])
    assert said_of(*replicas) == {"replica-epochs"}


def test_what_was_read_is_not_known_to_be_committed() -> None:
    facts = json.dumps(Replica(1, 1, BATCHES, EPOCHS).facts()).replace(" ", "")
    assert noted(f"""
        w send +a@0 +b@1
        r poll a@0 b@1
        s replica node=1 keys=t/0 facts={facts}
    """) == {"replica-short"}


ROTATED = """
    w  send +a@0 +b@1
    z  read_to_end keys=t/0 facts={{"rotation":1}} a@0 b@1
    z  read_to_end keys=t/0 facts={{"rotation":2}} {}
"""


def test_every_leader_shows_the_same() -> None:
    assert broken(ROTATED.format("a@0 b@1")) == set()


def test_another_leader_shows_something_else() -> None:
    assert "leader-rotation" in broken(ROTATED.format("a@0 c@1"))
    assert "leader-rotation" in broken(ROTATED.format("a@0"))
