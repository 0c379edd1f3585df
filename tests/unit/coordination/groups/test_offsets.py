"""Committed offsets: what is kept, what transactions hold back, and when it goes."""

import uuid

from ottla.coordination.decision import Transactional
from ottla.coordination.groups.offset_records import decode_value
from ottla.coordination.groups.offset_rules import OffsetLimits
from ottla.coordination.groups.offsets import TopicToCommit
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import ZERO_UUID
from tests.unit.coordination.groups.offset_stories import Shard, ToldGroup, at

WEEK_MS = 7 * 24 * 3_600_000
INTERVAL_MS = 600_000


def test_the_last_commit_counts() -> None:
    shard = Shard()
    shard.commit("g", "t", 0, 5)
    shard.commit("g", "t", 0, 9)
    shard.commit("g", "t", 1, 3)
    assert shard.offset("g", "t", 0) == 9
    assert shard.offset("g", "t", 1) == 3
    assert shard.offset("other", "t", 0) is None
    assert set(shard.offsets.groups()) == {"g"}


def test_nothing_changes_before_the_records_are_replayed() -> None:
    shard = Shard()
    wanted = [TopicToCommit("t", ZERO_UUID, [at(0, 5)])]
    shard.offsets.commit("g", wanted, 0)
    assert not shard.offsets.has_any("g")


def test_metadata_that_is_too_long_is_refused_for_its_partition_alone() -> None:
    shard = Shard(OffsetLimits(metadata_max_bytes=4))
    asked = [at(0, 1, "long!"), at(1, 2, None), at(2, 3, "éééé")]
    records, _, errors = shard.offsets.commit("g", [TopicToCommit("t", ZERO_UUID, asked)], 0)
    assert errors == [ErrorCode.OFFSET_METADATA_TOO_LARGE, 0, 0]
    shard.write(records)
    assert shard.offset("g", "t", 0) is None
    found = shard.offsets.find("g", "t", 1)
    assert found is not None
    assert found.metadata == ""


def test_a_deleted_offset_leaves_no_trace() -> None:
    shard = Shard()
    shard.commit("g", "t", 0, 5)
    shard.delete("g", "t", 0)
    assert shard.offset("g", "t", 0) is None
    assert not shard.offsets.has_any("g")
    assert not shard.offsets.groups()


def test_deleting_what_is_not_there_writes_nothing() -> None:
    shard = Shard()
    shard.delete("g", "t", 0)
    assert shard.log == []


def test_all_offsets_of_a_group_can_go_at_once() -> None:
    shard = Shard()
    for partition in range(3):
        shard.commit("g", "t", partition, 5)
    shard.commit("other", "t", 0, 5)
    shard.commit_in_transaction(1, "g", "u", 0, 5)
    shard.write(shard.offsets.delete_all("g", 0))
    assert set(shard.offsets.groups()) == {"other"}


def test_offsets_go_with_their_topic() -> None:
    shard = Shard()
    shard.commit("g", "gone", 0, 5)
    shard.commit("g", "stays", 0, 5)
    shard.commit("h", "gone", 7, 5)
    shard.commit_in_transaction(1, "h", "gone", 8, 5)
    shard.write(shard.offsets.topics_deleted({"gone", "never was"}, 0))
    shard.offsets.replay_marker(1, committed=True)
    assert shard.offset("g", "stays", 0) == 5
    assert set(shard.offsets.groups()) == {"g"}
    assert len(shard.offsets.topics("g")) == 1


# ------------------------------------------------------------------ transactions


def test_an_offset_in_a_transaction_counts_when_it_commits() -> None:
    shard = Shard()
    shard.commit("g", "t", 0, 5)
    shard.commit_in_transaction(1, "g", "t", 0, 9)
    assert shard.offset("g", "t", 0) == 5
    assert set(shard.offsets.unstable("g", "t")) == {0}
    shard.offsets.replay_marker(1, committed=True)
    assert shard.offset("g", "t", 0) == 9
    assert not shard.offsets.unstable("g", "t")


def test_an_offset_in_an_aborted_transaction_never_was() -> None:
    shard = Shard()
    shard.commit_in_transaction(1, "g", "t", 0, 9)
    assert shard.offsets.has_any("g")
    shard.offsets.replay_marker(1, committed=False)
    assert shard.offset("g", "t", 0) is None
    assert not shard.offsets.has_any("g")


def test_a_marker_of_a_producer_that_committed_nothing_here_is_nothing() -> None:
    shard = Shard()
    shard.offsets.replay_marker(77, committed=True)
    assert not shard.offsets.groups()


def test_an_offset_is_unstable_until_every_transaction_on_it_is_over() -> None:
    shard = Shard()
    shard.commit_in_transaction(1, "g", "t", 0, 9)
    shard.commit_in_transaction(2, "g", "t", 0, 10)
    shard.offsets.replay_marker(2, committed=False)
    assert set(shard.offsets.unstable("g", "t")) == {0}
    shard.offsets.replay_marker(1, committed=True)
    assert not shard.offsets.unstable("g", "t")
    assert shard.offset("g", "t", 0) == 9


def test_the_later_record_wins_even_if_the_earlier_ones_marker_comes_last() -> None:
    shard = Shard()
    shard.commit_in_transaction(1, "g", "t", 0, 9)
    shard.commit_in_transaction(2, "g", "t", 0, 10)
    shard.offsets.replay_marker(2, committed=True)
    shard.offsets.replay_marker(1, committed=True)
    assert shard.offset("g", "t", 0) == 10
    shard.commit_in_transaction(3, "g", "t", 0, 11)
    shard.commit("g", "t", 0, 4)
    assert set(shard.offsets.unstable("g", "t")) == {0}
    shard.offsets.replay_marker(3, committed=True)
    assert shard.offset("g", "t", 0) == 4


def test_a_tombstone_ends_what_transactions_hold() -> None:
    shard = Shard()
    shard.commit_in_transaction(1, "g", "t", 0, 9)
    shard.commit_in_transaction(1, "g", "t", 1, 9)
    shard.delete("g", "t", 0)
    assert set(shard.offsets.unstable("g", "t")) == {1}
    shard.offsets.replay_marker(1, committed=True)
    assert shard.offset("g", "t", 0) is None
    assert shard.offset("g", "t", 1) == 9


# ------------------------------------------------------------------------ expiry


def test_offsets_expire_a_week_after_their_commit() -> None:
    shard = Shard()
    shard.groups["g"] = ToldGroup()
    shard.offsets.loaded(0)
    shard.commit("g", "t", 0, 5, now_ms=0)
    shard.commit("g", "t", 1, 5, now_ms=10)
    shard.expire(WEEK_MS - 1)
    assert shard.offset("g", "t", 0) == 5
    shard.expire(WEEK_MS + INTERVAL_MS)
    assert not shard.offsets.has_any("g")


def test_checks_are_an_interval_apart() -> None:
    shard = Shard(OffsetLimits(retention_ms=0, check_interval_ms=100))
    shard.groups["g"] = ToldGroup()
    shard.commit("g", "t", 0, 5)
    assert shard.offsets.next_check_ms() is None
    assert shard.offsets.expired(1_000, shard.groups, shard.topics) == []
    shard.offsets.loaded(1_000)
    assert shard.offsets.next_check_ms() == 1_100
    assert shard.offsets.expired(1_099, shard.groups, shard.topics) == []
    shard.expire(1_120)
    assert shard.offset("g", "t", 0) is None
    assert shard.offsets.next_check_ms() == 1_220


def test_a_check_of_many_offsets_takes_many_turns() -> None:
    shard = Shard(OffsetLimits(retention_ms=0, check_interval_ms=100))
    shard.offsets.loaded(0)
    for number in range(50):
        shard.groups[f"g{number}"] = ToldGroup()
        for partition in range(100):
            shard.commit(f"g{number}", "t", partition, 5)
    turns = 0
    while shard.offsets.next_check_ms() == 100:
        shard.expire(100)
        turns += 1
    assert turns == 5
    assert not shard.offsets.groups()
    assert shard.offsets.next_check_ms() == 200


def test_a_group_decides_from_when_its_offsets_age() -> None:
    shard = Shard()
    shard.groups["emptied"] = ToldGroup(expires_since=lambda _: WEEK_MS)
    shard.groups["busy"] = ToldGroup(expires_since=lambda _: None)
    shard.offsets.loaded(0)
    shard.commit("emptied", "t", 0, 5)
    shard.commit("busy", "t", 0, 5)
    shard.expire(2 * WEEK_MS - 1)
    assert shard.offset("emptied", "t", 0) == 5
    shard.expire(3 * WEEK_MS)
    assert shard.offset("emptied", "t", 0) is None
    assert shard.offset("busy", "t", 0) == 5


def test_topics_that_a_live_group_reads_do_not_expire_and_the_others_do() -> None:
    shard = Shard()
    shard.groups["g"] = ToldGroup(subscribed={"read"})
    shard.offsets.loaded(0)
    shard.commit("g", "read", 0, 5)
    shard.commit("g", "left", 0, 5)
    shard.expire(WEEK_MS)
    assert list(shard.offsets.topics("g")) == ["read"]


def test_an_offset_that_a_transaction_may_move_does_not_expire() -> None:
    shard = Shard()
    shard.groups["g"] = ToldGroup()
    shard.offsets.loaded(0)
    shard.commit("g", "t", 0, 5)
    shard.commit_in_transaction(1, "g", "t", 0, 9)
    shard.expire(WEEK_MS)
    assert shard.offset("g", "t", 0) == 5


def test_a_client_may_say_how_long_its_offsets_live() -> None:
    shard = Shard(OffsetLimits(check_interval_ms=1))
    shard.groups["g"] = ToldGroup()
    shard.offsets.loaded(0)
    wanted = [TopicToCommit("t", ZERO_UUID, [at(0, 5)])]
    records, _, _ = shard.offsets.commit("g", wanted, 100, retention_ms=50)
    [(_, value)] = records
    assert value is not None
    assert decode_value(value).expire_timestamp_ms == 150
    shard.write(records)
    shard.expire(149)
    assert shard.offset("g", "t", 0) == 5
    shard.expire(150)
    assert shard.offset("g", "t", 0) is None


def test_offsets_of_topics_that_were_deleted_unseen_go_at_the_next_check() -> None:
    shard = Shard()
    shard.groups["g"] = ToldGroup(subscribed={"stays", "gone", "made anew"})
    shard.offsets.loaded(0)
    earlier = [TopicToCommit("made anew", uuid.UUID(int=7), [at(0, 5)])]
    shard.write(shard.offsets.commit("g", earlier, 0)[0])
    shard.commit("g", "stays", 0, 5)
    shard.commit("g", "gone", 0, 5)
    shard.topics.gone.add("gone")
    shard.expire(INTERVAL_MS)
    assert list(shard.offsets.topics("g")) == ["stays"]


# ------------------------------------------------------------------------ replay


def test_a_log_replayed_into_another_machine_makes_the_same_offsets() -> None:
    shard, other = Shard(), Shard()
    shard.commit("g", "t", 0, 5, now_ms=7)
    shard.commit_in_transaction(1, "g", "t", 1, 9)
    shard.delete("g", "t", 0)
    for record, transactional in shard.log:
        other.offsets.replay(*record, transactional)
    for each in (shard, other):
        each.offsets.replay_marker(1, committed=True)
    assert other.offsets.topics("g") == shard.offsets.topics("g")
    assert shard.log[1][1] == Transactional(1, 0)
