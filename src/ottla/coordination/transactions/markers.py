"""Writes the markers that end a transaction into its partitions, and tells the coordinator when they are all there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ottla.base.errors import ApiError, StorageError
from ottla.base.ids import TopicPartition
from ottla.base.log import logger
from ottla.base.tasks import Tasks
from ottla.client.errors import ClientError
from ottla.cluster.image import NO_LEADER, Image
from ottla.cluster.peers import Peers
from ottla.coordination.runtime import Coordinator
from ottla.coordination.transactions.ends import Age, EndMarkers
from ottla.coordination.transactions.state import FIRST_WITH_EPOCH_BUMP
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.control import EndTransactionMarker
from ottla.replication.partitions import Partitions

if TYPE_CHECKING:
    from ottla.coordination.transactions.shard import TransactionShard
    from ottla.replication.partition import Partition

log = logger(__name__)

OnMarker: TypeAlias = Callable[[TopicPartition, int, bool], None]
"""Told of every marker that is in a log: partition, producer id, and whether it commits."""

# The partition has seen a later epoch of the producer: this marker was written before. TRANSACTION_COORDINATOR_FENCED
# says no such thing: whoever is fenced tries again until the metadata tells it that it is no coordinator any more.
_WRITTEN_BEFORE = ErrorCode.INVALID_PRODUCER_EPOCH


class MarkerWriter:
    """Ends transactions in the partitions that this broker leads, and has other leaders do it in theirs.

    The coordinator calls it with what to write, once the outcome is committed, and again while partitions are missing.
    """

    def __init__(
        self,
        partitions: Partitions,
        peers: Peers,
        image: Callable[[], Image],
        tasks: Tasks,
        now_ms: Callable[[], int],
        on_marker: OnMarker,
    ) -> None:
        self._partitions = partitions
        self._peers = peers
        self._node_id = peers.membership.broker_id
        self._image = image
        self._tasks = tasks
        self._now_ms = now_ms
        self._on_marker = on_marker
        self._coordinator: Coordinator[TransactionShard] | None = None
        self._under_way: set[tuple[str, Age, int]] = set()
        self._newest_connection: dict[int, int] = {}

    def serve(self, coordinator: Coordinator[TransactionShard]) -> None:
        """Name the coordinator to tell, which is made after the writer that its machines hold."""
        self._coordinator = coordinator

    def __call__(self, markers: EndMarkers | ApiError) -> None:
        """Write what can be written; what cannot is asked for again.

        In the next turn of the loop: the producer gets its answer before, and no request of it comes in between.
        """
        if isinstance(markers, ApiError):
            return  # the outcome was not committed; whoever is the coordinator now decides
        epoch = self._coordinator_epoch(markers.transactional_id)
        ended = EndTransactionMarker(markers.committed, epoch)
        asyncio.get_running_loop().call_soon(self._write_all, markers, ended)

    def _write_all(self, markers: EndMarkers, ended: EndTransactionMarker) -> None:
        written: list[TopicPartition] = []
        elsewhere: dict[int, list[TopicPartition]] = {}
        for tp in markers.partitions:
            leader = self._leader(tp)
            if leader != self._node_id:
                elsewhere.setdefault(leader, []).append(tp)
            elif self._is_untouched(tp, markers) or self._is_written(tp, markers, ended):
                written.append(tp)
        if written or not markers.partitions:
            self._tell(markers, written)
        for leader, partitions in elsewhere.items():
            # A second one could arrive when the next transaction has begun, and end that.
            sent = (markers.transactional_id, markers.age, leader)
            if sent not in self._under_way:
                self._under_way.add(sent)
                self._tasks.spawn(self._send(leader, partitions, markers, ended))

    def _is_replaced(self, tp: TopicPartition, markers: EndMarkers) -> bool:
        """Whether the topic was deleted and made again since the outcome was decided, as the coordinator saw it."""
        expected, found = markers.topic_ids.get(tp.topic), self._image().topics.get(tp.topic)
        return expected is not None and found is not None and found.topic_id != expected

    def _is_untouched(self, tp: TopicPartition, markers: EndMarkers) -> bool:
        """Whether a partition of a topic that was made again has nothing of the transaction: it gets no marker."""
        if not markers.topic_ids or not self._is_replaced(tp, markers):
            return False
        partition = self._partitions.find(*tp)
        if partition is None:
            return False
        entry = partition.log.producers.entry(markers.producer.producer_id)
        return entry is None or entry.txn_first_offset < 0

    async def _untouched_at(
        self, leader: int, partitions: Iterable[TopicPartition], markers: EndMarkers
    ) -> set[TopicPartition]:
        """The same of partitions that another broker leads."""
        from ottla.coordination.transactions.between_brokers import (
            partitions_without,
            producers_request,
        )

        doubtful = [tp for tp in partitions if self._is_replaced(tp, markers)]
        if not doubtful:
            return set()
        answer = await self._peers.ask(leader, producers_request(doubtful))
        return set(partitions_without(answer, markers.producer.producer_id))

    def _leader(self, tp: TopicPartition) -> int:
        """Who leads a partition; one without a leader is tried here, refused, and asked for again."""
        placed = self._image().partition(*tp)
        if placed is None or placed.leader == NO_LEADER:
            return self._node_id
        return placed.leader

    async def _send(
        self,
        leader: int,
        partitions: list[TopicPartition],
        markers: EndMarkers,
        ended: EndTransactionMarker,
    ) -> None:
        """Have another broker write; what it does not is asked for again."""
        # A broker that is alone has nobody to ask, and does not read how.
        from ottla.coordination.transactions.between_brokers import marker_errors, markers_request

        try:
            done = await self._untouched_at(leader, partitions, markers)
            left = [tp for tp in partitions if tp not in done]
            answer = await self._peers.ask(leader, markers_request(markers, left, ended))
        except (ClientError, ApiError) as failure:
            log.info("markers not sent", leader=leader, reason=str(failure))
            return
        finally:
            self._under_way.discard((markers.transactional_id, markers.age, leader))
        for tp, code in marker_errors(answer):
            if not code or self._is_meaningless(tp, code):
                done.add(tp)
        if done:
            self._tell(markers, done)

    def _is_meaningless(self, tp: TopicPartition, code: int) -> bool:
        """Whether a marker that was refused need not be written: if the topic is gone, nothing is left to end."""
        return code == _WRITTEN_BEFORE or self._image().partition(*tp) is None

    def is_late(self, broker_id: int, connection: int) -> bool:
        """Whether another broker has asked for markers on a newer connection before, so that this one is given up."""
        newest = self._newest_connection.get(broker_id, 0)
        self._newest_connection[broker_id] = max(newest, connection)
        return connection < newest

    def check_coordinator(self, marker: EndTransactionMarker) -> None:
        """Refuse a marker in an epoch that no coordinator has had, as far as this broker knows.

        If the marker is genuine, its coordinator tries again, and by then this broker knows. A forged one would fence
        the producer's true coordinator for good.
        """
        if not self._has_been(marker.coordinator_epoch):
            raise ApiError(
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
                f"no coordinator of transactions has had epoch {marker.coordinator_epoch}",
            )

    def is_needed(self, tp: TopicPartition, producer_id: int, producer_epoch: int) -> bool:
        """Return whether there is a transaction that a marker from an operator may end; refuse a forged epoch.

        A marker with an epoch that the producer has not reached would fence the producer for good.
        """
        entry = self._partitions.leader(*tp).log.producers.entry(producer_id)
        if entry is None or entry.txn_first_offset < 0:
            return False
        if producer_epoch > entry.epoch + 1:
            raise ApiError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {producer_id} is at epoch {entry.epoch} in {tp}, not {producer_epoch}",
            )
        return True

    def _has_been(self, coordinator_epoch: int) -> bool:
        """Return whether some partition of __transaction_state is, or was, in this leader epoch."""
        if coordinator_epoch <= 0:
            return True
        topic = None
        if self._coordinator is not None:
            topic = self._image().topics.get(self._coordinator.topic)
        return topic is not None and any(
            each.leader_epoch >= coordinator_epoch for each in topic.partitions
        )

    def _was_fenced_by_nobody(
        self, refusal: ApiError, partition: Partition, producer_id: int
    ) -> bool:
        """Return whether the coordinator epoch that a marker is refused for is one that no coordinator has had.

        Older builds wrote such markers for whoever asked.
        """
        if refusal.code != ErrorCode.TRANSACTION_COORDINATOR_FENCED:
            return False
        entry = partition.log.producers.entry(producer_id)
        return entry is not None and not self._has_been(entry.coordinator_epoch)

    def write(
        self,
        tp: TopicPartition,
        producer_id: int,
        producer_epoch: int,
        marker: EndTransactionMarker,
        *,
        must_bump: bool = False,
        then: Callable[[int], None] | None = None,
    ) -> bool:
        """Append one marker; True if it is committed at once, else `then(error)` is called when it is."""
        partition = self._partitions.leader(tp.topic, tp.partition)
        partition.check_in_sync()
        end = partial(
            partition.end_transaction,
            producer_id,
            producer_epoch,
            marker,
            self._now_ms(),
            must_bump=must_bump,
        )
        try:
            end_offset = end()
        except ApiError as refusal:
            if not self._was_fenced_by_nobody(refusal, partition, producer_id):
                raise
            partition.log.producers.forget_coordinator(producer_id)
            end_offset = end()
        self._on_marker(tp, producer_id, marker.committed)
        if partition.high_watermark >= end_offset:
            return True
        if then is not None:
            partition.when_committed(end_offset, then)
        return False

    def _coordinator_epoch(self, transactional_id: str) -> int:
        """The leader epoch of the coordinator's partition: a former coordinator's markers are refused by it."""
        if self._coordinator is None:
            return 0
        index = self._coordinator.partition_of(transactional_id)
        partition = None
        if index is not None:
            partition = self._partitions.find(self._coordinator.topic, index)
        return 0 if partition is None else partition.leader_epoch

    def _is_written(
        self, tp: TopicPartition, markers: EndMarkers, ended: EndTransactionMarker
    ) -> bool:
        producer_id, epoch = markers.producer
        then = partial(self._committed, markers, tp)
        must_bump = markers.transaction_version >= FIRST_WITH_EPOCH_BUMP
        try:
            return self.write(tp, producer_id, epoch, ended, must_bump=must_bump, then=then)
        except (ApiError, StorageError) as failure:
            given_up = isinstance(failure, ApiError) and self._is_meaningless(tp, failure.code)
            log.warning(
                "transaction marker not written",
                partition=tp,
                transactional_id=markers.transactional_id,
                reason=str(failure),
                again=not given_up,
            )
            return given_up

    def _committed(self, markers: EndMarkers, tp: TopicPartition, error: int) -> None:
        if not error:
            self._tell(markers, [tp])

    def _tell(self, markers: EndMarkers, written: Collection[TopicPartition]) -> None:
        if self._coordinator is None:
            return

        def decide(shard: TransactionShard, now_ms: int) -> Any:
            return shard.markers_written(markers, written, now_ms)

        try:
            self._coordinator.write(markers.transactional_id, decide)
        except ApiError as moved:
            log.info(
                "transaction completes elsewhere",
                transactional_id=markers.transactional_id,
                reason=str(moved),
            )
