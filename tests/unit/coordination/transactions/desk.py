"""A coordinator without a broker: it decides, appends, replays and replies, and everything lies open."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any
from uuid import UUID

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.config.transactions import TransactionsConfig
from ottla.coordination.decision import Decision, KeyValue
from ottla.coordination.transactions.ends import EndMarkers
from ottla.coordination.transactions.shard import TransactionShard
from ottla.coordination.transactions.state import Producer, State, Transaction
from ottla.protocol.errors import ErrorCode

ID = "payments"
A, B, C = (TopicPartition("accounts", number) for number in range(3))
TV1, TV2 = 0, 2


class Desk:
    """One machine, its log, and the markers it has had written, at once unless they are held back."""

    def __init__(self, **settings: Any) -> None:
        self.config = TransactionsConfig(**settings)
        self.now_ms = 1_000
        self.log: list[KeyValue] = []
        self.markers: list[EndMarkers] = []
        self.held: list[EndMarkers] | None = None
        self._ids = count(7)
        self.topic_ids = {A.topic: UUID(int=1)}
        self.out_of_ids = False
        self.shard = self.fresh()
        self.shard.loaded(self.now_ms)

    def fresh(self) -> TransactionShard:
        """A machine that knows nothing."""
        return TransactionShard(
            self.config,
            self._new_producer_id,
            self._write_markers,
            lambda: 50,
            self.topic_ids.get,
        )

    def _new_producer_id(self) -> int:
        if self.out_of_ids:
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return next(self._ids)

    def carry_out(self, decision: Decision) -> None:
        """What the runtime does with a decision."""
        self.log += decision.records
        if decision.replay is not None:
            decision.replay()
        else:
            for key, value in decision.records:
                self.shard.replay(key, value, None)
        for token, value in decision.replies:
            token(value)

    def ask(self, decide: Callable[..., Decision], *args: Any) -> Any:
        """The answer: a value, or an error code."""
        answers: list[Any] = []
        self.carry_out(decide(*args, answers.append, self.now_ms))
        [answer] = answers
        return ErrorCode(answer.code) if isinstance(answer, ApiError) else answer

    def init(self, claimed: Producer | None = None, timeout_ms: int = 60_000, id: str = ID) -> Any:
        return self.ask(self.shard.initialize, id, timeout_ms, claimed)

    def add(
        self, producer: Producer, *partitions: TopicPartition, version: int = TV2, id: str = ID
    ) -> Any:
        return self.ask(self.shard.add, id, producer, partitions, version)

    def commit(self, producer: Producer, version: int = TV2, id: str = ID) -> Any:
        return self.ask(self.shard.end, id, producer, True, version)

    def abort(self, producer: Producer, version: int = TV2, id: str = ID) -> Any:
        return self.ask(self.shard.end, id, producer, False, version)

    def pass_time(self, ms: int) -> None:
        """Let time pass, and do what falls due at its end."""
        self.now_ms += ms
        due = self.shard.next_deadline_ms()
        if due is not None and due <= self.now_ms:
            self.carry_out(self.shard.tick(self.now_ms))

    def set_clock(self, by_ms: int) -> None:
        """Somebody puts the clock forward or back; nothing is due at once for that."""
        self.now_ms += by_ms
        self.shard.clock_was_set(by_ms, self.now_ms)
        self.pass_time(0)

    def hold_markers(self) -> None:
        self.held = []

    def release_markers(self) -> None:
        held, self.held = self.held or [], None
        for markers in held:
            self._write_markers(markers)

    def _write_markers(self, markers: EndMarkers) -> None:
        if self.held is not None:
            self.held.append(markers)
            return
        self.markers.append(markers)
        self.carry_out(self.shard.markers_written(markers, markers.partitions, self.now_ms))

    def restart(self) -> None:
        """Load a fresh machine from the log, as after a crash."""
        self.shard = self.fresh()
        for key, value in self.log:
            self.shard.replay(key, value, None)
        self.shard.loaded(self.now_ms)
        self.pass_time(0)

    def found(self, id: str = ID) -> Transaction:
        return self.shard.transactions[id]

    @property
    def state(self) -> State:
        return self.found().state
