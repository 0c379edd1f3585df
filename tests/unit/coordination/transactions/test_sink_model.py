"""Jobs whose drivers, tasks and coordinator fail at any moment: of every batch just the winners count, and all of them.

After every step a machine that replays the log, or what compaction leaves of it, knows what the living one knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ottla.coordination.decision import KeyValue
from ottla.coordination.transactions import machine, sinks
from ottla.coordination.transactions.ends import EndMarkers
from ottla.coordination.transactions.shard import TransactionShard
from ottla.coordination.transactions.sink_shard import SinkShard
from ottla.coordination.transactions.sinks import Member
from ottla.protocol.errors import ErrorCode
from tests.unit.coordination.transactions.desk import A, B, C
from tests.unit.coordination.transactions.model import ModelPartition, Value
from tests.unit.coordination.transactions.sink_desk import SINK, SinkDesk

TPS = (A, B, C)


class SinkWorld(SinkDesk):
    """A coordinator whose markers go into model partitions."""

    def __init__(self) -> None:
        self.partitions = {tp: ModelPartition(tp) for tp in TPS}
        super().__init__()

    def _write_markers(self, markers: EndMarkers) -> None:
        if self.held is None:
            for tp in markers.partitions:
                self.partitions[tp].end(markers)
        super()._write_markers(markers)

    def clean(self, end: int, drop_tombstones: bool) -> None:
        """Compact the log up to a point, as the cleaner does."""
        head, tail = self.log[:end], self.log[end:]
        newest = {key: number for number, (key, _) in enumerate(head)}
        self.log = [
            (key, value)
            for number, (key, value) in enumerate(head)
            if newest[key] == number and not (drop_tombstones and value is None)
        ] + tail


class Task:
    """A task attempt: its slot, and what it has written."""

    def __init__(self, number: int, batch: int, partition: int, member: Member) -> None:
        self.number, self.batch, self.partition, self.member = number, batch, partition, member
        self.sequences: dict[Any, int] = {}
        self.written: list[Value] = []


def knows(shard: TransactionShard) -> tuple[Any, ...]:
    sinks = shard.sinks
    durable = shard.transactions, sinks.sinks, sinks.slots, sinks.free, sinks.topic_ids
    return (*durable, shard._ongoing, set(shard._completing))


class AnythingFails(RuleBasedStateMachine):
    """One sink, one driver at a time and those that do not know that they were replaced."""

    def __init__(self) -> None:
        super().__init__()
        self.world = SinkWorld()
        self.generation, self.batch, self.runs, self.number = 1, 0, 1, 0
        self.tasks: list[Task] = []
        self.late: list[tuple[int, int, list[Task]]] = []
        self.won: dict[str, int] = {}

    @rule(partition=st.integers(0, 2), attempt=st.integers(0, 1))
    def a_task_starts(self, partition: int, attempt: int) -> None:
        answer = self.world.slot(self.batch, partition, attempt, self.generation)
        assert isinstance(answer, Member), answer
        if all(task.member != answer for task in self.tasks):
            self.number += 1
            self.tasks.append(Task(self.number, self.batch, partition, answer))

    @precondition(lambda self: self.tasks)
    @rule(data=st.data(), tp=st.sampled_from(TPS))
    def a_task_writes(self, data: st.DataObject, tp: Any) -> None:
        """Perhaps long after it has lost."""
        task = data.draw(st.sampled_from(self.tasks[-8:]))
        sequence = task.sequences.get(tp, 0)
        name, producer = task.member
        value = Value(task.number, len(task.written))
        if not self.world.partitions[tp].produce(self.world, producer, sequence, value, name):
            task.sequences[tp] = sequence + 1
            task.written.append(value)

    @rule(data=st.data(), repeat=st.booleans())
    def the_driver_commits(self, data: st.DataObject, repeat: bool) -> None:
        mine = [task for task in self.tasks if task.batch == self.batch]
        choice = [
            data.draw(st.sampled_from(attempts))
            for number in range(3)
            if (attempts := [task for task in mine if task.partition == number])
        ]
        if repeat:
            self.late.append((self.generation, self.batch, choice))
        self.send_commit(self.generation, self.batch, choice)

    def send_commit(self, generation: int, batch: int, choice: Sequence[Task]) -> None:
        members = [task.member for task in choice]
        before = self.world.committed_batch()
        answer = self.world.commit_group(batch, members, str(batch), generation)
        if answer is not None:
            assert self.world.committed_batch() == before
            assert answer in (
                ErrorCode.SINK_SLOT_LOST,
                ErrorCode.SINK_FENCED,
                ErrorCode.SINK_ALREADY_COMMITTED,
                ErrorCode.CHECKPOINT_BEHIND_SINK,
            ), answer
        elif batch > before:
            self.won |= {member.transactional_id: batch for member in members}
            self.batch = batch + 1
        else:
            assert all(self.won[member.transactional_id] == batch for member in members)

    @precondition(lambda self: self.late)
    @rule(data=st.data())
    def a_commit_comes_late(self, data: st.DataObject) -> None:
        self.send_commit(*data.draw(st.sampled_from(self.late)))

    @rule()
    def the_driver_gives_up(self) -> None:
        assert self.world.abort_group(self.generation) is None

    @rule()
    def another_driver_takes_over(self) -> None:
        self.runs += 1
        answer = self.world.open(f"run {self.runs}")
        assert answer.committed_batch == self.batch - 1
        self.generation = answer.generation

    @precondition(lambda self: self.runs > 1)
    @rule(run=st.integers(1, 1_000))
    def a_driver_of_old_comes_back(self, run: int) -> None:
        name = "one" if (old := run % (self.runs - 1) + 1) == 1 else f"run {old}"
        if self.runs - old <= 32:
            assert self.world.open(name) == ErrorCode.SINK_FENCED

    @rule(ms=st.sampled_from([500, 2_000, 70_000]))
    def time_passes(self, ms: int) -> None:
        self.world.pass_time(ms)

    @rule()
    def the_coordinator_crashes(self) -> None:
        self.world.restart()

    @rule(share=st.floats(0, 1), drop_tombstones=st.booleans())
    def the_log_is_compacted(self, share: float, drop_tombstones: bool) -> None:
        self.world.clean(round(share * len(self.world.log)), drop_tombstones)

    @precondition(lambda self: self.world.held is None)
    @rule()
    def markers_are_slow(self) -> None:
        self.world.hold_markers()

    @rule()
    def markers_arrive(self) -> None:
        self.world.release_markers()

    @invariant()
    def no_loser_counts_and_no_winner_is_lost(self) -> None:
        for task in self.tasks:
            won = task.member.transactional_id in self.won
            assert self.outcomes(task) <= {won}, (task.member, won)

    @invariant()
    def the_log_tells_everything(self) -> None:
        live = knows(self.world.shard)
        assert knows(self.replayed(self.world.log)) == live
        assert knows(self.replayed(self.world.compacted())) == live

    def replayed(self, log: Sequence[KeyValue]) -> TransactionShard:
        fresh = self.world.fresh()
        for key, value in log:
            fresh.replay(key, value, None)
        return fresh

    def outcomes(self, task: Task) -> set[bool]:
        return {
            partition.outcome[value]
            for partition in self.world.partitions.values()
            for value in task.written
            if value in partition.outcome
        }

    def teardown(self) -> None:
        """When all is calm nothing is left open, and the winners have all that they wrote."""
        world = self.world
        world.release_markers()
        world.abort_group(self.generation)
        world.pass_time(2_000)
        assert not world.shard.transactions
        assert not world.sinks.slots
        ended = [value for each in world.partitions.values() for value in each.outcome]
        assert len(ended) == sum(len(task.written) for task in self.tasks)
        assert len(world.sinks.free.get(SINK, {})) <= max(1, len(self.tasks))
        self.no_loser_counts_and_no_winner_is_lost()


def everybody_wins(patch: pytest.MonkeyPatch) -> None:
    """Each task is committed by itself, the losers with the winners."""
    settle = machine.settle
    patch.setattr(machine, "settle", lambda found, committed, now_ms: settle(found, True, now_ms))


def no_ledger(patch: pytest.MonkeyPatch) -> None:
    """What was committed is not remembered."""
    patch.setattr(sinks, "commit", lambda found, group, now_ms: found)


def no_generations(patch: pytest.MonkeyPatch) -> None:
    """A driver that was replaced may commit."""
    patch.setattr(sinks, "current", lambda found, generation: found)
    patch.setattr(SinkShard, "_check_members", lambda self, group: None)


@pytest.mark.interpreted
@pytest.mark.parametrize("mutate", [everybody_wins, no_ledger, no_generations])
def test_a_coordinator_that_breaks_a_rule_is_caught(
    mutate: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)
    quick = settings(
        max_examples=500,
        stateful_step_count=40,
        deadline=None,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        report_multiple_bugs=False,
    )
    with pytest.raises((AssertionError, KeyError)):
        run_state_machine_as_test(AnythingFails, settings=quick)


AnythingFails.TestCase.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)
TestAnythingFails = AnythingFails.TestCase
