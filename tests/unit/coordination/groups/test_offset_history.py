"""Who moved the positions of a group, when, and from where to where."""

from ottla.base.ids import TopicPartition
from ottla.coordination.groups import offset_history
from ottla.coordination.groups.offset_history import (
    COMMIT,
    DELETE,
    EXPIRE,
    TRANSACTION,
    Author,
    Move,
)
from ottla.coordination.groups.offset_rules import OffsetLimits
from tests.unit.coordination.groups.offset_stories import Shard, ToldGroup

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


def test_steps_of_one_member_within_a_minute_are_one_walk() -> None:
    shard = Shard()
    for step in range(5):
        shard.commit("g", "t", 0, 10 * step, now_ms=1_000 * step, who="m1")
        shard.commit("g", "t", 1, step, now_ms=1_000 * step, who="m1")
    [entry] = shard.offsets.history.of("g")
    assert entry.author == Author(COMMIT, "m1")
    assert (entry.first_ms, entry.last_ms, entry.commits) == (0, 4_000, 5)
    assert entry.moves == {FIRST: Move(None, 40), SECOND: Move(None, 4)}


def test_a_reset_is_an_entry_of_its_own_that_tells_how_to_undo_it() -> None:
    shard = Shard()
    shard.commit("g", "t", 0, 500, now_ms=1, who="m1")
    shard.commit("g", "t", 0, 0, now_ms=2)
    shard.commit("g", "t", 0, 70, now_ms=3, who="m1")
    assert [entry.moves[FIRST] for entry in shard.offsets.history.of("g")] == [
        Move(None, 500),
        Move(500, 0),
        Move(0, 70),
    ]


def test_going_back_is_never_joined_to_going_forward() -> None:
    shard = Shard()
    shard.commit("g", "t", 0, 500, now_ms=1, who="m1")
    shard.commit("g", "t", 0, 100, now_ms=1, who="m1")
    assert [entry.moves[FIRST] for entry in shard.offsets.history.of("g")] == [
        Move(None, 500),
        Move(500, 100),
    ]


def test_deletion_and_expiry_say_so() -> None:
    shard = Shard(OffsetLimits(retention_ms=10, check_interval_ms=10))
    shard.groups["g"] = ToldGroup()
    shard.offsets.loaded(0)
    shard.commit("g", "t", 0, 5)
    shard.commit("g", "t", 1, 6)
    shard.delete("g", "t", 0, now_ms=7)
    shard.expire(20)
    first, deleted, expired = shard.offsets.history.of("g")
    assert first.author.action == COMMIT
    assert (deleted.author.action, deleted.last_ms) == (DELETE, 7)
    assert deleted.moves == {FIRST: Move(5, None)}
    assert (expired.author.action, expired.last_ms) == (EXPIRE, 20)
    assert expired.moves == {SECOND: Move(6, None)}


def test_a_transaction_moves_when_it_commits() -> None:
    shard = Shard()
    shard.commit("g", "t", 0, 5, who="m1")
    shard.commit_in_transaction(7, "g", "t", 0, 9)
    shard.offsets.replay_marker(7, committed=True)
    _, entry = shard.offsets.history.of("g")
    assert entry.author == Author(TRANSACTION, producer_id=7)
    assert entry.moves == {FIRST: Move(5, 9)}


def test_after_a_restart_the_moves_are_known_but_not_who_made_them() -> None:
    shard, restarted = Shard(), Shard()
    shard.commit("g", "t", 0, 5, now_ms=1, who="m1")
    shard.commit("g", "t", 0, 2, now_ms=2, who="m2")
    for record, transactional in shard.log:
        restarted.offsets.replay(*record, transactional)
    entries = restarted.offsets.history.of("g")
    assert [entry.author for entry in entries] == [Author(COMMIT), Author(COMMIT)]
    assert [entry.moves[FIRST] for entry in entries] == [Move(None, 5), Move(5, 2)]


def test_the_past_of_a_group_is_bounded() -> None:
    shard = Shard()
    for number in range(1_000):
        shard.commit("g", "t", 0, number % 2, now_ms=number, who=f"m{number}")
    assert len(shard.offsets.history.of("g")) == offset_history.ENTRIES_PER_GROUP
    for number in range(20):
        for partition in range(1_000):
            shard.commit("g", "t", partition, 0, now_ms=2_000 + number, who=f"m{number}")
    entries = shard.offsets.history.of("g")
    assert sum(len(entry.moves) for entry in entries) <= offset_history.MOVES_PER_GROUP


def test_so_is_the_number_of_groups_that_have_one() -> None:
    shard = Shard()
    for number in range(offset_history.GROUPS + 5):
        shard.commit(f"g{number}", "t", 0, 1)
    assert not shard.offsets.history.of("g4")
    assert shard.offsets.history.of("g5")


def test_so_is_all_that_is_known_of_all_groups() -> None:
    shard = Shard()
    for number in range(20):
        for partition in range(1_000):
            shard.commit(f"g{number}", "t", partition, 1)
    held = [len(e.moves) for n in range(20) for e in shard.offsets.history.of(f"g{n}")]
    assert offset_history.MOVES - 1_000 < sum(held) <= offset_history.MOVES
    assert shard.offsets.history.of("g19")


def test_a_reset_outlives_the_commits_of_the_days_after_it() -> None:
    shard = Shard()
    shard.commit("g", "t", 0, 500, now_ms=1, who="m1")
    shard.commit("g", "t", 0, 0, now_ms=2)
    for minute in range(10_000):
        shard.commit("g", "t", 0, minute, now_ms=100_000 * minute, who="m1")
    entries = shard.offsets.history.of("g")
    assert len(entries) == offset_history.ENTRIES_PER_GROUP
    assert [entry.moves[FIRST] for entry in entries if not entry.is_walk] == [Move(500, 0)]
