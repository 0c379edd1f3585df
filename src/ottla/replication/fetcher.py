"""Pulls from one leader for all partitions that follow it: one connection, one fetch at a time."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Final
from uuid import UUID

from ottla.base.errors import ApiError, CorruptLog, OttlaError, ProtocolError, StorageError
from ottla.base.log import logger
from ottla.base.tasks import note_failure
from ottla.client.connection import Connection
from ottla.client.errors import ClientError
from ottla.client.retry import Backoff
from ottla.cluster.peers import Peers
from ottla.config.live import LiveSettings
from ottla.protocol.apis.fetch import FetchRequest, FetchResponse, PartitionData, ReplicaState
from ottla.protocol.apis.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import crc_of, iter_headers
from ottla.replication import metrics
from ottla.replication.follower_session import End, FollowerSession, Key, Wanted
from ottla.replication.partition import Partition
from ottla.replication.throttle import Throttle, is_listed
from ottla.storage.logs import Logs

log = logger(__name__)

LOOP: Final = "fetcher"
_EARLIEST: Final = -2
_RECONNECT_MS: Final = 20
_SLOWEST_RECONNECT_MS: Final = 1000
_SESSION_ERRORS: Final = frozenset(
    (
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    )
)
# One of us has not seen the newest metadata yet; while we wait, writes with acks=all wait.
_SOON_OVER: Final = frozenset(
    (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )
)
_SOON_MS: Final = 20
_LOOK_AT_ALL_S: Final = 0.5
# Whoever lifts a throttle does not wait for what is owed under it.
_LONGEST_REST_MS: Final = 200


class Fetcher:
    """Follows one leader; a partition is followed from `follow` to `forget`."""

    def __init__(
        self,
        leader_id: int,
        peers: Peers,
        logs: Logs,
        settings: LiveSettings,
        throttle: Throttle,
        now_ms: Callable[[], int],
        before_fetch: Callable[[], None] = lambda: None,
    ) -> None:
        self._leader_id = leader_id
        self._before_fetch = before_fetch
        self._is_retired = False
        # True while a fetch is on its way: the leader may hold it for `replica.fetch.wait.max.ms`.
        self.is_waiting = False
        self._peers = peers
        self._logs = logs
        self._settings = settings
        self._throttle = throttle
        self._now_ms = now_ms
        self._followed: dict[Key, Partition] = {}
        # Partitions that failed or are held back, and when to try again: by the loop's clock.
        self._resting: dict[Key, float] = {}
        # What may have to be told of since the last fetch; now and then everything may.
        self._touched: set[Key] = set()
        self._looked_at_all = -math.inf
        self._session = FollowerSession()
        self._something = asyncio.Event()
        self._connection: Connection | None = None

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing left to follow."""
        return not self._followed

    def follow(self, partition: Partition) -> None:
        """Fetch this one from now on."""
        key = _key(partition)
        self._resting.pop(key, None)
        self._followed[key] = partition
        self._touched.add(key)
        self._something.set()

    def forget(self, partition: Partition) -> None:
        """Fetch this one no more; what is on its way is not appended."""
        key = _key(partition)
        self._followed.pop(key, None)
        self._resting.pop(key, None)
        self._touched.add(key)

    def retire(self, successor: Fetcher) -> list[Partition]:
        """Give all partitions to another fetcher of the same leader, and end; return those partitions."""
        given = list(self._followed.values())
        for partition in given:
            self.forget(partition)
            successor.follow(partition)
        self._is_retired = True
        self._something.set()
        return given

    async def run(self) -> None:
        """Fetch until retired; a leader that cannot be reached is tried again and again."""
        backoff = Backoff(_RECONNECT_MS, _SLOWEST_RECONNECT_MS)
        while not self._is_retired:
            await self._something.wait()
            try:
                self._connection = await self._peers.open(self._leader_id)
                self._session.begin_anew()
                backoff.reset()
                await self._fetch_on(self._connection)
            except (ClientError, ApiError) as failure:
                log.info("leader not reached", leader=self._leader_id, reason=str(failure))
            finally:
                if self._connection is not None:
                    await self._connection.close()
                    self._connection = None
            await asyncio.sleep(backoff.next_ms() / 1000)

    async def _fetch_on(self, connection: Connection) -> None:
        while not self._is_retired:
            self._before_fetch()
            wanted = self._wanted()
            if len(self._resting) == len(self._followed):
                self._something.clear()
                await self._rest()
                continue
            config = self._settings.now.replication
            self._touched.clear()
            topics, forgotten = self._session.next(wanted)
            request = FetchRequest(
                replica_state=ReplicaState(
                    replica_id=self._peers.membership.broker_id,
                    replica_epoch=self._peers.membership.broker_epoch,
                ),
                max_wait_ms=config.replica_fetch_wait_max_ms,
                min_bytes=config.replica_fetch_min_bytes,
                max_bytes=config.replica_fetch_response_max_bytes,
                session_id=self._session.id,
                session_epoch=self._session.epoch,
                topics=topics,
                forgotten_topics_data=forgotten,
            )
            timeout_ms = config.replica_socket_timeout_ms
            self.is_waiting = True
            try:
                response = await connection.ask(request, timeout_ms=timeout_ms)
            finally:
                self.is_waiting = False
            await self._take(connection, response)

    def _wanted(self) -> dict[Key, Wanted | None]:
        """What is wanted of partitions of which that may have changed; None of those that are not fetched now."""
        now = asyncio.get_running_loop().time()
        if self._resting:
            rested = [key for key, until in self._resting.items() if until <= now]
            for key in rested:
                del self._resting[key]
            self._touched.update(rested)
        if self._session.knows_nothing or now - self._looked_at_all >= _LOOK_AT_ALL_S:
            self._looked_at_all = now
            self._touched.update(self._followed)
        return {key: self._wanted_of(key) for key in self._touched}

    def _wanted_of(self, key: Key) -> Wanted | None:
        partition = self._followed.get(key)
        if partition is None or key in self._resting or self._is_held_back(key, partition):
            return None
        max_bytes = self._settings.now.replication.replica_fetch_max_bytes
        return Wanted(*_end(partition), partition.log.start_offset, max_bytes)

    def _is_held_back(self, key: Key, partition: Partition) -> bool:
        """Whether a replica that catches up has to wait (KIP-73); one that is in sync never has."""
        if not self._is_throttled(partition):
            return False
        rate = self._settings.now.replication.follower_replication_throttled_rate
        wait_ms = self._throttle.wait_ms(rate, self._now_ms())
        if wait_ms:
            rest_ms = min(wait_ms, _LONGEST_REST_MS)
            self._resting[key] = asyncio.get_running_loop().time() + rest_ms / 1000
        return wait_ms > 0

    def _is_throttled(self, partition: Partition) -> bool:
        me = self._peers.membership.broker_id
        replicas = partition.log.config.follower_replication_throttled_replicas
        return is_listed(replicas, partition.tp.partition, me) and me not in partition.placed.isr

    async def _rest(self) -> None:
        """Wait for something to follow, or for the end of the first pause."""
        first = min(self._resting.values(), default=None)
        loop = asyncio.get_running_loop()
        timeout = None if first is None else max(0.0, first - loop.time())
        try:
            async with asyncio.timeout(timeout):
                await self._something.wait()
        except TimeoutError:
            self._something.set()

    async def _take(self, connection: Connection, response: FetchResponse) -> None:
        if response.error_code in _SESSION_ERRORS:
            self._session.begin_anew()
            return
        if response.error_code:
            raise ApiError(response.error_code, "the leader refused the fetch")
        asked = self._session.told
        self._session.answered(response.session_id)
        unsynced: list[Partition] = []
        for topic in response.responses:
            for data in topic.partitions:
                key = topic.topic_id, data.partition_index
                self._touched.add(key)
                partition, wanted = self._followed.get(key), asked.get(key)
                if partition is None or wanted is None or not self._awaits(partition, wanted.end):
                    continue
                try:
                    await self._take_one(connection, partition, topic.topic_id, data)
                except (StorageError, ProtocolError, ApiError) as failure:
                    self._pause(partition, str(failure), failure)
                except ClientError:
                    raise
                except Exception as failure:
                    # A flaw that one partition brings to light must not keep all others from being followed.
                    note_failure(LOOP)
                    self._pause(partition, repr(failure))
                else:
                    if partition.syncs_every_batch and data.records:
                        unsynced.append(partition)
        await self._sync(unsynced)

    async def _sync(self, partitions: list[Partition]) -> None:
        """What we say in the next fetch that we hold, we must hold: on the disk, where that is asked for.

        A partition whose log cannot be synced, since it is gone or its disk fails, is not fetched for a while.
        """
        for partition in partitions:
            try:
                await self._logs.flusher.synced(partition.log, partition.log.end_offset)
            except StorageError as failure:
                self._pause(partition, str(failure))

    def _awaits(self, partition: Partition, end: End) -> bool:
        """Whether an answer to what was asked of a replica that ended there is still for it.

        It may have moved meanwhile, perhaps away and back: then its log is another, though the key is the same.
        """
        is_followed = self._followed.get(_key(partition)) is partition and not partition.is_leader
        return is_followed and _end(partition) == end

    async def _take_one(
        self, connection: Connection, partition: Partition, topic_id: UUID, data: PartitionData
    ) -> None:
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            await self._begin_at_the_leaders_start(connection, partition)
        elif data.error_code:
            raise ApiError(data.error_code, ErrorCode(data.error_code).message)
        elif data.diverging_epoch is not None and data.diverging_epoch.epoch >= 0:
            diverging = data.diverging_epoch
            partition.truncate(diverging.epoch, diverging.end_offset, self._now_ms())
        else:
            if data.records:
                self._append(partition, memoryview(data.records))
            partition.follow(data.high_watermark, data.log_start_offset)

    def _append(self, partition: Partition, records: memoryview) -> None:
        for pos, header in iter_headers(records):
            if crc_of(records, pos, header.size_bytes) != header.crc:
                raise CorruptLog(f"{partition.tp}: the leader sent a damaged batch")
        partition.append_fetched(records, self._now_ms())
        metrics.REPLICATED_BYTES.value += len(records)
        if self._is_throttled(partition):
            rate = self._settings.now.replication.follower_replication_throttled_rate
            self._throttle.passed(len(records), rate, self._now_ms())

    async def _begin_at_the_leaders_start(
        self, connection: Connection, partition: Partition
    ) -> None:
        """All that we hold lies before the leader's first record, or behind its last: begin where it begins."""
        tp, end = partition.tp, _end(partition)
        asked = ListOffsetsPartition(
            partition_index=tp.partition,
            current_leader_epoch=partition.leader_epoch,
            timestamp=_EARLIEST,
        )
        topic = ListOffsetsTopic(name=tp.topic, partitions=[asked])
        timeout_ms = self._settings.now.replication.replica_socket_timeout_ms
        answer = await connection.ask(ListOffsetsRequest(topics=[topic]), timeout_ms=timeout_ms)
        [found] = answer.topics[0].partitions
        if found.error_code:
            raise ApiError(found.error_code, "the leader did not say where its log begins")
        if self._awaits(partition, end):
            log.warning("replica begins anew", partition=tp, offset=found.offset)
            partition.log.reset_to(found.offset, self._now_ms())

    def _pause(self, partition: Partition, reason: str, failure: OttlaError | None = None) -> None:
        log.info("replica not fetched", partition=partition.tp, reason=reason)
        pause_ms = self._settings.now.replication.replica_fetch_backoff_ms
        if isinstance(failure, ApiError) and failure.code in _SOON_OVER:
            pause_ms = min(pause_ms, _SOON_MS)
        loop = asyncio.get_running_loop()
        key = _key(partition)
        if self._followed.get(key) is not partition:
            return  # forgotten while it was waited for
        self._resting[key] = loop.time() + pause_ms / 1000
        self._touched.add(key)


def _end(partition: Partition) -> End:
    log = partition.log
    last_epoch = log.epochs.epoch_of(log.end_offset - 1) if log.end_offset else -1
    return partition.leader_epoch, log.end_offset, last_epoch


def _key(partition: Partition) -> Key:
    return partition.topic_id, partition.tp.partition
