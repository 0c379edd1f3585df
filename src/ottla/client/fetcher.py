"""Fetches what the positions want, from each leader one request at a time, ahead of whoever reads."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from ottla.base.errors import OttlaError, ProtocolError
from ottla.base.ids import TopicPartition
from ottla.base.tasks import Tasks
from ottla.client.cluster import Cluster
from ottla.client.consumer_record import ConsumerRecord, Deserializers
from ottla.client.consumer_settings import READ_COMMITTED, ConsumerSettings, reset_timestamp
from ottla.client.errors import UnreadableRecord, api_error, error_code, is_retriable
from ottla.client.fetched import Fetched
from ottla.client.positions import NOBODY, EpochEnd, Position, Positions
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from ottla.protocol.errors import ErrorCode

LAST_BY_NAME: Final = 12
_NO_SESSION: Final = -1


class Fetcher:
    """Keeps what is assigned fetched; `collect` takes records out, `news` is set when there may be more.

    It has connections of its own: a fetch may wait at the broker, and nothing else should wait with it.
    """

    def __init__(
        self,
        cluster: Cluster,
        settings: ConsumerSettings,
        positions: Positions,
        deserializers: Deserializers,
        news: asyncio.Event,
    ) -> None:
        self.news = news
        self.wants_more = False
        self._metadata = cluster
        self._cluster = Cluster(settings)
        self._settings = settings
        self._positions = positions
        self._deserializers = deserializers
        self._committed_only = settings.isolation_level == READ_COMMITTED
        self._loop = asyncio.get_running_loop()
        self._tasks = Tasks()
        self._busy: set[int] = set()
        self._refreshing = False
        self._failure: Exception | None = None

    async def close(self) -> None:
        """Stop fetching."""
        await self._tasks.cancel()
        await self._cluster.close()

    # --- records out

    def collect(self, most: int) -> list[ConsumerRecord]:
        """Up to `most` records, from as few partitions as have them; what to fetch next is asked for."""
        found = self.take(most)
        self.pump()
        return found

    def take(self, most: int) -> list[ConsumerRecord]:
        """The same without asking for more: a thread may do this while the loop's own fetches.

        The loop's thread only adds to what was fetched; all that moves a position happens while that
        other thread waits for it.
        """
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if (stuck := self._positions.failure()) is not None:
            # The same until the program seeks: what cannot be read is neither passed over nor forgotten.
            raise stuck.with_traceback(None)
        found: list[ConsumerRecord] = []
        for partition, position in self._positions.items():
            if len(found) >= most:
                break
            if not position.paused and not position.revoking:
                self._collect_from(partition, position, found, most)
        return found

    def _collect_from(
        self, partition: TopicPartition, position: Position, found: list[ConsumerRecord], most: int
    ) -> None:
        while len(found) < most:
            if position.ready_at < len(position.ready):
                begin = position.ready_at
                part = position.ready[begin : begin + most - len(found)]
                position.ready_at += len(part)
                found += part
                at_end = position.ready_at == len(position.ready)
                position.offset = position.ready_end if at_end else part[-1].offset + 1
                position.epoch = position.ready_epoch
                if at_end:
                    position.failure = position.ready_failure
                self._positions.served(partition)
            elif position.failure is not None:
                if not found:
                    raise position.failure.with_traceback(None)
                return
            elif position.fetched and position.offset is not None:
                self._decode_next(position, position.offset)
            else:
                return

    def _decode_next(self, position: Position, offset: int) -> None:
        fetched = position.fetched[0]
        taken = fetched.take(offset, self._deserializers, self._settings.check_crcs)
        position.ready, position.ready_at, position.ready_end = taken.records, 0, taken.end_offset
        position.ready_epoch, position.ready_failure = taken.epoch, taken.failure
        if not taken.records:
            position.offset, position.epoch = taken.end_offset, taken.epoch
            position.failure = taken.failure
        if not fetched:
            # Only now: a partition without anything fetched or ready may be reset by the loop's thread.
            position.fetched.popleft()
            self.wants_more = True

    # --- requests

    def pump(self) -> None:
        """Ask each leader that is not being asked for what its partitions want."""
        self.wants_more = False
        # A microsecond more: a timer that is due may otherwise find that it is a little early, again and again.
        now_ms = self._loop.time() * 1000 + 0.001
        wanted: dict[int, list[tuple[TopicPartition, Position]]] = {}
        later_ms: float | None = None
        for partition, position in self._positions.items():
            if not position.wants_more():
                continue
            if position.not_before_ms > now_ms:
                later_ms = min(later_ms or position.not_before_ms, position.not_before_ms)
                continue
            node = self._node_for(partition, position, now_ms)
            if node is None:
                self.refresh()
            elif node not in self._busy:
                wanted.setdefault(node, []).append((partition, position))
        for leader, partitions in wanted.items():
            self._busy.add(leader)
            self._tasks.spawn(self._fetch(leader, partitions))
        if later_ms is not None:
            self._loop.call_at(later_ms / 1000, self.pump)

    def _node_for(self, partition: TopicPartition, position: Position, now_ms: float) -> int | None:
        """Whom to ask: the replica that the leader recommended to this rack (KIP-392), else the leader."""
        view = self._metadata.view
        node, until_ms = position.preferred
        if node in view.brokers and now_ms < until_ms:
            return node
        found = view.partition(*partition)
        return found.leader if found is not None and found.leader in view.brokers else None

    async def _fetch(self, leader: int, wanted: list[tuple[TopicPartition, Position]]) -> None:
        asked = {partition: (position, position.fetch_offset) for partition, position in wanted}
        try:
            self._cluster.view = self._metadata.view
            connection = await self._cluster.connection(leader)
            wait_ms = self._settings.fetch_max_wait_ms
            response: FetchResponse = await connection.ask(
                self._request(asked),
                version=min(connection.version_of(ApiKey.FETCH), LAST_BY_NAME),
                timeout_ms=self._settings.request_timeout_ms + wait_ms,
            )
            self._arrived(asked, response)
        except OttlaError as error:
            if not is_retriable(error):
                self._failure = error
            self._wait_a_little(asked)
            self.refresh()
        finally:
            self._busy.discard(leader)
        self.news.set()
        self.pump()

    def _request(self, asked: dict[TopicPartition, tuple[Position, int]]) -> FetchRequest:
        settings = self._settings
        topics: dict[str, list[FetchPartition]] = {}
        for partition, (position, offset) in asked.items():
            known = self._metadata.view.partition(*partition)
            wanted = FetchPartition(
                partition=partition.partition,
                current_leader_epoch=-1 if known is None else known.leader_epoch,
                fetch_offset=offset,
                last_fetched_epoch=position.last_epoch,
                log_start_offset=-1,
                partition_max_bytes=settings.max_partition_fetch_bytes,
            )
            topics.setdefault(partition.topic, []).append(wanted)
        return FetchRequest(
            max_wait_ms=settings.fetch_max_wait_ms,
            min_bytes=settings.fetch_min_bytes,
            max_bytes=settings.fetch_max_bytes,
            isolation_level=int(self._committed_only),
            session_epoch=_NO_SESSION,
            topics=[FetchTopic(topic=name, partitions=parts) for name, parts in topics.items()],
            rack_id=settings.client_rack or "",
        )

    def _arrived(
        self, asked: dict[TopicPartition, tuple[Position, int]], response: FetchResponse
    ) -> None:
        if response.error_code:
            raise api_error(response.error_code)
        for topic in response.responses:
            for data in topic.partitions:
                partition = TopicPartition(topic.topic, data.partition_index)
                position, offset = asked[partition]
                # Revoked, or taken away and given back: what was asked for is nobody's business any more.
                if self._positions.get(partition) is position:
                    self._take_in(partition, position, offset, data)

    def _take_in(
        self, partition: TopicPartition, position: Position, offset: int, data: PartitionData
    ) -> None:
        if data.error_code:
            self._refused(partition, position, offset, data.error_code)
            return
        if data.diverging_epoch is not None and data.diverging_epoch.end_offset >= 0:
            if position.offset is not None and position.fetch_offset == offset:
                end = EpochEnd(data.diverging_epoch.epoch, data.diverging_epoch.end_offset)
                position.diverged = end
            return
        if data.preferred_read_replica >= 0:
            until_ms = self._loop.time() * 1000 + self._settings.metadata_max_age_ms
            position.preferred = (data.preferred_read_replica, until_ms)
            return
        aborted = None
        if self._committed_only:
            aborted = [(a.producer_id, a.first_offset) for a in data.aborted_transactions or ()]
        try:
            fetched = Fetched(partition, data.records or b"", offset, aborted)
        except ProtocolError as error:
            if position.fetch_offset != offset:
                return  # it has moved since
            if position.has_unread():
                self._ask_later(position)
            else:
                position.failure = UnreadableRecord(
                    f"what the leader of {partition} sent for offset {offset} cannot be read: {error}",
                    partition,
                    offset,
                    offset + 1,
                )
            return
        if position.arrived(offset, fetched):
            position.high_watermark = data.high_watermark
            position.stable_offset = data.last_stable_offset
            position.log_start_offset = data.log_start_offset

    def _refused(
        self, partition: TopicPartition, position: Position, offset: int, code: int
    ) -> None:
        position.preferred = NOBODY
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range(partition, position, offset)
        elif error_code(code).retriable:
            self._ask_later(position)
            self.refresh()
        else:
            self._failure = api_error(code, f"{partition}: {error_code(code).message}")

    def _out_of_range(self, partition: TopicPartition, position: Position, offset: int) -> None:
        if position.fetch_offset != offset:
            return  # it has moved since
        if position.has_unread():
            self._ask_later(position)
            return
        reset = reset_timestamp(self._settings.auto_offset_reset, int(time.time() * 1000))
        if reset is not None:
            position.ask_reset(reset)
        else:
            position.failure = api_error(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{partition} has no offset {offset} any more, or not yet, and auto.offset.reset "
                "is none; seek to another",
            )

    def _ask_later(self, position: Position) -> None:
        """Ask once more in a while; what was fetched before is read first."""
        position.not_before_ms = self._loop.time() * 1000 + self._settings.retry_backoff_ms

    def _wait_a_little(self, asked: dict[TopicPartition, tuple[Position, int]]) -> None:
        not_before_ms = self._loop.time() * 1000 + self._settings.retry_backoff_ms
        for position, _ in asked.values():
            position.not_before_ms = not_before_ms
            position.preferred = NOBODY

    # --- metadata

    def refresh(self) -> None:
        """Ask again who leads what is assigned."""
        if not self._refreshing:
            self._refreshing = True
            self._tasks.spawn(self._refresh())

    async def _refresh(self) -> None:
        backoff = self._metadata.backoff()
        try:
            while True:
                try:
                    view = await self._metadata.refresh({each.topic for each in self._positions})
                    known = (view.partition(*each) for each in self._positions)
                    if all(each is not None and each.leader in view.brokers for each in known):
                        return
                except OttlaError as error:
                    if not is_retriable(error):
                        self._failure = error
                        return
                await asyncio.sleep(backoff.next_ms() / 1000)
        finally:
            self._refreshing = False
            self.news.set()
            self.pump()
