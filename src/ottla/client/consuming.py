"""What both faces of the consumer share: a subscription, its positions, and the fetcher behind them."""

from __future__ import annotations

import asyncio
import inspect
import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from ottla.base.errors import ApiError, OttlaError
from ottla.base.ids import TopicPartition
from ottla.base.tasks import Tasks
from ottla.client.administration.offsets import Offsets
from ottla.client.classic_membership import ClassicMembership
from ottla.client.cluster import Cluster
from ottla.client.commits import Commits
from ottla.client.consumer_membership import ConsumerMembership
from ottla.client.consumer_record import ConsumerRecord, Deserializers
from ottla.client.consumer_settings import (
    CLASSIC,
    LATEST,
    READ_COMMITTED,
    ConsumerSettings,
    check_consumer,
    reset_timestamp,
)
from ottla.client.errors import RequestTimedOut, api_error, is_retriable
from ottla.client.fetcher import Fetcher
from ottla.client.membership import Membership, Standing
from ottla.client.positions import OffsetAndMetadata, Position, Positions, as_committed
from ottla.client.retry import Deadline
from ottla.client.serializers import deserializer
from ottla.client.settings import AdminSettings, named_settings, read_settings, rows_of
from ottla.client.topic_watch import TopicWatch
from ottla.protocol.errors import ErrorCode

_KEY_DESERIALIZER: Final = "key.deserializer"
_VALUE_DESERIALIZER: Final = "value.deserializer"
_LONGEST_WAIT_S: Final = 0.5

Listener: TypeAlias = Callable[[list[TopicPartition]], Any]
Committed: TypeAlias = Callable[
    [Mapping[TopicPartition, OffsetAndMetadata], "Exception | None"], Any
]


class Listeners(NamedTuple):
    """Whom to tell of partitions that come and go; each may be a coroutine function."""

    on_assigned: Listener | None = None
    on_revoked: Listener | None = None
    on_lost: Listener | None = None


class OffsetAndTimestamp(NamedTuple):
    """The first offset at or after a time, and the time of the record there."""

    offset: int
    timestamp: int
    leader_epoch: int = -1


async def call(listener: Listener, partitions: list[TopicPartition]) -> None:
    """Tell a listener, in the thread of the loop."""
    told = listener(partitions)
    if inspect.isawaitable(told):
        await told


class Consuming:
    """A consumer without a face; everything runs in the thread of the loop."""

    def __init__(self, settings: Mapping[str, Any] | None, named: Mapping[str, Any]) -> None:
        given = named_settings(settings, named)
        self._deserializers = Deserializers(
            deserializer(given.pop(_KEY_DESERIALIZER, None), _KEY_DESERIALIZER),
            deserializer(given.pop(_VALUE_DESERIALIZER, None), _VALUE_DESERIALIZER),
        )
        self.settings = check_consumer(read_settings(ConsumerSettings, given))
        self.positions = Positions()
        self.unread: list[
            ConsumerRecord
        ] = []  # fetched for whoever reads, and not given out; the next one is at the end
        self.call: Callable[[Listener, list[TopicPartition]], Any] = call
        common = rows_of(AdminSettings)
        self._offsets = Offsets({name: value for name, value in given.items() if name in common})
        self._cluster = self._offsets.cluster
        # Joining a group may take minutes, and answers come in order: it has connections of its own.
        self._group_cluster = Cluster(self.settings)
        self._commits = Commits(self._group_cluster)
        self._listeners = Listeners()
        self._membership: Membership | None = None
        self._watch: TopicWatch | None = None
        self._finding: asyncio.Task[None] | None = None
        self._running: _Running | None = None
        self._committed_at = time.monotonic()
        self._closed = False

    def _run(self) -> _Running:
        if self._closed:
            raise OttlaError("the consumer is closed")
        if self._running is None:
            self._running = _Running(
                self._cluster, self.settings, self.positions, self._deserializers
            )
        return self._running

    # --- what to read

    async def subscribe(
        self, topics: Iterable[str] | re.Pattern[str], listeners: Listeners
    ) -> None:
        """Share the partitions of these topics with the group."""
        group_id = self.settings.group_id
        if group_id is None:
            raise OttlaError("to subscribe, set group.id; or assign partitions without a group")
        if isinstance(topics, str):
            topics = [topics]
        await self.unsubscribe()
        running = self._run()
        self._listeners = listeners
        self._watch = TopicWatch(self._cluster, self.settings, topics)
        self._membership = self._member(group_id, self._watch, running.news)

    def _member(self, group_id: str, watch: TopicWatch, news: asyncio.Event) -> Membership:
        kind: type[ClassicMembership | ConsumerMembership] = ClassicMembership
        if self.settings.group_protocol != CLASSIC:
            kind = ConsumerMembership
        return kind(group_id, self._group_cluster, self.settings, self, watch, news)

    async def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these, outside of any group's sharing."""
        if self._membership is not None:
            raise OttlaError("the consumer is subscribed; unsubscribe before you assign partitions")
        await self._auto_commit_now()
        self._run()
        self.positions.assign(TopicPartition(*each) for each in partitions)

    async def unsubscribe(self) -> None:
        """Leave the group, and read nothing."""
        await self._auto_commit_now()
        if self._membership is not None:
            owned = self.owned()
            if owned:
                await self.revoke(owned, commit=False)
            await self._membership.close()
        if self._watch is not None:
            await self._watch.close()
        self._membership = self._watch = None
        self.positions.assign(())
        self.unread = []

    # --- what the membership asks

    def owned(self) -> frozenset[TopicPartition]:
        """What is assigned."""
        return frozenset(self.positions)

    async def revoke(self, partitions: Iterable[TopicPartition], *, commit: bool = True) -> None:
        """Commit if that is automatic, tell the listener, and read these no more."""
        going = sorted(partitions)
        if commit:
            await self._auto_commit_now()
        for each in going:
            self.positions[each].revoking = True
        if self._listeners.on_revoked is not None:
            await self.call(self._listeners.on_revoked, going)
        self._let_go(going)

    async def lose(self, partitions: Iterable[TopicPartition]) -> None:
        """Somebody else may have these by now: no commit, and the listener hears of it."""
        gone = sorted(partitions)
        self._let_go(gone)
        listener = self._listeners.on_lost or self._listeners.on_revoked
        if listener is not None and gone:
            await self.call(listener, gone)

    async def take(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these as well, and tell the listener."""
        coming = sorted(partitions)
        self.positions.assign([*self.positions, *coming])
        if self._listeners.on_assigned is not None:
            await self.call(self._listeners.on_assigned, coming)

    def _let_go(self, partitions: Iterable[TopicPartition]) -> None:
        gone = frozenset(partitions)
        self.positions.assign([each for each in self.positions if each not in gone])
        self._skip_unread(gone)

    # --- reading

    async def fill(self, timeout_ms: float, most: int) -> None:
        """Have unread records, at most so many, if some come in time; the group is served here, too."""
        running = self._run()
        if self._membership is None and not self.owned():
            raise OttlaError("nothing to read: subscribe to topics or assign partitions first")
        self._commit_sometimes(running)
        deadline = Deadline(timeout_ms)
        while True:
            running.news.clear()
            if self._membership is not None:
                await self._membership.step(time.monotonic() * 1000)
            self._find_positions(running)
            if not self.unread:
                self.unread = running.fetcher.collect(most)
                self.unread.reverse()
            left_s = deadline.left_ms() / 1000
            if self.unread or left_s <= 0:
                return
            try:
                async with asyncio.timeout(min(left_s, _LONGEST_WAIT_S)):
                    await running.news.wait()
            except TimeoutError:
                pass

    def give_out(self, most: int) -> list[ConsumerRecord]:
        """Unread records, which thereby count as consumed."""
        found = self.unread[-most:]
        del self.unread[-most:]
        found.reverse()
        return found

    def _find_positions(self, running: _Running) -> None:
        """Begin to look positions up where there are none; raises what an earlier look met."""
        finding = self._finding
        if finding is not None and finding.done():
            self._finding = None
            error = finding.exception()
            if error is not None and not is_retriable(error):
                raise error
        if self._finding is None and (self.positions.lost() or self.positions.to_reset()):
            loop = asyncio.get_running_loop()
            self._finding = loop.create_task(self._find())
            self._finding.add_done_callback(lambda _: running.news.set())

    async def _find(self) -> None:
        lost = [(each, self.positions[each]) for each in self.positions.lost()]
        group_id = self.settings.group_id
        if lost and group_id is not None:
            stored = await self._read_committed(each for each, _ in lost)
            for partition, position in lost:
                found = stored.get(partition)
                if found is not None and position.offset is None and position.reset is None:
                    position.seek(found.offset, found.leader_epoch)
        for partition, position in lost:
            if position.offset is None and position.reset is None:
                position.ask_reset(self._reset_of(partition))
        await self._reset()

    def _reset_of(self, partition: TopicPartition) -> int:
        timestamp = reset_timestamp(self.settings.auto_offset_reset, int(time.time() * 1000))
        if timestamp is None:
            raise api_error(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{partition} has no committed offset, and auto.offset.reset is none; seek to one",
            )
        return timestamp

    async def _reset(self) -> None:
        wanted = self.positions.to_reset()
        if not wanted:
            return
        asked = {each: self.positions[each] for each in wanted}
        found = await self._offsets.list_offsets(wanted, read_committed=self._committed_only)
        later: dict[TopicPartition, Position] = {}
        for partition, position in asked.items():
            answer = found[partition]
            if position.reset != wanted[partition]:
                continue
            if isinstance(answer, ApiError):
                raise answer
            if answer.offset < 0:
                later[partition] = position  # no record is that young: begin at the end
            else:
                position.seek(answer.offset, answer.leader_epoch)
        for position in later.values():
            position.ask_reset(LATEST)
        if later:
            await self._reset()

    @property
    def _committed_only(self) -> bool:
        return self.settings.isolation_level == READ_COMMITTED

    async def position(self, partition: TopicPartition) -> int:
        """The offset of the next record that will be read; waits until it is known."""
        running = self._run()
        deadline = Deadline(self.settings.default_api_timeout_ms)
        position = self.positions[partition]
        while position.offset is None:
            self._find_positions(running)
            if self._finding is not None:
                await asyncio.wait([self._finding], timeout=deadline.left_ms() / 1000)
            if not deadline.left_ms():
                raise RequestTimedOut(f"the position in {partition} could not be found in time")
        return self.positions.consumed(self.unread)[partition].offset

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on from an offset."""
        if offset < 0:
            raise OttlaError(f"offset {offset} is negative; to seek to an end there are methods")
        self.positions[partition].seek(offset)
        self._skip_unread([partition])

    def seek_by(self, timestamp: int, partitions: Iterable[TopicPartition]) -> None:
        """Go on from where a timestamp, EARLIEST or LATEST points to, when it is next needed."""
        chosen = list(partitions) or list(self.positions)
        for each in chosen:
            self.positions[each].ask_reset(timestamp)
        self._skip_unread(chosen)

    def pause(self, partitions: Iterable[TopicPartition], paused: bool) -> None:
        """Return nothing of these partitions, or something again."""
        chosen = frozenset(partitions)
        unread = self.positions.consumed(self.unread)
        for each in chosen:
            position = self.positions[each]
            position.paused = paused
            if paused and position.offset is not None and unread[each].offset < position.offset:
                # What was taken out and not given out is fetched again when the pause is over.
                position.seek(unread[each].offset)
        if paused:
            self._skip_unread(chosen)
        if self._running is not None:
            self._running.news.set()

    def paused(self) -> frozenset[TopicPartition]:
        """The partitions that are paused."""
        return frozenset(each for each, position in self.positions.items() if position.paused)

    def lag(self, partition: TopicPartition) -> int | None:
        """How many records lie between the position and the end, as far as is known."""
        position = self.positions[partition]
        end = position.stable_offset if self._committed_only else position.high_watermark
        if position.offset is None or end is None:
            return None
        return max(0, end - self.positions.consumed(self.unread)[partition].offset)

    def _skip_unread(self, partitions: Iterable[TopicPartition]) -> None:
        gone = frozenset(partitions)
        self.unread = [
            record
            for record in self.unread
            if TopicPartition(record.topic, record.partition) not in gone
        ]

    # --- committing

    def standing(self) -> Standing:
        """Who this consumer is in its group."""
        if self.settings.group_id is None:
            raise OttlaError("committed offsets belong to a group; set group.id")
        if self._membership is not None:
            return self._membership.standing()
        return Standing(self.settings.group_id)

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None
    ) -> None:
        """Commit these offsets, or how far everything was read."""
        self._run()
        await self._commit(self.to_commit(offsets))

    async def _commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        deadline = Deadline(self.settings.default_api_timeout_ms)
        while True:
            try:
                await self._commits.commit(offsets, self.standing())
                return
            except ApiError as error:
                # The next heartbeat brings the epoch that the coordinator expects (KIP-848).
                stale = error.code == ErrorCode.STALE_MEMBER_EPOCH
                if not stale or not await deadline.sleep(self.settings.retry_backoff_ms):
                    raise

    def commit_soon(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None,
        on_commit: Committed | None,
    ) -> None:
        """Commit without waiting; `on_commit` hears how it went."""
        self._run().tasks.spawn(self._commit_and_tell(self.to_commit(offsets), on_commit))

    async def _commit_and_tell(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], on_commit: Committed | None
    ) -> None:
        error: Exception | None = None
        try:
            await self._commit(offsets)
        except OttlaError as failure:
            error = failure
        if on_commit is not None:
            told = on_commit(offsets, error)
            if inspect.isawaitable(told):
                await told

    def to_commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Offsets as given, or how far everything was read."""
        if offsets is None:
            return self.positions.consumed(self.unread)
        return {TopicPartition(*each): as_committed(given) for each, given in offsets.items()}

    def _commit_sometimes(self, running: _Running) -> None:
        now = time.monotonic()
        due = now - self._committed_at >= self.settings.auto_commit_interval_ms / 1000
        if self.settings.enable_auto_commit and due:
            self._committed_at = now
            running.tasks.spawn(self._commit_and_tell(self.to_commit(None), None))

    async def _auto_commit_now(self) -> None:
        if self.settings.enable_auto_commit and self._running is not None:
            # A failure here means that the records will be read again, by whoever gets the partition.
            await self._commit_and_tell(self.to_commit(None), None)

    async def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed."""
        self._run()
        return await self._read_committed(TopicPartition(*each) for each in partitions)

    async def _read_committed(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        wanted, standing = list(partitions), self.standing()
        return await self._group_cluster.retried(lambda: self._commits.committed(wanted, standing))

    # --- offsets

    async def offsets_at(
        self, wanted: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first offset at or after a time in ms, EARLIEST or LATEST."""
        self._run()
        asked = {TopicPartition(*each): timestamp for each, timestamp in wanted.items()}
        found = await self._offsets.list_offsets(asked, read_committed=self._committed_only)
        answers: dict[TopicPartition, OffsetAndTimestamp | None] = {}
        for partition, answer in found.items():
            if isinstance(answer, ApiError):
                raise answer
            answers[partition] = OffsetAndTimestamp(*answer) if answer.offset >= 0 else None
        return answers

    async def ends(
        self, which: int, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """The first offsets, or with LATEST those behind the last records."""
        found = await self.offsets_at({TopicPartition(*each): which for each in partitions})
        return {each: answer.offset for each, answer in found.items() if answer is not None}

    async def partitions_for(self, topic: str) -> list[int]:
        """The partitions of a topic; none if it does not exist."""
        self._run()
        view = await self._cluster.retried(lambda: self._cluster.refresh([topic]))
        return [each.index for each in view.topics[topic].partitions]

    # --- the end

    async def close(self) -> None:
        """Commit if that is automatic, leave the group, close all connections."""
        if self._closed:
            return
        try:
            if self._running is not None:
                await self.unsubscribe()
        finally:
            self._closed = True
            if self._finding is not None:
                self._finding.cancel()
            if self._running is not None:
                await self._running.close()
            await self._offsets.close()
            await self._group_cluster.close()


class _Running:
    """What exists only while an event loop runs."""

    def __init__(
        self,
        cluster: Cluster,
        settings: ConsumerSettings,
        positions: Positions,
        deserializers: Deserializers,
    ) -> None:
        self.news = asyncio.Event()
        self.tasks = Tasks()
        self.fetcher = Fetcher(cluster, settings, positions, deserializers, self.news)

    async def close(self) -> None:
        """End what runs in the background."""
        await self.tasks.cancel()
        await self.fetcher.close()
