"""A producer, a network that loses, repeats and delays, and a coordinator that crashes: no transaction has two ends.

This is where KAFKA-17754 would show: a commit that is delayed past the next transaction must not decide it.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ottla.coordination.transactions.state import Producer
from ottla.protocol.errors import ErrorCode
from tests.unit.coordination.transactions.desk import A, B, C
from tests.unit.coordination.transactions.model import Value, World

_AGAIN = (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


class LostRepeatedDelayed(RuleBasedStateMachine):
    """One client of transaction version 2, as the Java producer behaves."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(A, B, C)
        self.late_ends: list[tuple[Producer, bool]] = []
        self.late_writes: list[tuple[Any, Producer, int, Value]] = []
        self.told: dict[int, bool] = {}
        self.written: dict[int, list[Value]] = {}
        self.transaction = 0
        self.start_producer()

    def start_producer(self) -> None:
        self.world.release_markers()
        answer = self.world.init()
        while not isinstance(answer, Producer):
            assert answer in _AGAIN
            answer = self.world.init()
        self.begin(answer)

    def begin(self, producer: Producer) -> None:
        self.producer = producer
        self.transaction += 1
        self.number = 0
        self.sequences: dict[Any, int] = {}
        self.ending: bool | None = None

    @precondition(lambda self: self.ending is None)
    @rule(tp=st.sampled_from([A, B, C]), repeat=st.booleans())
    def write(self, tp: Any, repeat: bool) -> None:
        self.number += 1
        value = Value(self.transaction, self.number)
        sequence = self.sequences.get(tp, 0)
        attempt = tp, self.producer, sequence, value
        error = self.deliver_write(*attempt)
        if error == ErrorCode.NONE:
            self.sequences[tp] = sequence + 1
            self.written.setdefault(self.transaction, []).append(value)
        elif error != ErrorCode.CONCURRENT_TRANSACTIONS:
            self.start_producer()
        if repeat:
            self.late_writes.append(attempt)

    def deliver_write(self, tp: Any, producer: Producer, sequence: int, value: Value) -> int:
        return self.world.partitions[tp].produce(self.world, producer, sequence, value)

    @precondition(lambda self: self.ending is None and self.number)
    @rule(committed=st.booleans(), lost=st.booleans(), repeat=st.booleans())
    def end(self, committed: bool, lost: bool, repeat: bool) -> None:
        self.ending = committed
        if repeat:
            self.late_ends.append((self.producer, committed))
        if not lost:
            self.send_end(answered=True)

    @precondition(lambda self: self.ending is not None)
    @rule(answered=st.booleans())
    def send_end(self, answered: bool) -> None:
        """The client retries until it is answered."""
        assert self.ending is not None
        end = self.world.commit if self.ending else self.world.abort
        answer = end(self.producer)
        if not answered or answer in _AGAIN:
            return
        if isinstance(answer, Producer):
            self.told[self.transaction] = self.ending
            self.begin(answer)
        else:
            assert answer in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_TXN_STATE), answer
            self.start_producer()

    @precondition(lambda self: self.late_ends)
    @rule(data=st.data())
    def an_end_comes_late(self, data: st.DataObject) -> None:
        producer, committed = data.draw(st.sampled_from(self.late_ends))
        (self.world.commit if committed else self.world.abort)(producer)

    @precondition(lambda self: self.late_writes)
    @rule(data=st.data())
    def a_write_comes_late(self, data: st.DataObject) -> None:
        self.deliver_write(*data.draw(st.sampled_from(self.late_writes)))

    @rule()
    def another_process_takes_over(self) -> None:
        self.start_producer()

    @rule(ms=st.sampled_from([500, 2_000, 70_000]))
    def time_passes(self, ms: int) -> None:
        self.world.pass_time(ms)

    @rule()
    def the_coordinator_crashes(self) -> None:
        self.world.restart()

    @precondition(lambda self: self.world.held is None)
    @rule()
    def markers_are_slow(self) -> None:
        self.world.hold_markers()

    @rule()
    def markers_arrive(self) -> None:
        self.world.release_markers()

    @invariant()
    def no_transaction_has_two_ends(self) -> None:
        for transaction in range(1, self.transaction + 1):
            outcomes = self.world.outcomes(transaction)
            assert len(outcomes) <= 1
            if transaction in self.told:
                assert outcomes <= {self.told[transaction]}

    @invariant()
    def the_log_tells_everything(self) -> None:
        fresh = self.world.fresh()
        for key, value in self.world.log:
            fresh.replay(key, value, None)
        live = self.world.shard
        assert fresh.transactions == live.transactions
        assert fresh._ongoing == live._ongoing
        assert set(fresh._completing) == set(live._completing)

    def teardown(self) -> None:
        self.world.release_markers()
        self.world.pass_time(2_000)
        outcome: dict[Value, bool] = {}
        for partition in self.world.partitions.values():
            outcome |= partition.outcome
        for transaction, committed in self.told.items():
            for value in self.written.get(transaction, []):
                assert outcome[value] is committed, value


LostRepeatedDelayed.TestCase.settings = settings(
    max_examples=150, stateful_step_count=40, deadline=None
)
TestLostRepeatedDelayed = LostRepeatedDelayed.TestCase
