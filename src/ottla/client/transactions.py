"""A producer's transactions: the talk with the coordinator, in either version of the protocol.

Where the broker has transaction.version 2 (KIP-890), partitions and offsets join the transaction
when they are written, and each end brings the epoch of the next one. Before, both are announced to
the coordinator first, and the epoch changes only where a sequence was broken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ottla.base.errors import ApiError, OttlaError
from ottla.base.ids import TopicPartition
from ottla.base.tasks import Tasks
from ottla.client.administration.base import by_topic
from ottla.client.cluster import GROUP, TRANSACTION, Cluster
from ottla.client.errors import RequestTimedOut, api_error
from ottla.client.membership import Standing
from ottla.client.partition_queue import Identity
from ottla.client.positions import OffsetAndMetadata
from ottla.client.producer_settings import ProducerSettings
from ottla.client.sender import Sender
from ottla.client.transaction_state import ABORTABLE, State, TransactionState
from ottla.protocol.apis.add_offsets_to_txn import AddOffsetsToTxnRequest
from ottla.protocol.apis.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from ottla.protocol.apis.end_txn import EndTxnRequest
from ottla.protocol.apis.init_producer_id import InitProducerIdRequest
from ottla.protocol.apis.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import Request, error_codes

_FEATURE: Final = "transaction.version"
_LAST_END_V1: Final = 4
_LAST_ADD_PARTITIONS_BY_CLIENT: Final = 3
_LAST_OFFSET_COMMIT_V1: Final = 4
_WRITING: Final = (State.OPEN, State.FLUSHING)
_SOON_S: Final = 0.02
"""The end of the last transaction is nearly always written a few milliseconds later."""


class Transactions:
    """One transactional producer; it decides which batches may leave, and when."""

    def __init__(
        self, transactional_id: str, cluster: Cluster, settings: ProducerSettings, sender: Sender
    ) -> None:
        self.implicit_add = False
        self.state = TransactionState()
        self._id = transactional_id
        self._cluster = cluster
        self._settings = settings
        self._sender = sender
        self._tasks = Tasks()
        self._added: set[TopicPartition] = set()
        self._wanted: set[TopicPartition] = set()
        self._adding = False
        self._offsets_sent = False
        self._gap = False

    # --- what a program asks

    async def init(self) -> None:
        """Get a producer id, end what an earlier producer left open, and fence it off."""
        self.state.need(State.UNINITIALIZED)
        self._sender.gate = self
        within_ms = self._settings.max_block_ms
        try:
            async with asyncio.timeout(within_ms / 1000):
                connection = await self._cluster.retried(self._cluster.connection)
        except TimeoutError:
            raise RequestTimedOut(
                f"no broker answered within max.block.ms={within_ms}; check bootstrap.servers"
            ) from None
        features = connection.api_versions.finalized_features
        self.implicit_add = any(f.name == _FEATURE and f.max_version_level >= 2 for f in features)
        try:
            await self._init_producer_id(Identity())
        except ApiError as error:
            self.state.fail(error)
            raise
        self.state.turn(State.READY)

    def begin(self) -> None:
        """What is sent from now on belongs together."""
        self.state.need(State.READY)
        self._added.clear()
        self._wanted.clear()
        self._offsets_sent = self._gap = False
        self.state.turn(State.OPEN)

    async def send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], standing: Standing
    ) -> None:
        """Commit offsets of a group if, and when, the transaction commits."""
        self.state.need(State.OPEN)
        if not offsets:
            return
        try:
            if not self.implicit_add and not self._offsets_sent:
                await self._announce_offsets(standing.group_id)
            self._offsets_sent = True
            await self._commit_offsets(offsets, standing)
        except OttlaError as error:
            self.state.fail(error)
            raise

    async def end(self, *, commit: bool) -> None:
        """Commit or abort; all that was sent is written before a commit, what is not yet is dropped by an abort.

        Whoever is cancelled, or out of time, may call the same again: it goes on where the first call stopped.
        """
        if commit:
            await self._prepare_commit()
        else:
            await self._prepare_abort()
        try:
            if self._added or self._offsets_sent:
                await self._end(commit)
                self._added.clear()
                self._offsets_sent = False
            if self._gap and not self.implicit_add:
                await self._init_producer_id(self._sender.identity)
                self._gap = False
        except OttlaError as error:
            self.state.end_failed(error)
            raise
        self.state.turn(State.READY)

    async def _prepare_commit(self) -> None:
        state = self.state
        state.need(State.OPEN, State.FLUSHING, State.COMMITTING)
        if state.state is State.OPEN:
            self._sender.under_lock(lambda: state.turn(State.FLUSHING))
        if state.state is State.FLUSHING:
            await self._sender.flush()
            state.need(State.FLUSHING)
            state.turn(State.COMMITTING)

    async def _prepare_abort(self) -> None:
        state = self.state
        state.need(*ABORTABLE)
        if state.state is not State.ABORTING:
            self._sender.under_lock(lambda: state.turn(State.ABORTING))
        await self._drop()

    async def close(self) -> None:
        """Ask for nothing more."""
        await self._tasks.cancel()

    # --- what the sender asks

    def open_for(self, target: TopicPartition) -> bool:
        """Whether a batch for the partition may be sent now."""
        if self.state.state not in _WRITING:
            return False
        if target in self._added:
            return True
        if self.implicit_add:
            self._added.add(target)
            return True
        self._wanted.add(target)
        if not self._adding:
            self._adding = True
            self._tasks.spawn(self._announce_partitions())
        return False

    def may_retry(self) -> bool:
        """Whether a batch that failed may be sent again."""
        return self.state.state in _WRITING

    def failed(self, error: Exception) -> None:
        """A batch was given up: the transaction cannot commit, and its sequence has a gap."""
        self._gap = True
        self.state.fail(error)

    # --- the talk with the coordinator

    async def _init_producer_id(self, current: Identity) -> None:
        request = InitProducerIdRequest(
            transactional_id=self._id,
            transaction_timeout_ms=self._settings.transaction_timeout_ms,
            producer_id=current.producer_id,
            producer_epoch=current.epoch,
        )
        response = await self._ask(request)
        self._sender.identity = Identity(response.producer_id, response.producer_epoch)

    async def _announce_partitions(self) -> None:
        try:
            while self._wanted and self.state.state in _WRITING:
                wanted = frozenset(self._wanted)
                await self._add_partitions(wanted)
                self._added |= wanted
                self._wanted -= wanted
        except OttlaError as error:
            self.state.fail(error)
            self._sender.drop(error)
        finally:
            self._adding = False
            self._sender.wake()

    async def _add_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        producer_id, epoch = self._sender.identity
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=topic, partitions=numbers)
                for topic, numbers in by_topic(partitions).items()
            ],
        )
        await self._ask(request, max_version=_LAST_ADD_PARTITIONS_BY_CLIENT)

    async def _announce_offsets(self, group_id: str) -> None:
        producer_id, epoch = self._sender.identity
        await self._ask(
            AddOffsetsToTxnRequest(
                transactional_id=self._id,
                producer_id=producer_id,
                producer_epoch=epoch,
                group_id=group_id,
            )
        )

    async def _commit_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], standing: Standing
    ) -> None:
        producer_id, epoch = self._sender.identity
        request = TxnOffsetCommitRequest(
            transactional_id=self._id,
            group_id=standing.group_id,
            producer_id=producer_id,
            producer_epoch=epoch,
            generation_id=standing.generation,
            member_id=standing.member_id,
            group_instance_id=standing.instance_id,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[_offset(n, offsets[TopicPartition(topic, n)]) for n in numbers],
                )
                for topic, numbers in by_topic(offsets).items()
            ],
        )
        version = None if self.implicit_add else _LAST_OFFSET_COMMIT_V1
        await self._ask(request, key=standing.group_id, kind=GROUP, max_version=version)

    async def _end(self, commit: bool) -> None:
        producer_id, epoch = self._sender.identity
        request = EndTxnRequest(
            transactional_id=self._id,
            producer_id=producer_id,
            producer_epoch=epoch,
            committed=commit,
        )
        version = None if self.implicit_add else _LAST_END_V1
        response = await self._ask(request, max_version=version)
        if self.implicit_add and response.producer_id >= 0:
            self._sender.identity = Identity(response.producer_id, response.producer_epoch)

    async def _ask(
        self,
        request: Request,
        *,
        key: str | None = None,
        kind: int = TRANSACTION,
        max_version: int | None = None,
    ) -> Any:
        """The coordinator's answer, once it has no error in it; what may pass is waited for."""

        seen: OttlaError | None = None

        async def attempt() -> Any:
            nonlocal seen
            try:
                response = await self._cluster.ask_coordinator(
                    key or self._id, request, kind=kind, max_version=max_version
                )
                for code in _codes(response):
                    if code == ErrorCode.CONCURRENT_TRANSACTIONS:
                        await asyncio.sleep(_SOON_S)
                    if code:
                        raise api_error(code)
            except OttlaError as error:
                seen = error
                raise
            return response

        within_ms = self._settings.max_block_ms
        try:
            async with asyncio.timeout(within_ms / 1000):
                return await self._cluster.retried(attempt, timeout_ms=within_ms)
        except TimeoutError:
            raise RequestTimedOut(
                f"the coordinator of {key or self._id} did not do what it was asked within "
                f"max.block.ms={within_ms}; call the same again to go on"
                + (f" (last: {seen})" if seen is not None else "")
            ) from seen

    async def _drop(self) -> None:
        """Give up what was not sent, and wait for what was."""
        aborted = OttlaError("the transaction was aborted before the record was written")
        if self._sender.drop(aborted):
            self._gap = True
        await self._sender.flush()


def _codes(response: Any) -> Iterator[int]:
    yield from error_codes(response)
    if isinstance(response, AddPartitionsToTxnResponse):
        codes = [
            each.partition_error_code
            for topic in response.results_by_topic_v3_and_below
            for each in topic.results_by_partition
        ]
        # Where one partition is refused the others are not even tried: the refusal is what matters.
        yield from sorted(codes, key=lambda code: code == ErrorCode.OPERATION_NOT_ATTEMPTED)


def _offset(partition: int, offset: OffsetAndMetadata) -> TxnOffsetCommitRequestPartition:
    return TxnOffsetCommitRequestPartition(
        partition_index=partition,
        committed_offset=offset.offset,
        committed_leader_epoch=offset.leader_epoch,
        committed_metadata=offset.metadata,
    )
