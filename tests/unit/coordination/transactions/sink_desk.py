"""A coordinator without a broker, for jobs that write batches to a sink by transaction groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ottla.base.ids import TopicPartition
from ottla.coordination.transactions.sink_shard import SinkShard
from ottla.coordination.transactions.sinks import Group, Member, Slot
from ottla.coordination.transactions.state import State
from tests.unit.coordination.transactions.desk import A, Desk

SINK = "clicks"


class SinkDesk(Desk):
    """One machine, one sink, and a run `one` that has opened it."""

    def __init__(self, *, ephemeral: bool = False, **settings: Any) -> None:
        super().__init__(transaction_abort_interval_ms=1_000, **settings)
        self.opened = self.open("one", ephemeral=ephemeral)

    @property
    def sinks(self) -> SinkShard:
        return self.shard.sinks

    def open(
        self,
        run: str,
        timeout_ms: int = 60_000,
        ephemeral: bool = False,
        sink: str = SINK,
    ) -> Any:
        return self.ask(self.sinks.open, sink, run, timeout_ms, ephemeral)

    def slot(
        self,
        batch: int,
        partition: int = 0,
        attempt: int = 0,
        generation: int = 1,
        sink: str = SINK,
    ) -> Any:
        return self.ask(self.sinks.open_slot, Slot(sink, generation, batch, partition, attempt))

    def written(self, batch: int, partition: int = 0, *tps: TopicPartition, **who: int) -> Member:
        """A slot that has written to partitions, A unless others are named."""
        member: Member = self.slot(batch, partition, **who)
        assert self.add(member.producer, *tps or (A,), id=member.transactional_id) is None
        return member

    def commit_group(
        self,
        batch: int,
        members: Iterable[Member] = (),
        digest: str = "d",
        generation: int = 1,
        sink: str = SINK,
    ) -> Any:
        group = Group(sink, generation, batch, digest, tuple(members))
        return self.ask(self.sinks.commit, group)

    def abort_group(self, generation: int = 1, sink: str = SINK) -> Any:
        return self.ask(self.sinks.abort, sink, generation)

    def reset(self, sink: str = SINK) -> Any:
        return self.ask(self.sinks.reset, sink)

    def states(self) -> dict[str, State]:
        """Of every slot that has not ended."""
        return {name: self.shard.transactions[name].state for name in self.sinks.slots}

    def outcomes(self) -> dict[str, bool]:
        """How slots have ended, by their markers."""
        return {each.transactional_id: each.committed for each in self.markers}

    def committed_batch(self, sink: str = SINK) -> int:
        return self.sinks.sinks[sink].committed_batch

    def compacted(self) -> list[tuple[bytes, bytes | None]]:
        """The newest record of every key, in their order, without tombstones."""
        newest = {key: number for number, (key, _) in enumerate(self.log)}
        kept = (pair for number, pair in enumerate(self.log) if newest[pair[0]] == number)
        return [(key, value) for key, value in kept if value is not None]
