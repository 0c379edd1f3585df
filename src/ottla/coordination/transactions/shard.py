"""Pure: the machine behind one partition of `__transaction_state`: all transactional ids that belong to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.config.transactions import TransactionsConfig
from ottla.coordination import metrics
from ottla.coordination.decision import (
    Decision,
    KeyValue,
    Token,
    Transactional,
)
from ottla.coordination.transactions import ends, machine, records
from ottla.coordination.transactions.ends import EndMarkers
from ottla.coordination.transactions.machine import Claim, NewProducerId
from ottla.coordination.transactions.room import Room
from ottla.coordination.transactions.sink_records import kind_of
from ottla.coordination.transactions.sink_shard import SinkShard, TopicId, refuse
from ottla.coordination.transactions.state import (
    COMPLETE,
    FIRST_WITH_EPOCH_BUMP,
    MAX_EPOCH,
    NO_EPOCH,
    PREPARING,
    Producer,
    State,
    Transaction,
)
from ottla.protocol.errors import ErrorCode

_RETRY_MS = 1_000
_EXPIRED_AT_ONCE = 1_000


class _Completing:
    """A transaction whose markers are under way: where they are missing, and when to write them again."""

    __slots__ = ("missing", "retry_at_ms")

    def __init__(self, missing: Iterable[TopicPartition], retry_at_ms: int) -> None:
        self.missing = set(missing)
        self.retry_at_ms = retry_at_ms


class _Connections:
    """Where a transaction comes from: the newest connection that added to it, older ones that wanted to end it."""

    __slots__ = ("newest", "refused")

    def __init__(self) -> None:
        self.newest = 0
        self.refused: set[int] = set()


class TransactionShard:
    """Transactional ids, their producers and their transactions.

    `write_markers` is told as if it were an asker: when the outcome of a transaction is committed, it gets EndMarkers,
    and comes back with `markers_written`. Until then it is told again, now and then. `partition_count` is that of the
    coordinator's topic, `topic_id` tells the present id of any; `room` is what is left for transactions on this broker,
    in other machines, too.

    The transactional ids of `sinks` are slots: their producers do not end them, and they time out with their sinks.
    """

    def __init__(
        self,
        config: TransactionsConfig,
        new_producer_id: NewProducerId,
        write_markers: Token,
        partition_count: Callable[[], int],
        topic_id: TopicId,
        room: Room | None = None,
    ) -> None:
        self._config = config
        self._room = room or Room(config.max_open_transactions, lambda: self.open_count)
        self._new_producer_id = new_producer_id
        self._write_markers = write_markers
        self.transactions: dict[str, Transaction] = {}
        self.sinks = SinkShard(
            config, self.transactions, new_producer_id, write_markers, partition_count, topic_id
        )
        # What is open, and by how much the clock was set since it began: the log says that in time of day.
        self._ongoing: dict[str, int] = {}
        self._completing: dict[str, _Completing] = {}
        self._look_for_missing_ms = 0
        # The epoch that a producer had before it was given another in answer to a claim (KIP-360).
        self._claimed: dict[str, int] = {}
        self._connections: dict[str, _Connections] = {}
        self._look_for_timed_out_ms = 0
        self._look_for_expired_ms: int | None = None

    # What changes

    def initialize(
        self,
        transactional_id: str,
        timeout_ms: int,
        claimed: Producer | None,
        token: Token,
        now_ms: int,
    ) -> Decision:
        """InitProducerId: replies with the producer to be; CONCURRENT_TRANSACTIONS after it set off an abort."""
        try:
            if not 0 < timeout_ms <= self._config.transaction_max_timeout_ms:
                raise ApiError(
                    ErrorCode.INVALID_TRANSACTION_TIMEOUT,
                    f"{timeout_ms} ms is not within 1 to {self._config.transaction_max_timeout_ms}",
                )
            self._check_no_slot(transactional_id)
            found = self.transactions.get(transactional_id)
            if found is None:
                fresh = machine.create(self._new_producer_id(), timeout_ms, now_ms)
                return self._remember(transactional_id, fresh, [(token, fresh.producer)])
            claim = claimed and Claim(claimed, self._last_epoch(transactional_id, found))
            result = machine.initialize(found, claim, timeout_ms, self._new_producer_id, now_ms)
        except ApiError as why:
            return refuse(token, why)
        if result.aborts:
            metrics.PRODUCERS_FENCED.value += 1
            concurrent = ApiError(
                ErrorCode.CONCURRENT_TRANSACTIONS, "the producer before this one is being fenced"
            )
            return self._end(transactional_id, result.transaction, token, concurrent)
        if claimed is None:
            self._claimed.pop(transactional_id, None)
        else:
            self._claimed[transactional_id] = claimed.epoch
        now = result.transaction
        return self._remember(transactional_id, now, [(token, now.producer)])

    def add(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Collection[TopicPartition],
        client_version: int,
        token: Token,
        now_ms: int,
        connection: int = 0,
    ) -> Decision:
        """AddPartitionsToTxn, or what stands for it: replies with None."""
        try:
            found = self._known(transactional_id)
            added = machine.add(found, producer, partitions, client_version, now_ms)
            if found.state is not State.ONGOING:
                self._check_room()
        except ApiError as why:
            return refuse(token, why)
        self.sinks.touch(transactional_id, now_ms)
        if connection:
            used = self._connections.setdefault(transactional_id, _Connections())
            used.newest = max(used.newest, connection)
        if added is None:
            return Decision(replies=[(token, None)])
        return self._remember(transactional_id, added, [(token, None)])

    def end(
        self,
        transactional_id: str,
        producer: Producer,
        committed: bool,
        client_version: int,
        token: Token,
        now_ms: int,
        connection: int = 0,
    ) -> Decision:
        """EndTxn: replies with the producer of the next transaction, once the outcome is certain."""
        try:
            self._check_no_slot(transactional_id)
            found = self._known(transactional_id)
            if client_version < FIRST_WITH_EPOCH_BUMP and found.producer == producer:
                self._check_not_late(transactional_id, connection)
            prepared = machine.end(
                found, producer, committed, client_version, self._new_producer_id, now_ms
            )
        except ApiError as why:
            return refuse(token, why)
        if prepared is None:
            return Decision(replies=[(token, found.producer)])
        following = machine.next_producer(prepared)
        return self._end(transactional_id, prepared, token, following)

    def markers_written(
        self, markers: EndMarkers, written: Iterable[TopicPartition], now_ms: int
    ) -> Decision:
        """Some markers are in their partitions; with the last one the transaction is complete."""
        found = self.transactions.get(markers.transactional_id)
        completing = self._completing.get(markers.transactional_id)
        if completing is None or found is None or found.producer != markers.producer:
            return Decision()
        if ends.age(found) != markers.age:
            return Decision()  # said twice of the transaction before
        completing.missing.difference_update(written)
        if completing.missing:
            return Decision()
        if markers.transactional_id in self.sinks.slots:
            return Decision(self.sinks.retired(markers.transactional_id))
        return self._remember(markers.transactional_id, machine.complete(found, now_ms))

    # What is asked

    def check_within(
        self, transactional_id: str, producer: Producer, partition: TopicPartition
    ) -> None:
        """ApiError unless the producer may write to the partition in its transaction."""
        machine.check_within(self._known(transactional_id), producer, partition)

    def verify(
        self, transactional_id: str, producer: Producer, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """For each partition, the error code of a write to it, as brokers ask each other (KIP-890)."""
        errors = {}
        for partition in partitions:
            try:
                self.check_within(transactional_id, producer, partition)
                errors[partition] = int(ErrorCode.NONE)
            except ApiError as why:
                errors[partition] = why.code
        return errors

    # The machine

    def replay(self, key: bytes, value: bytes | None, transactional: Transactional | None) -> None:
        """Take in a record: the newest of a transactional id is all there is to know of it."""
        kind = kind_of(key)
        if kind is not None:
            self.sinks.replay(kind, key, value)
            return
        transactional_id = records.decode_key(key)
        self._place(transactional_id, None if value is None else records.decode_value(value))

    def _place(self, transactional_id: str, now: Transaction | None) -> None:
        clock_set_by_ms = self._ongoing.pop(transactional_id, 0)
        self._completing.pop(transactional_id, None)
        if now is None or now.state is not State.ONGOING:
            self._connections.pop(transactional_id, None)
        if now is None:
            self.transactions.pop(transactional_id, None)
            self._claimed.pop(transactional_id, None)
            return
        self.transactions[transactional_id] = now
        if now.state is State.ONGOING:
            if not self._ongoing:
                interval_ms = self._config.transaction_abort_interval_ms
                self._look_for_timed_out_ms = now.updated_ms + interval_ms
            self._ongoing[transactional_id] = clock_set_by_ms
        elif now.state in PREPARING:
            retry_at_ms = now.updated_ms + _RETRY_MS
            if not self._completing or retry_at_ms < self._look_for_missing_ms:
                self._look_for_missing_ms = retry_at_ms
            self._completing[transactional_id] = _Completing(now.partitions, retry_at_ms)

    def replay_marker(self, producer_id: int, committed: bool) -> None:
        """Nobody writes to this topic in a transaction."""

    def loaded(self, now_ms: int) -> None:
        """Clocks start; transactions that were being completed are completed at once."""
        self._look_for_timed_out_ms = now_ms + self._config.transaction_abort_interval_ms
        self._look_for_expired_ms = now_ms + self._config.transaction_remove_expired_interval_ms
        self._look_for_missing_ms = now_ms
        for completing in self._completing.values():
            completing.retry_at_ms = now_ms
        self.sinks.loaded(now_ms)

    def clock_was_set(self, by_ms: int, now_ms: int) -> None:
        """Transactions time out when they would have; ids that are not used expire by the time of day."""
        self._look_for_timed_out_ms += by_ms
        self._look_for_missing_ms += by_ms
        if self._look_for_expired_ms is not None:
            self._look_for_expired_ms += by_ms
        for transactional_id in self._ongoing:
            self._ongoing[transactional_id] += by_ms
        for completing in self._completing.values():
            completing.retry_at_ms += by_ms
        self.sinks.clock_was_set(by_ms)

    def next_deadline_ms(self) -> int | None:
        """When markers are to be written again, time-outs to be looked at, or ids to be forgotten."""
        due = self._look_for_expired_ms
        if due is not None and self._ongoing:
            due = min(due, self._look_for_timed_out_ms)
        if due is not None and self._completing:
            due = min(due, self._look_for_missing_ms)
        look_ms = self.sinks.next_deadline_ms()
        return due if due is None or look_ms is None else min(due, look_ms)

    def tick(self, now_ms: int) -> Decision:
        """Whatever is due."""
        written: list[KeyValue] = []
        told = [(self._write_markers, markers) for markers in self._markers_again(now_ms)]
        for transactional_id, fenced in self._timed_out(now_ms):
            metrics.TRANSACTIONS_TIMED_OUT.value += 1
            ends.count(fenced)
            written.append(ends.record(transactional_id, fenced))
            told.append((self._write_markers, ends.markers(transactional_id, fenced)))
        written += [(records.encode_key(expired), None) for expired in self._expired(now_ms)]
        silent = self.sinks.tick(now_ms)
        return Decision([*written, *silent.records], [*told, *silent.replies])

    def waits_for_quiet(self) -> bool:
        """Nothing does: transactions do not wait for each other."""
        return False

    def quiet(self, now_ms: int) -> Decision:
        """Nothing has waited for that."""
        return Decision()

    def parked(self) -> Sequence[Token]:
        """Nobody waits here: every request is answered when it is decided."""
        return ()

    @property
    def open_count(self) -> int:
        """How many transactions are open here."""
        return len(self._ongoing)

    def _check_room(self) -> None:
        """Differs from Kafka, which has no limit: the error is one after which producers try again by themselves."""
        if not self._room.take():
            raise ApiError(
                ErrorCode.CONCURRENT_TRANSACTIONS,
                f"ottla.max.open.transactions={self._room.limit} are open; try again when one has ended",
            )

    def _check_not_late(self, transactional_id: str, connection: int) -> None:
        """Without new epochs only its connection can tell an end from that of a transaction before (KAFKA-17754)."""
        used = self._connections.get(transactional_id)
        if used is None or connection >= used.newest or connection in used.refused:
            return
        # Whoever asks there again has heard this: no client does on a connection that it has given up.
        used.refused.add(connection)
        raise ApiError(
            ErrorCode.CONCURRENT_TRANSACTIONS,
            f"a newer connection has begun the transaction of {transactional_id!r}",
        )

    def _check_no_slot(self, transactional_id: str) -> None:
        slot = self.sinks.slots.get(transactional_id)
        if slot is not None:
            raise ApiError(
                ErrorCode.INVALID_TXN_STATE,
                f"{transactional_id!r} is a slot of the sink {slot.sink_id!r}, and ends with its group",
            )

    def _known(self, transactional_id: str) -> Transaction:
        found = self.transactions.get(transactional_id)
        if found is None:
            raise ApiError(
                ErrorCode.INVALID_PRODUCER_ID_MAPPING,
                f"the transactional id {transactional_id!r} is not known",
            )
        return found

    def _end(
        self, transactional_id: str, prepared: Transaction, token: Token, reply: object
    ) -> Decision:
        """The outcome is decided; where all partitions are here, the next request finds it complete."""
        markers = ends.markers(transactional_id, prepared)
        ends.count(prepared)
        replies = [(token, reply), (self._write_markers, markers)]
        return self._remember(transactional_id, prepared, replies)

    def _remember(
        self, transactional_id: str, now: Transaction, replies: Sequence[tuple[Token, Any]] = ()
    ) -> Decision:
        """This is what is known of a transactional id from now on."""
        written = [ends.record(transactional_id, now)]
        return Decision(written, replies, replay=partial(self._place, transactional_id, now))

    def _last_epoch(self, transactional_id: str, found: Transaction) -> int:
        if found.state in COMPLETE and found.bumps_epoch:
            return found.epoch - 1 if found.epoch else MAX_EPOCH - 1
        return self._claimed.get(transactional_id, NO_EPOCH)

    def _markers_again(self, now_ms: int) -> list[EndMarkers]:
        """What is overdue; of many that end at once, the next look is when the first of them is."""
        overdue = []
        if self._completing and self._look_for_missing_ms <= now_ms:
            self._look_for_missing_ms = now_ms + _RETRY_MS
            for transactional_id, completing in self._completing.items():
                if completing.retry_at_ms <= now_ms:
                    completing.retry_at_ms = now_ms + _RETRY_MS
                    overdue.append(self._markers(transactional_id, completing.missing))
                elif completing.retry_at_ms < self._look_for_missing_ms:
                    self._look_for_missing_ms = completing.retry_at_ms
        return overdue

    def _markers(self, transactional_id: str, missing: Iterable[TopicPartition]) -> EndMarkers:
        topic_ids = self.sinks.topic_ids.get(transactional_id, {})
        return ends.markers(
            transactional_id, self.transactions[transactional_id], missing, topic_ids
        )

    def _timed_out(self, now_ms: int) -> Iterator[tuple[str, Transaction]]:
        if not self._ongoing or now_ms < self._look_for_timed_out_ms:
            return
        self._look_for_timed_out_ms = now_ms + self._config.transaction_abort_interval_ms
        for transactional_id in sorted(self._ongoing.keys() - self.sinks.slots.keys()):
            found = self.transactions[transactional_id]
            if found.times_out_at_ms() + self._ongoing[transactional_id] < now_ms:
                try:
                    fenced = machine.fence(found, self._new_producer_id, now_ms)
                except ApiError:
                    continue  # no producer id to go on with yet; the next look finds one
                yield transactional_id, fenced

    def _expired(self, now_ms: int) -> list[str]:
        if self._look_for_expired_ms is None or now_ms < self._look_for_expired_ms:
            return []
        expiration_ms = self._config.transactional_id_expiration_ms
        found = [
            transactional_id
            for transactional_id, transaction in self.transactions.items()
            if machine.is_expired(transaction, expiration_ms, now_ms)
            and transactional_id not in self.sinks.slots
        ]
        more = len(found) > _EXPIRED_AT_ONCE
        interval_ms = 0 if more else self._config.transaction_remove_expired_interval_ms
        self._look_for_expired_ms = now_ms + interval_ms
        metrics.TRANSACTIONAL_IDS_EXPIRED.value += len(found[:_EXPIRED_AT_ONCE])
        return found[:_EXPIRED_AT_ONCE]
