"""The machine behind a partition: many groups, one clock, one log."""

import time
from typing import Any

import pytest

from ottla.config.groups import GroupsConfig
from ottla.coordination.decision import Decision, UnknownRecord
from ottla.coordination.groups.arrivals import LONGEST_MS
from ottla.coordination.groups.classic import SHORTEST_GATHERING_MS
from ottla.coordination.groups.group import Caller
from ottla.coordination.groups.offset_records import Committed, encode_key, encode_value
from ottla.coordination.groups.shard import GroupShard
from ottla.coordination.groups.topics import Topics
from ottla.protocol.apis.heartbeat import HeartbeatRequest
from ottla.protocol.apis.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.protocol.apis.sync_group import SyncGroupRequest

SESSION_MS = 10_000
DAY_MS = 86_400_000
CALLER = Caller("client", "/host", 3, "1")


def nobody(value: Any) -> None:
    raise AssertionError("the machine answers nobody by itself")


def carried_out(shard: GroupShard, decision: Decision) -> Decision:
    for key, value in decision.records:
        shard.replay(key, value, None)
    return decision


def new_shard(**settings: Any) -> GroupShard:
    shard = GroupShard(GroupsConfig(group_initial_rebalance_delay_ms=0, **settings), Topics())
    shard.loaded(0)
    return shard


def fill(shard: GroupShard, groups: int) -> None:
    """Stable groups of one member each."""
    for number in range(groups):
        request = JoinGroupRequest(
            group_id=f"g{number}",
            session_timeout_ms=SESSION_MS,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
        )
        carried_out(shard, shard.join(request, CALLER, nobody, -SHORTEST_GATHERING_MS))
    while any(group.state_name == "PreparingRebalance" for group in shard.groups.values()):
        carried_out(shard, shard.tick(0))
    for group_id in shard.groups:
        sync = SyncGroupRequest(group_id=group_id, generation_id=1, member_id="client-1")
        carried_out(shard, shard.sync(sync, CALLER, nobody, 0))


def test_ten_thousand_groups_cost_a_heartbeat_no_more_than_ten() -> None:
    def seconds(groups: int) -> float:
        shard = new_shard()
        fill(shard, groups)
        beat = HeartbeatRequest(group_id="g5", generation_id=1, member_id="client-1")
        best = 1.0
        for _ in range(5):
            began = time.process_time()
            for now_ms in range(200):
                shard.heartbeat(beat, nobody, now_ms)
                shard.next_deadline_ms()
            best = min(best, time.process_time() - began)
        return best

    assert seconds(10_000) < 10 * seconds(10)


def test_every_silent_group_is_empty_after_its_session() -> None:
    shard = new_shard()
    fill(shard, 50)
    while (due_ms := shard.next_deadline_ms()) is not None and due_ms <= SESSION_MS:
        carried_out(shard, shard.tick(due_ms))
    assert {group.state_name for group in shard.groups.values()} == {"Empty"}


def test_offsets_alone_make_a_group_that_goes_with_them() -> None:
    shard = new_shard(offsets_retention_minutes=60)
    shard.replay(encode_key("simple", "t", 0), encode_value(Committed(5)), None)
    group = shard.groups["simple"]
    assert (group.state_name, group.protocol_type, group.type_name) == ("Empty", "", "classic")
    forgotten = carried_out(shard, shard.tick(DAY_MS))
    assert [value for _, value in forgotten.records] == [None]
    assert shard.next_deadline_ms() == DAY_MS
    carried_out(shard, shard.tick(DAY_MS))
    assert shard.groups == {}


def test_records_of_kinds_that_are_not_known_are_refused() -> None:
    shard = new_shard()
    with pytest.raises(UnknownRecord, match="kind 999"):
        shard.replay(b"\x03\xe7whatever", b"value", None)
    assert shard.groups == {}


def joins(shard: GroupShard, name: str, now_ms: int) -> None:
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=SESSION_MS,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    carried_out(shard, shard.join(request, Caller(name, "/host", 3, "1"), nobody, now_ms))


def test_a_classic_group_waits_for_one_that_has_asked_the_way() -> None:
    shard = new_shard()
    for connection in (1, 2):
        shard.arrivals.announced("g", connection, 0)
    joins(shard, "a", 1)
    assert not shard.waits_for_quiet()
    told = [reply for now_ms in range(2, 30) for reply in shard.tick(now_ms).replies]
    assert not told
    joins(shard, "b", 30)
    assert shard.waits_for_quiet()
    assert len(shard.quiet(30).replies) == 2


def test_but_not_for_long() -> None:
    shard = new_shard()
    for connection in (1, 2):
        shard.arrivals.announced("g", connection, 0)
    joins(shard, "a", 1)
    assert any(
        shard.tick(now_ms).replies for now_ms in range(2, LONGEST_MS + SHORTEST_GATHERING_MS + 2)
    )


HOUR_MS = 3_600_000


@pytest.mark.parametrize("by_ms", [HOUR_MS, -HOUR_MS])
def test_a_clock_that_is_set_ends_no_session_and_lengthens_none(by_ms: int) -> None:
    shard = new_shard()
    fill(shard, 2)
    shard.clock_was_set(by_ms, now_ms := by_ms + 1_000)
    beat = HeartbeatRequest(group_id="g1", generation_id=1, member_id="client-1")
    shard.heartbeat(beat, nobody, now_ms)
    for passed_ms, states in (
        (SESSION_MS - 1, ["Stable", "Stable"]),
        (SESSION_MS, ["Empty", "Stable"]),
        (SESSION_MS + 999, ["Empty", "Stable"]),
        (SESSION_MS + 1_000, ["Empty", "Empty"]),
    ):
        while (due_ms := shard.next_deadline_ms()) is not None and due_ms <= by_ms + passed_ms:
            carried_out(shard, shard.tick(by_ms + passed_ms))
        assert [group.state_name for group in shard.groups.values()] == states, passed_ms


@pytest.mark.parametrize("by_ms", [HOUR_MS, -HOUR_MS])
def test_nor_does_it_change_how_long_a_group_waits_for_others(by_ms: int) -> None:
    shard = new_shard()
    for connection in (1, 2):
        shard.arrivals.announced("g", connection, 0)
    joins(shard, "a", 1)
    shard.clock_was_set(by_ms, by_ms + 1)
    told = [reply for passed_ms in range(2, 30) for reply in shard.tick(by_ms + passed_ms).replies]
    assert not told
    longest_ms = LONGEST_MS + SHORTEST_GATHERING_MS
    assert any(shard.tick(by_ms + passed_ms).replies for passed_ms in range(30, longest_ms + 2))


def test_offsets_expire_by_the_time_of_day() -> None:
    shard = new_shard(offsets_retention_minutes=60)
    position = Committed(5, commit_timestamp_ms=1)
    shard.replay(encode_key("simple", "t", 0), encode_value(position), None)
    shard.clock_was_set(2 * HOUR_MS, 2 * HOUR_MS)
    due_ms = shard.next_deadline_ms()
    assert due_ms is not None
    interval_ms = shard.config.offsets_retention_check_interval_ms
    assert due_ms == 2 * HOUR_MS + interval_ms
    forgotten = shard.tick(due_ms)
    assert [value for _, value in forgotten.records] == [None]
