"""Pure: the sinks of one partition of `__transaction_state`, and the transaction groups that are written to them.

A slot is a transactional id like any other, which the coordinator has invented so that it belongs to the partition of
its sink: whatever it decides about a sink and all its slots is one batch in one log, there as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from ottla.base.errors import ApiError
from ottla.config.transactions import TransactionsConfig
from ottla.coordination import metrics
from ottla.coordination.decision import Decision, KeyValue, Token
from ottla.coordination.routing import names_beside
from ottla.coordination.transactions import ends, machine, records, sinks
from ottla.coordination.transactions.machine import NewProducerId
from ottla.coordination.transactions.sink_records import (
    FreeProducerRecord,
    Kind,
    SinkRecord,
    SlotRecord,
    decode,
    free_producer_record,
    sink_record,
    slot_record,
)
from ottla.coordination.transactions.sinks import Group, Member, Opened, Sink, Slot
from ottla.coordination.transactions.state import (
    MAX_EPOCH,
    PREPARING,
    Producer,
    State,
    Transaction,
)
from ottla.protocol.errors import ErrorCode

TopicId: TypeAlias = Callable[[str], UUID | None]
"""The id of a topic, if there is one of that name."""


class DescribedSlot(NamedTuple):
    """A slot that has not ended, and its transaction."""

    transactional_id: str
    slot: Slot
    transaction: Transaction


class SinkShard:
    """Sinks, their slots, and the producers that wait for the next slots.

    `transactions` are those of the shard that it is a part of: it looks at them, and changes them by records alone.
    """

    def __init__(
        self,
        config: TransactionsConfig,
        transactions: Mapping[str, Transaction],
        new_producer_id: NewProducerId,
        write_markers: Token,
        partition_count: Callable[[], int],
        topic_id: TopicId,
    ) -> None:
        self._config = config
        self._transactions = transactions
        self._new_producer_id = new_producer_id
        self._write_markers = write_markers
        self._partition_count = partition_count
        self._topic_id = topic_id
        self.sinks: dict[str, Sink] = {}
        self.slots: dict[str, Slot] = {}
        self.free: dict[str, dict[int, int]] = {}
        # Of slots whose outcome is decided, the topics that are to be told.
        self.topic_ids: dict[str, Mapping[str, UUID]] = {}
        self._names: dict[Slot, str] = {}
        self._slots_of: dict[str, set[str]] = {}
        # When a sink, or one of its slots, last gave a sign of life.
        self._touched_ms: dict[str, int] = {}
        self._look_ms = 0

    # What changes

    def open(
        self,
        sink_id: str,
        run_id: str,
        timeout_ms: int,
        ephemeral: bool,
        token: Token,
        now_ms: int,
    ) -> Decision:
        """OpenSink: replies with Opened."""
        found = self.sinks.get(sink_id)
        try:
            sinks.check_names(sink_id, run_id, timeout_ms)
            opened = sinks.open_for(found, run_id, timeout_ms, ephemeral, now_ms)
        except ApiError as why:
            return refuse(token, why)
        self._touch(sink_id, now_ms)
        if opened is None:
            assert found is not None
            return Decision(replies=[(token, _opened(found))])
        return self._end(sink_id, opened, (), now_ms, token, _opened(opened))

    def open_slot(self, slot: Slot, token: Token, now_ms: int) -> Decision:
        """OpenSinkSlot: replies with a Member."""
        try:
            sink = sinks.current(self.sinks.get(slot.sink_id), slot.generation)
            sinks.check_batch(sink, slot.batch)
            name = self.name_of(slot)
            if name is not None:
                found = Member(name, self._transactions[name].producer)
                written: list[KeyValue] = []
            else:
                found, written = self._new_slot(sink, slot, now_ms)
        except ApiError as why:
            return refuse(token, why)
        self._touch(slot.sink_id, now_ms)
        return Decision(written, [(token, found)])

    def commit(self, group: Group, token: Token, now_ms: int) -> Decision:
        """CommitTxnGroup: replies with None, once it is certain."""
        found = self.sinks.get(group.sink_id)
        if sinks.was_committed(found, group):
            return Decision(replies=[(token, None)])
        try:
            sinks.check_digest(group.digest)
            sink = sinks.current(found, group.generation)
            sinks.check_not_behind(sink, group.batch)
            if group.batch == sink.committed_batch:
                return self._again(sink, group, token, now_ms)
            self._check_members(group)
        except ApiError as why:
            return refuse(token, why)
        metrics.SINK_BATCHES.value += 1
        self._touch(group.sink_id, now_ms)
        committed = {member.transactional_id for member in group.members}
        after = sinks.commit(sink, group, now_ms)
        return self._end(group.sink_id, after, committed, now_ms, token, None)

    def abort(self, sink_id: str, generation: int, token: Token, now_ms: int) -> Decision:
        """AbortTxnGroup: replies with None; of a sink that is not known, nothing is open."""
        found = self.sinks.get(sink_id)
        if found is None:
            return Decision(replies=[(token, None)])
        try:
            sink = sinks.current(found, generation)
        except ApiError as why:
            return refuse(token, why)
        after = sinks.close(sink, now_ms) if sink.ephemeral else None
        return self._end(sink_id, after, (), now_ms, token, None)

    def reset(self, sink_id: str, token: Token, now_ms: int) -> Decision:
        """ResetSink: replies with None."""
        found = self.sinks.get(sink_id)
        if found is None or (found.is_closed and not self._slots_of.get(sink_id)):
            return refuse(token, unknown(sink_id))
        return self._end(sink_id, sinks.reset(found, now_ms), (), now_ms, token, None)

    def retired(self, transactional_id: str) -> list[KeyValue]:
        """A slot has ended: it vanishes, and its producer waits for the next one.

        The epoch of its markers is not used again: one that comes late must not end the transaction of the next slot.
        """
        slot = self.slots[transactional_id]
        producer_id, epoch = self._transactions[transactional_id].producer
        written: list[KeyValue] = [
            (records.encode_key(transactional_id), None),
            slot_record(transactional_id, slot.sink_id, None),
        ]
        following = Producer(producer_id, epoch + 1)
        sink = self.sinks.get(slot.sink_id)
        if sink is not None and following.epoch < MAX_EPOCH - 1:
            owner = sinks.owner_of_producers(slot.sink_id, sink)
            if owner != sinks.NOBODY or len(self.free.get(owner, ())) < sinks.MAX_SHARED_PRODUCERS:
                written.append(free_producer_record(owner, following, is_free=True))
        return written

    # What is asked

    def describe(self, sink_id: str) -> tuple[Sink, list[DescribedSlot]]:
        """A sink and the slots that have not ended; ApiError if there is none."""
        found = self.sinks.get(sink_id)
        names = sorted(self._slots_of.get(sink_id, ()))
        if found is None or (found.is_closed and not names):
            raise unknown(sink_id)
        return found, [
            DescribedSlot(name, self.slots[name], self._transactions[name]) for name in names
        ]

    def name_of(self, slot: Slot) -> str | None:
        """The transactional id of a slot, if it is open."""
        name = self._names.get(slot)
        return name if name is not None and self._is_open(name) else None

    def known(self) -> list[str]:
        """The sinks that can be described."""
        return [
            sink_id
            for sink_id, sink in self.sinks.items()
            if not sink.is_closed or self._slots_of.get(sink_id)
        ]

    # The machine

    def replay(self, kind: Kind, key: bytes, value: bytes | None) -> None:
        """Take in a record."""
        said = decode(kind, key, value)
        if isinstance(said, SinkRecord):
            self._replay_sink(said)
        elif isinstance(said, SlotRecord):
            self._replay_slot(said)
        else:
            self._replay_free(said)

    def _replay_sink(self, said: SinkRecord) -> None:
        if said.sink is None:
            self.sinks.pop(said.sink_id, None)
            self._touched_ms.pop(said.sink_id, None)
        else:
            self.sinks[said.sink_id] = said.sink
            self._touched_ms.setdefault(said.sink_id, said.sink.updated_ms)

    def _replay_slot(self, said: SlotRecord) -> None:
        name = said.transactional_id
        self.topic_ids.pop(name, None)
        before = self.slots.pop(name, None)
        if before is not None and self._names.get(before) == name:
            del self._names[before]
        names = self._slots_of.setdefault(said.sink_id, set())
        if said.slot is None:
            names.discard(name)
            if not names:
                del self._slots_of[said.sink_id]
            return
        names.add(name)
        self.slots[name] = said.slot
        self._names[said.slot] = name
        if said.topic_ids:
            self.topic_ids[name] = said.topic_ids

    def _replay_free(self, said: FreeProducerRecord) -> None:
        free = self.free.setdefault(said.sink_id, {})
        if said.epoch is None:
            free.pop(said.producer_id, None)
        else:
            free[said.producer_id] = said.epoch
        if not free:
            del self.free[said.sink_id]

    def loaded(self, now_ms: int) -> None:
        """Time-outs start anew: nobody could give a sign of life while there was no coordinator."""
        self._touched_ms = dict.fromkeys(self.sinks, now_ms)
        self._look_ms = now_ms + self._config.transaction_abort_interval_ms

    def clock_was_set(self, by_ms: int) -> None:
        """Everybody has been silent for as long as before."""
        self._look_ms += by_ms
        for sink_id in self._touched_ms:
            self._touched_ms[sink_id] += by_ms

    def touch(self, transactional_id: str, now_ms: int) -> None:
        """If it is a slot's, its sink is alive."""
        slot = self.slots.get(transactional_id)
        if slot is not None:
            self._touch(slot.sink_id, now_ms)

    def next_deadline_ms(self) -> int | None:
        """When time-outs are to be looked at."""
        return self._look_ms if self.sinks else None

    def tick(self, now_ms: int) -> Decision:
        """Abort the groups that gave no sign of life for too long, and forget the sinks that are over."""
        if now_ms < self._look_ms:
            return Decision()
        self._look_ms = now_ms + self._config.transaction_abort_interval_ms
        written: list[KeyValue] = []
        told: list[tuple[Token, Any]] = []
        for sink_id, sink in self.sinks.items():
            if not self._slots_of.get(sink_id):
                written += self._forgotten(sink_id, sink, now_ms)
            elif self._is_silent(sink_id, sink, now_ms):
                metrics.SINK_GROUPS_TIMED_OUT.value += 1
                after = sinks.close(sink, now_ms) if sink.ephemeral else None
                ended = self._end(sink_id, after, (), now_ms)
                written += ended.records
                told += ended.replies
        return Decision(written, told)

    def _touch(self, sink_id: str, now_ms: int) -> None:
        if not self.sinks:
            self._look_ms = now_ms + self._config.transaction_abort_interval_ms
        self._touched_ms[sink_id] = now_ms

    def _is_silent(self, sink_id: str, sink: Sink, now_ms: int) -> bool:
        overdue = self._touched_ms.get(sink_id, now_ms) + sink.timeout_ms < now_ms
        return overdue and any(map(self._is_open, self._slots_of[sink_id]))

    def _forgotten(self, sink_id: str, sink: Sink, now_ms: int) -> Iterator[KeyValue]:
        touched_ms = self._touched_ms.get(sink_id, now_ms)
        until_ms = sinks.kept_until_ms(
            sink, touched_ms, self._config.transactional_id_expiration_ms
        )
        if until_ms is None or now_ms < until_ms:
            return
        for producer in self.free.get(sink_id, {}).items():
            yield free_producer_record(sink_id, Producer(*producer), is_free=False)
        yield sink_record(sink_id, None)

    def _is_open(self, transactional_id: str) -> bool:
        """Whether nothing is decided about a slot yet."""
        found = self._transactions.get(transactional_id)
        return found is not None and found.state not in PREPARING

    def _new_slot(self, sink: Sink, slot: Slot, now_ms: int) -> tuple[Member, list[KeyValue]]:
        sink_id, limit = slot.sink_id, sinks.MAX_SLOTS
        names = self._slots_of.get(sink_id, ())
        if len(names) >= limit and sum(map(self._is_open, names)) >= limit:
            raise ApiError(
                ErrorCode.POLICY_VIOLATION, f"{limit} slots of the sink are open already"
            )
        written: list[KeyValue] = []
        owner = sinks.owner_of_producers(sink_id, sink)
        free = next(iter(self.free.get(owner, {}).items()), None)
        if free is None:
            producer = Producer(self._new_producer_id(), 0)
        else:
            producer = Producer(*free)
            written.append(free_producer_record(owner, producer, is_free=False))
        fresh = machine.create(producer.producer_id, sink.timeout_ms, now_ms)
        name = self._new_name(sink_id, producer)
        written.append(slot_record(name, sink_id, slot))
        written.append(ends.record(name, fresh._replace(epoch=producer.epoch)))
        return Member(name, producer), written

    def _new_name(self, sink_id: str, producer: Producer) -> str:
        """It shows people whose it is; nobody reads anything out of it."""
        stem = f"{sink_id}/{producer.producer_id}-{producer.epoch}-"
        names = names_beside(sink_id, stem, self._partition_count())
        return next(name for name in names if name not in self._transactions)

    def _check_members(self, group: Group) -> None:
        for name, producer in group.members:
            slot = self.slots.get(name)
            lost = (
                slot is None
                or slot[:3] != (group.sink_id, group.generation, group.batch)
                or not self._is_open(name)
                or self._transactions[name].producer != producer
            )
            if lost:
                raise ApiError(
                    ErrorCode.SINK_SLOT_LOST,
                    f"{name} is not open, or not a slot of batch {group.batch}: nothing was committed",
                )

    def _again(self, sink: Sink, group: Group, token: Token, now_ms: int) -> Decision:
        """The batch that was committed last: whatever else was written for it is aborted."""
        answer: ApiError | None = None
        try:
            sinks.check_replayed(sink, group)
        except ApiError as why:
            answer = why
            count_refusal(why)
        named = {member.transactional_id for member in group.members}
        mine = self._slots_of.get(group.sink_id, set()) & named
        return self._end(group.sink_id, None, (), now_ms, token, answer, among=mine)

    def _end(
        self,
        sink_id: str,
        after: Sink | None,
        committed: Collection[str],
        now_ms: int,
        token: Token | None = None,
        answer: object = None,
        among: Iterable[str] | None = None,
    ) -> Decision:
        """Commit some open slots and abort the others, or those `among` them; the sink becomes what it is `after`."""
        written = [] if after is None else [sink_record(sink_id, after)]
        told: list[tuple[Token, Any]] = []
        for name in sorted(self._slots_of.get(sink_id, ()) if among is None else among):
            found = self._transactions.get(name)
            if found is None or found.state in PREPARING:
                continue
            if found.state is State.EMPTY:
                written += self.retired(name)
                continue
            prepared = machine.settle(found, name in committed, now_ms)
            topic_ids = self._topic_ids(prepared)
            ends.count(prepared)
            written.append(ends.record(name, prepared))
            written.append(slot_record(name, sink_id, self.slots[name], topic_ids))
            markers = ends.markers(name, prepared, topic_ids=topic_ids)
            told.append((self._write_markers, markers))
        if token is not None:
            told.append((token, answer))
        return Decision(written, told)

    def _topic_ids(self, prepared: Transaction) -> dict[str, UUID]:
        named = {tp.topic: self._topic_id(tp.topic) for tp in prepared.partitions}
        return {topic: topic_id for topic, topic_id in named.items() if topic_id is not None}


def _opened(sink: Sink) -> Opened:
    return Opened(sink.generation, sink.committed_batch, sink.committed_digest)


def unknown(sink_id: str) -> ApiError:
    """Nobody writes to such a sink, or it was reset."""
    return ApiError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, f"there is no sink {sink_id!r}")


def count_refusal(why: ApiError) -> None:
    """One more request about transactions is refused."""
    metrics.TRANSACTION_REFUSALS.labels(error=ErrorCode(why.code).name).value += 1


def refuse(token: Token, why: ApiError) -> Decision:
    """Nothing changes, and the asker is told why."""
    count_refusal(why)
    return Decision(replies=[(token, why)])
