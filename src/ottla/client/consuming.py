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
from ottla.base.log import logger
from ottla.client.administration.offsets import Offsets
from ottla.client.classic_membership import ClassicMembership
from ottla.client.cluster import Cluster
from ottla.client.commits import Commits, Committed
from ottla.client.consumer_membership import ConsumerMembership
from ottla.client.consumer_record import ConsumerRecord, Deserializers
from ottla.client.consumer_settings import (
    CLASSIC,
    READ_COMMITTED,
    ConsumerSettings,
    check_consumer,
)
from ottla.client.errors import api_error
from ottla.client.fetcher import Fetcher
from ottla.client.lifetime.fork import FORKED, tell_after_fork
from ottla.client.membership import Membership, Standing
from ottla.client.position_finder import PositionFinder
from ottla.client.positions import OffsetAndMetadata, Positions, as_committed
from ottla.client.retry import Deadline
from ottla.client.serializers import deserializer
from ottla.client.settings import (
    AdminSettings,
    named_settings,
    read_settings,
    rows_of,
    with_servers,
)
from ottla.client.topic_watch import TopicWatch
from ottla.protocol.errors import ErrorCode

log = logger(__name__)

_KEY_DESERIALIZER: Final = "key.deserializer"
_VALUE_DESERIALIZER: Final = "value.deserializer"
_LONGEST_WAIT_S: Final = 0.5
CLOSE_TIMEOUT_S: Final = 10.0

Listener: TypeAlias = Callable[[list[TopicPartition]], Any]


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
        self.settings = with_servers(check_consumer(read_settings(ConsumerSettings, given)))
        self.positions = Positions()
        # Taken out for whoever reads, and not given out yet; the next one is at the end.
        self.unread: list[ConsumerRecord] = []
        self.call: Callable[[Listener, list[TopicPartition]], Any] = call
        common = rows_of(AdminSettings)
        self._offsets = Offsets({name: value for name, value in given.items() if name in common})
        self._cluster = self._offsets.cluster
        # Joining a group may take minutes, and answers come in order: it has connections of its own.
        self._group_cluster = Cluster(self.settings)
        self._commits = Commits(self._group_cluster, self.standing, self._losses)
        self._listeners = Listeners()
        self._untold: list[TopicPartition] | None = None
        self._membership: Membership | None = None
        self._watch: TopicWatch | None = None
        self._running: _Running | None = None
        self._committed_at = time.monotonic()
        self._closed = False
        self._refusal = "the consumer is closed"
        tell_after_fork(self)

    def _run(self) -> _Running:
        if self._closed:
            raise OttlaError(self._refusal)
        if self._running is None:
            self._running = _Running(
                self._offsets, self._commits, self.settings, self.positions, self._deserializers
            )
        return self._running

    def forked(self) -> None:
        """This process is a child: connections, and the thread of the loop, are the parent's."""
        self._closed, self._refusal = True, FORKED

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
        await self._commits.drain()
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
        await self._tell_leaving(self._listeners.on_revoked, going)

    async def lose(self, partitions: Iterable[TopicPartition]) -> None:
        """Somebody else may have these by now: no commit, and the listener hears of it."""
        gone = sorted(partitions)
        if gone:
            await self._tell_leaving(self._listeners.on_lost or self._listeners.on_revoked, gone)

    async def _tell_leaving(
        self, listener: Listener | None, partitions: list[TopicPartition]
    ) -> None:
        """Tell the listener, then let go; a poll that is cancelled here leaves all as it was."""
        going = [self.positions[each] for each in partitions]
        for position in going:
            position.revoking = True
        try:
            if listener is not None:
                await self._tell(listener, partitions)
        except BaseException:
            for position in going:
                position.revoking = False
            raise
        self._let_go(partitions)

    async def take(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these as well, and tell the listener."""
        coming = sorted(partitions)
        self.positions.assign([*self.positions, *coming])
        if self._listeners.on_assigned is not None:
            self._untold = coming
            await self._tell_assigned()

    async def _tell_assigned(self) -> None:
        """Tell the listener of new partitions, again if the poll that did was cancelled."""
        if self._untold is not None and self._listeners.on_assigned is not None:
            await self._tell(self._listeners.on_assigned, self._untold)
        self._untold = None

    async def _tell(self, listener: Listener, partitions: list[TopicPartition]) -> None:
        """A listener's mistake is logged: the group goes on, and so does whoever polls."""
        try:
            await self.call(listener, partitions)
        except Exception:
            log.exception("a rebalance listener failed", partitions=", ".join(map(str, partitions)))

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
        self._commit_sometimes()
        deadline = Deadline(timeout_ms)
        while True:
            running.news.clear()
            if self._membership is not None:
                await self._tell_assigned()
                await self._membership.step(time.monotonic() * 1000)
            self._follow_leaders()
            running.finder.look()
            if not self.unread:
                self.unread = running.fetcher.collect(most)
                self.unread.reverse()
            left_s = deadline.left_ms() / 1000
            if self.unread or left_s <= 0:
                # Whoever polls in a loop and finds records each time lets the loop fetch, and beat, here.
                await asyncio.sleep(0)
                return
            try:
                async with asyncio.timeout(min(left_s, _LONGEST_WAIT_S)):
                    await running.news.wait()
            except TimeoutError:
                pass

    def _follow_leaders(self) -> None:
        """Go back to where a leader's log parts from what was read of it (KIP-320)."""
        for partition, position in self.positions.items():
            diverged = position.diverged
            if diverged is None:
                continue
            consumed = self.positions.consumed(self.unread)[partition]
            self._skip_unread([partition])
            if diverged.end_offset >= consumed.offset:
                # Only what was fetched ahead is not there any more.
                position.seek(consumed.offset, consumed.leader_epoch)
            elif self.settings.auto_offset_reset != "none":
                position.seek(diverged.end_offset, diverged.epoch)
            else:
                position.seek(consumed.offset, consumed.leader_epoch)
                position.failure = api_error(
                    ErrorCode.OFFSET_OUT_OF_RANGE,
                    f"records of {partition} from offset {diverged.end_offset} on were read and are lost: "
                    f"its leader's log was cut there; auto.offset.reset is none, seek to go on",
                )

    def refill(self, most: int) -> Callable[[], None] | None:
        """Have unread records out of what was fetched, in the thread that reads.

        Returns what the loop's thread should be told to do then, if anything.
        """
        if self._running is None:
            return None
        fetcher = self._running.fetcher
        self.unread = fetcher.take(most)
        self.unread.reverse()
        return fetcher.pump if fetcher.wants_more else None

    def give_out(self, most: int) -> list[ConsumerRecord]:
        """Unread records, which thereby count as consumed."""
        found = self.unread[-most:]
        del self.unread[-most:]
        found.reverse()
        return found

    @property
    def _committed_only(self) -> bool:
        return self.settings.isolation_level == READ_COMMITTED

    async def position(self, partition: TopicPartition) -> int:
        """The offset of the next record that will be read; waits until it is known."""
        await self._run().finder.wait_for(partition)
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

    def _losses(self) -> int:
        return 0 if self._membership is None else self._membership.losses

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None
    ) -> None:
        """Commit these offsets, or how far everything was read."""
        self._run()
        await self._commits.commit(self.to_commit(offsets))

    def commit_soon(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None,
        on_commit: Committed | None,
    ) -> None:
        """Commit without waiting; `on_commit` hears how it went."""
        self._run()
        self._commits.commit_soon(self.to_commit(offsets), on_commit)

    def to_commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Offsets as given, or how far everything was read."""
        if offsets is None:
            return self.positions.consumed(self.unread)
        return {TopicPartition(*each): as_committed(given) for each, given in offsets.items()}

    def _commit_sometimes(self) -> None:
        now = time.monotonic()
        due = now - self._committed_at >= self.settings.auto_commit_interval_ms / 1000
        if self.settings.enable_auto_commit and due:
            self._committed_at = now
            self._commits.commit_soon(self.to_commit(None))

    async def _auto_commit_now(self) -> None:
        if self.settings.enable_auto_commit and self._running is not None:
            # A failure here means that the records will be read again, by whoever gets the partition.
            await self._commits.commit_or_log(self.to_commit(None))

    async def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed."""
        self._run()
        return await self._commits.committed(TopicPartition(*each) for each in partitions)

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

    async def close(self, timeout_s: float) -> None:
        """Commit if that is automatic, leave the group, close all connections."""
        if self._closed:
            return
        try:
            if self._running is not None:
                async with asyncio.timeout(timeout_s):
                    await self.unsubscribe()
        except TimeoutError:
            pass  # no coordinator answers: it will notice that this member is gone
        finally:
            self._closed = True
            await self._commits.close()
            if self._running is not None:
                await self._running.close()
            await self._offsets.close()
            await self._group_cluster.close()


class _Running:
    """What exists only while an event loop runs."""

    def __init__(
        self,
        offsets: Offsets,
        commits: Commits,
        settings: ConsumerSettings,
        positions: Positions,
        deserializers: Deserializers,
    ) -> None:
        self.news = asyncio.Event()
        self.finder = PositionFinder(positions, offsets, commits, settings, self.news)
        self.fetcher = Fetcher(offsets.cluster, settings, positions, deserializers, self.news)

    async def close(self) -> None:
        """End what runs in the background."""
        self.finder.close()
        await self.fetcher.close()
