"""Stories of sinks: runs that take over, tasks that are tried twice, drivers that ask again, and what time does."""

import os
from uuid import UUID

import pytest

from ottla.coordination.routing import partition_for
from ottla.coordination.transactions.sink_records import Kind, free_producer_record
from ottla.coordination.transactions.sinks import MAX_TIMEOUT_MS, NOBODY, Member
from ottla.coordination.transactions.state import MAX_EPOCH, Producer, State
from ottla.protocol.errors import ErrorCode
from tests.unit.coordination.transactions.desk import ID, A, B, C
from tests.unit.coordination.transactions.sink_desk import SINK, SinkDesk

LONG = os.environ.get("OTTLA_FAULTS") == "1"
FENCED = ErrorCode.SINK_FENCED
LOST = ErrorCode.SINK_SLOT_LOST
COMMITTED = ErrorCode.SINK_ALREADY_COMMITTED
BEHIND = ErrorCode.CHECKPOINT_BEHIND_SINK
DIFFERS = ErrorCode.SINK_BATCH_DIFFERS


def test_a_batch_from_its_slots_to_its_markers() -> None:
    desk = SinkDesk()
    assert desk.opened == (1, -1, "")
    first, second = desk.written(0, 0, A, B), desk.written(0, 1, B)
    assert desk.commit_group(0, [first, second]) is None
    assert desk.outcomes() == {first.transactional_id: True, second.transactional_id: True}
    assert [each.partitions for each in desk.markers] == [[A, B], [B]]
    assert desk.open("one") == (1, 0, "d")
    assert not desk.shard.transactions, "slots vanish with their group"


def test_a_slot_belongs_to_the_partition_of_its_sink() -> None:
    desk = SinkDesk()
    names = [desk.slot(0, number).transactional_id for number in range(20)]
    assert len(set(names)) == 20
    assert {partition_for(name, 50) for name in names} == {partition_for(SINK, 50)}


def test_who_asks_again_is_given_the_same_producer() -> None:
    desk = SinkDesk()
    first = desk.slot(0)
    assert desk.slot(0) == first
    desk.add(first.producer, A, id=first.transactional_id)
    assert desk.slot(0) == first
    written = len(desk.log)
    assert desk.slot(0) == first
    assert len(desk.log) == written


def test_the_loser_of_two_attempts_is_aborted_with_the_commit() -> None:
    desk = SinkDesk()
    winner, loser = desk.written(0, 0, attempt=1), desk.written(0, 0, attempt=2)
    assert winner.producer != loser.producer
    assert desk.commit_group(0, [winner]) is None
    assert desk.outcomes() == {winner.transactional_id: True, loser.transactional_id: False}


def test_a_slot_that_wrote_nothing_needs_no_marker() -> None:
    desk = SinkDesk()
    writer, idle = desk.written(0, 0), desk.slot(0, 1)
    assert desk.commit_group(0, [writer, idle]) is None
    assert desk.outcomes() == {writer.transactional_id: True}
    assert not desk.sinks.slots


def test_an_empty_batch_advances_the_ledger() -> None:
    desk = SinkDesk()
    assert desk.commit_group(0) is None
    assert desk.commit_group(0) is None
    assert desk.commit_group(0, digest="other") == DIFFERS
    assert desk.committed_batch() == 0
    assert desk.slot(0) == COMMITTED


def test_a_new_run_fences_the_old_one_and_aborts_what_it_left() -> None:
    desk = SinkDesk()
    left = desk.written(0)
    assert desk.open("two") == (2, -1, "")
    assert desk.outcomes() == {left.transactional_id: False}
    assert desk.open("one") == FENCED
    assert desk.slot(0) == desk.commit_group(0, [left]) == desk.abort_group() == FENCED
    assert desk.open("two") == (2, -1, ""), "whoever lost the answer asks again"
    assert desk.slot(0, generation=2).producer.producer_id == left.producer.producer_id


def test_the_commit_of_a_fenced_run_that_was_certain_stays_so() -> None:
    desk = SinkDesk()
    group = [desk.written(0)]
    desk.commit_group(0, group)
    desk.open("two")
    assert desk.commit_group(0, group) is None
    assert desk.commit_group(0) == FENCED


def test_only_the_newest_runs_are_remembered() -> None:
    desk = SinkDesk()
    for number in range(150):
        desk.open(f"run-{number}")
    assert len(desk.sinks.sinks[SINK].retired_runs) == 128
    assert sum(len(key) + len(value or b"") for key, value in desk.compacted()) < 2_000
    assert desk.open("run-148") == desk.open("run-21") == FENCED
    desk.restart()
    assert desk.open("run-21") == FENCED
    assert desk.open("run-20") == (152, -1, ""), "forgotten, and taken for a new one"


def test_the_same_group_gets_the_same_answer() -> None:
    desk = SinkDesk()
    desk.hold_markers()
    group = [desk.written(0, 0), desk.written(0, 1)]
    assert desk.commit_group(0, group) is None
    written = len(desk.log)
    assert desk.commit_group(0, reversed(group)) is None
    desk.release_markers()
    desk.restart()
    assert desk.commit_group(0, group) is None
    assert [each.committed for each in desk.markers] == [True, True]
    assert len(desk.log) == written + 6, "what the end of two slots leaves"


def test_markers_name_the_topics_by_the_ids_they_had_when_it_was_decided() -> None:
    desk = SinkDesk()
    desk.hold_markers()
    desk.commit_group(0, [desk.written(0)])
    [first] = desk.held or []
    desk.topic_ids = {A.topic: UUID(int=2)}
    desk.held = None
    desk.restart()
    assert first.topic_ids == desk.markers[-1].topic_ids == {A.topic: UUID(int=1)}
    assert not desk.sinks.topic_ids


def test_another_group_for_a_committed_batch_is_told_so() -> None:
    desk = SinkDesk()
    desk.commit_group(0, [desk.written(0, 0)])
    stranger = Member("clicks/99-0-0", Producer(99, 0))
    assert desk.commit_group(0, [stranger]) == COMMITTED
    assert desk.commit_group(0, [stranger], digest="other") == DIFFERS
    late = desk.written(1, 0)
    assert desk.commit_group(0, [late]) == COMMITTED
    assert desk.outcomes()[late.transactional_id] is False
    assert desk.committed_batch() == 0


def test_a_batch_that_is_replayed_and_skipped_is_no_error() -> None:
    desk = SinkDesk()
    desk.commit_group(7, [desk.written(7)])
    assert desk.slot(7) == COMMITTED
    assert desk.commit_group(7) is None
    assert desk.commit_group(7, digest="other") == DIFFERS


def test_a_checkpoint_that_is_behind_is_refused() -> None:
    desk = SinkDesk()
    desk.commit_group(7, [desk.written(7)])
    assert desk.slot(6) == desk.commit_group(6) == BEHIND
    assert desk.commit_group(6, [Member("x", Producer(1, 1))]) == BEHIND
    assert desk.slot(-1) == ErrorCode.INVALID_REQUEST


def test_nothing_commits_if_one_slot_is_lost() -> None:
    desk = SinkDesk()
    kept = desk.written(3, 0)
    for bad in (
        Member("nobody", Producer(1, 0)),
        Member(kept.transactional_id, Producer(kept.producer.producer_id, 9)),
        desk.written(4, 1),
    ):
        assert desk.commit_group(3, [kept, bad]) == LOST
    assert desk.init() == Producer(9, 0)
    assert desk.commit_group(3, [kept, Member(ID, Producer(9, 0))]) == LOST
    assert desk.committed_batch() == -1
    assert desk.states()[kept.transactional_id] is State.ONGOING
    assert desk.commit_group(3, [kept]) is None


def test_an_abort_leaves_nothing_open_and_can_be_asked_for_again() -> None:
    desk = SinkDesk()
    group = [desk.written(0, 0), desk.slot(0, 1)]
    assert desk.abort_group() is None
    assert desk.abort_group() is None
    assert not desk.sinks.slots
    assert desk.commit_group(0, group) == LOST
    assert desk.written(0, 0) not in group, "whoever tries again gets another slot"
    assert desk.abort_group(sink="never-opened") is None


def test_a_slot_that_is_asked_for_again_while_it_is_aborted_is_another() -> None:
    desk = SinkDesk()
    desk.hold_markers()
    first = desk.written(0)
    desk.abort_group()
    second = desk.slot(0)
    assert second.transactional_id != first.transactional_id
    desk.release_markers()
    assert desk.slot(0) == second


def test_producers_are_used_again_with_an_epoch_that_no_marker_had() -> None:
    desk = SinkDesk()
    first = desk.written(0)
    desk.commit_group(0, [first])
    assert desk.markers[-1].producer == Producer(7, 1)
    second = desk.written(1)
    assert second.producer == Producer(7, 2)
    assert second.transactional_id != first.transactional_id
    mapping = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert desk.add(first.producer, A, id=first.transactional_id) == mapping
    desk.hold_markers()
    desk.commit_group(1, [second])
    assert desk.slot(2).producer == Producer(8, 0), "not while its markers are under way"


def test_a_producer_whose_epochs_are_used_up_is_not_used_again() -> None:
    desk = SinkDesk()
    last = MAX_EPOCH - 5
    desk.sinks.replay(
        Kind.FREE_PRODUCER, *free_producer_record(SINK, Producer(5, last), is_free=True)
    )
    used = []
    for batch in range(3):
        member = desk.written(batch)
        assert desk.commit_group(batch, [member]) is None
        used.append(member.producer)
    assert used == [Producer(5, last), Producer(5, last + 2), Producer(7, 0)]
    assert max(each.producer.epoch for each in desk.markers) < MAX_EPOCH


def test_clients_cannot_end_or_take_over_a_slot() -> None:
    desk = SinkDesk()
    member = desk.written(0)
    wrong = ErrorCode.INVALID_TXN_STATE
    assert desk.init(id=member.transactional_id) == wrong
    assert desk.init(member.producer, id=member.transactional_id) == wrong
    assert desk.commit(member.producer, id=member.transactional_id) == wrong
    assert desk.abort(member.producer, id=member.transactional_id) == wrong
    assert desk.commit_group(0, [member]) is None


def test_after_a_crash_the_markers_of_a_committed_group_are_written() -> None:
    desk = SinkDesk()
    desk.hold_markers()
    winner, loser = desk.written(0, 0, A, C), desk.written(0, 0, B, attempt=1)
    desk.commit_group(0, [winner])
    desk.held = None
    desk.restart()
    assert desk.outcomes() == {winner.transactional_id: True, loser.transactional_id: False}
    assert not desk.sinks.slots
    assert desk.open("one") == (1, 0, "d")


def test_a_crash_before_the_commit_loses_nothing() -> None:
    desk = SinkDesk()
    member = desk.written(0)
    desk.restart()
    assert desk.slot(0) == member
    assert desk.commit_group(0, [member]) is None


def test_the_time_out_is_that_of_the_group() -> None:
    desk = SinkDesk()
    slow, busy = desk.written(0, 0), desk.slot(0, 1)
    for tp in (A, B, C):
        desk.pass_time(40_000)
        desk.add(busy.producer, tp, id=busy.transactional_id)
    assert set(desk.states().values()) == {State.ONGOING}
    desk.pass_time(40_000)
    desk.slot(0, 0)
    desk.pass_time(40_000)
    assert len(desk.states()) == 2, "to ask for the slot again was a sign of life"
    desk.pass_time(60_000)
    assert desk.outcomes() == {slow.transactional_id: False, busy.transactional_id: False}
    assert desk.commit_group(0, [slow, busy]) == LOST


def test_time_outs_start_anew_with_the_coordinator() -> None:
    desk = SinkDesk()
    member = desk.written(0)
    desk.now_ms += 59_000
    desk.restart()
    desk.pass_time(59_000)
    assert desk.states() == {member.transactional_id: State.ONGOING}
    desk.pass_time(2_000)
    assert not desk.states()


@pytest.mark.parametrize("by_ms", [3_600_000, -3_600_000])
def test_a_clock_that_is_set_makes_nobody_silent(by_ms: int) -> None:
    desk = SinkDesk()
    member = desk.written(0)
    desk.pass_time(30_000)
    desk.set_clock(by_ms)
    desk.pass_time(30_000)
    assert desk.states() == {member.transactional_id: State.ONGOING}
    desk.pass_time(2_000)
    assert not desk.states()


def test_nor_does_it_cost_a_driver_its_answer() -> None:
    desk = SinkDesk(ephemeral=True)
    group = [desk.written(0)]
    desk.pass_time(50_000)
    desk.commit_group(0, group)
    desk.set_clock(3_600_000)
    desk.pass_time(119_000)
    assert desk.commit_group(0, group) is None
    desk.pass_time(2_000)
    assert not desk.sinks.sinks


def test_the_ledger_of_a_stream_never_expires() -> None:
    desk = SinkDesk()
    desk.commit_group(0, [desk.written(0)])
    desk.pass_time(365 * 24 * 3_600_000)
    assert desk.open("two") == (2, 0, "d")


def test_an_ephemeral_sink_is_forgotten_when_its_answer_was_told() -> None:
    desk = SinkDesk(ephemeral=True)
    group = [desk.written(0)]
    desk.commit_group(0, group)
    desk.pass_time(60_000)
    assert desk.commit_group(0, group) is None, "the answer was lost"
    desk.pass_time(61_000)
    assert not desk.sinks.sinks
    assert desk.compacted() == [free_producer_record(NOBODY, Producer(7, 2), is_free=True)]


def test_writes_that_follow_each_other_use_the_same_producers() -> None:
    desk = SinkDesk()
    for number in range(100):
        name = f"write-{number}"
        desk.open(name, ephemeral=True, sink=name)
        group = [desk.slot(0, task, sink=name) for task in range(8)]
        for member in group:
            desk.add(member.producer, A, id=member.transactional_id)
        assert desk.commit_group(0, group, sink=name) is None
    assert {each.producer.producer_id for each in desk.markers} == set(range(7, 15))
    assert desk.slot(0).producer == Producer(15, 0), "a stream has its own"
    desk.restart()
    assert len(desk.sinks.free[NOBODY]) == 8


@pytest.mark.interpreted
def test_only_so_many_producers_wait_for_the_next_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ottla.coordination.transactions.sinks.MAX_SHARED_PRODUCERS", 3)
    desk = SinkDesk(ephemeral=True)
    desk.commit_group(0, [desk.written(0, number) for number in range(8)])
    assert len(desk.sinks.free[NOBODY]) == 3


def test_the_answer_is_kept_for_as_long_as_a_driver_may_ask_for_it() -> None:
    desk = SinkDesk()
    desk.open("write", 900_000, ephemeral=True, sink="write")
    group = [desk.slot(0, sink="write")]
    assert desk.commit_group(0, group, sink="write") is None
    desk.pass_time(890_000)
    assert desk.commit_group(0, group, sink="write") is None
    desk.now_ms += 3_600_000
    desk.restart()
    desk.pass_time(890_000)
    assert desk.commit_group(0, group, sink="write") is None, "no coordinator was there to ask"
    desk.pass_time(20_000)
    assert "write" not in desk.sinks.sinks


def test_an_ephemeral_sink_is_over_with_its_abort_or_its_time_out() -> None:
    for give_up in (SinkDesk.abort_group, lambda desk: desk.pass_time(61_000)):
        desk = SinkDesk(ephemeral=True)
        desk.written(0)
        give_up(desk)
        assert desk.slot(0) == FENCED
        desk.pass_time(1_000)
        assert not desk.sinks.sinks
        assert not desk.sinks.slots


def test_an_ephemeral_sink_waits_for_its_first_slot() -> None:
    desk = SinkDesk(ephemeral=True)
    desk.pass_time(23 * 3_600_000)
    assert desk.commit_group(0, [desk.written(0)]) is None


def test_a_sink_that_is_reset_begins_anew() -> None:
    desk = SinkDesk(transactional_id_expiration_ms=100_000)
    desk.commit_group(5, [desk.written(5)])
    left = desk.written(6)
    assert desk.reset() is None
    assert desk.outcomes()[left.transactional_id] is False
    assert desk.reset() == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert desk.slot(6) == desk.open("one") == FENCED, "whoever still runs is kept out"
    assert desk.open("two") == (3, -1, "")
    assert desk.commit_group(0, [desk.written(0, generation=3)], generation=3) is None
    desk.reset()
    desk.pass_time(200_000)
    assert not desk.compacted()
    assert not desk.sinks.free


def test_what_cannot_be_a_sink_is_refused() -> None:
    desk = SinkDesk()
    for sink, run in (("", "r"), ("s" * 250, "r"), ("s", ""), ("s", "r" * 250)):
        assert desk.open(run, sink=sink) == ErrorCode.INVALID_REQUEST
    for timeout_ms in (0, -1, MAX_TIMEOUT_MS + 1):
        assert desk.open("r", timeout_ms) == ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert desk.commit_group(0, digest="d" * 1_001) == ErrorCode.INVALID_REQUEST
    assert desk.slot(0, sink="never-opened") == FENCED
    assert desk.commit_group(0, sink="never-opened") == FENCED


@pytest.mark.interpreted
def test_a_sink_has_so_many_slots_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ottla.coordination.transactions.sinks.MAX_SLOTS", 3)
    desk = SinkDesk()
    group = [desk.written(0, number) for number in range(3)]
    assert desk.slot(0, 3) == ErrorCode.POLICY_VIOLATION
    assert desk.slot(0, 2) == group[2]
    desk.commit_group(0, group)
    assert isinstance(desk.slot(1, 0), Member)


@pytest.mark.faults
def test_after_many_batches_nothing_has_grown() -> None:
    batches, sizes = 10_000 if LONG else 1_000, []
    desk = SinkDesk()
    for batch in range(batches):
        desk.commit_group(batch, [desk.written(batch, number) for number in range(8)])
        if batch in (100, batches - 1):
            desk.log = desk.compacted()
            sizes.append((len(desk.log), sum(len(k) + len(v or b"") for k, v in desk.log)))
            assert len(desk.shard.transactions) == len(desk.sinks.slots) == 0
            assert len(desk.sinks.free[SINK]) == 8
        elif batch % 500 == 0:
            desk.log = desk.compacted()
    assert sizes[0][0] == sizes[1][0] == 9
    assert sizes[1][1] - sizes[0][1] < 10
    assert {each.producer.producer_id for each in desk.markers} == set(range(7, 15))


def test_sinks_do_not_disturb_each_other() -> None:
    desk = SinkDesk()
    desk.open("one", sink="other")
    mine, other = desk.written(0), desk.slot(0, sink="other")
    assert desk.commit_group(0, [mine, other]) == LOST
    assert desk.commit_group(0, [mine]) is None
    assert list(desk.states()) == [other.transactional_id]
    assert desk.committed_batch("other") == -1
