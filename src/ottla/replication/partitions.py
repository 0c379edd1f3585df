"""The set of partitions that this broker hosts: found by name or id, opened and closed as the metadata changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias
from uuid import UUID

from ottla.base.errors import ApiError, LogDirOffline, StorageError
from ottla.base.ids import TopicPartition
from ottla.base.log import logger
from ottla.cluster.image import Delta, Image, PartitionImage, TopicImage
from ottla.cluster.membership import Membership
from ottla.config.live import LiveSettings
from ottla.config.log import LogConfig
from ottla.protocol.errors import ErrorCode
from ottla.replication.follower_news import FollowerNews
from ottla.replication.leader_throttle import LeaderThrottle
from ottla.replication.partition import Partition
from ottla.storage.log import Log
from ottla.storage.log_dir import LogDir
from ottla.storage.logs import Logs

log = logger(__name__)

Topic: TypeAlias = str | bytes

# Making a partition's files takes a fraction of a millisecond; between these many, others get their turn.
_PARTITIONS_PER_TURN = 10


class Partitions:
    """All hosted partitions of a broker.

    A topic is looked up by its name or by the 16 bytes of its id, as it stands in the request: the hot path makes no
    UUID objects.
    """

    def __init__(
        self,
        membership: Membership,
        logs: Logs,
        settings: LiveSettings,
        now_ms: Callable[[], int],
    ) -> None:
        self._membership = membership
        self._node_id = membership.broker_id
        self._logs = logs
        self._settings = settings
        self._now_ms = now_ms
        # Who hears that a partition has another leader, that it is gone, that a replica may have caught up.
        self.on_placed: Callable[[Partition], None] = _nobody
        self.on_removed: Callable[[Partition], None] = _nobody
        self.on_caught_up: Callable[[Partition], None] = _nobody
        # Who hears that a log directory failed.
        self.on_directory_lost: Callable[[], None] = lambda: None
        self.news = FollowerNews()
        self._topics: dict[Topic, dict[int, Partition]] = {}
        # Partitions whose log could not be made or opened; True for those that existed before this broker started.
        self._unopened: dict[TopicPartition, bool] = {}
        # Whether the tree says that something was here which was not found.
        self.is_missing_logs = False
        self._image = Image()
        self.throttle = LeaderThrottle(self._node_id, settings, now_ms)
        logs.on_offline = self.went_offline
        logs.on_moved = self.moved

    @property
    def fetch_max_bytes(self) -> int:
        """The most that one Fetch reply carries."""
        return self._settings.fetch_max_bytes

    def __iter__(self) -> Iterator[Partition]:
        for topic, partitions in self._topics.items():
            if isinstance(topic, str):
                yield from partitions.values()

    def find(self, topic: Topic, index: int) -> Partition | None:
        """The hosted partition, if it is here."""
        partitions = self._topics.get(topic)
        return None if partitions is None else partitions.get(index)

    def leader(self, topic: Topic, index: int) -> Partition:
        """The partition, which this broker must lead."""
        partition = self.readable(topic, index)
        if not partition.is_leader:
            raise ApiError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                f"{partition.tp} is led by {partition.placed.leader}",
            )
        return partition

    def readable(self, topic: Topic, index: int) -> Partition:
        """The partition, of which this broker must have a replica that works."""
        partitions = self._topics.get(topic)
        partition = None if partitions is None else partitions.get(index)
        if partition is None:
            raise self._not_hosted(topic, index)
        if partition.log.log_dir.offline is not None:
            raise ApiError(
                ErrorCode.KAFKA_STORAGE_ERROR, f"the log directory of {partition.tp} is offline"
            )
        return partition

    def _not_hosted(self, topic: Topic, index: int) -> ApiError:
        if isinstance(topic, bytes):
            known = self._image.topics_by_id.get(UUID(bytes=topic))
        else:
            known = self._image.topics.get(topic)
        if known is None:
            return _unknown(topic, index)
        if known.partition(index) is None:
            return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {index}")
        if TopicPartition(known.name, index) in self._unopened:
            return ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "its log could not be opened")
        return ApiError(
            ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{known.name}-{index} is on other brokers"
        )

    def open(self, image: Image) -> None:
        """Open, once, what the first image places here; it says which directories on disk are ours."""
        self._image = image
        self._logs.open(self._placed_here(image))
        for topic in image.topics.values():
            for placed in topic.partitions:
                if self._node_id in placed.replicas:
                    self._place(topic, placed, existed=True)

    async def apply(self, image: Image, delta: Delta) -> None:
        """Follow the metadata: open what is new, close what is gone, retune what was reconfigured."""
        self._image = image
        for topic in delta.deleted_topics():
            self._remove_topic(topic)
        # Settings first: a high watermark must not move by a min.insync.replicas that is none any more.
        self._reconfigure(self._names() if delta.broker_configs else delta.topic_configs)
        for number, (topic, placed) in enumerate(delta.changed_partitions(), 1):
            if self._node_id in placed.replicas:
                self._place(topic, placed, existed=False)
            else:
                self._unopened.pop(TopicPartition(topic.name, placed.partition), None)
                self._remove(self._topics.get(topic.name, {}), placed.partition)
            if number % _PARTITIONS_PER_TURN == 0:
                await asyncio.sleep(0)

    def _placed_here(self, image: Image) -> dict[TopicPartition, UUID]:
        return {
            TopicPartition(topic.name, placed.partition): topic.topic_id
            for topic in image.topics.values()
            for placed in topic.partitions
            if self._node_id in placed.replicas
        }

    def _place(self, topic: TopicImage, placed: PartitionImage, *, existed: bool) -> None:
        hosted = self._topics.setdefault(topic.name, {})
        self._topics[topic.topic_id.bytes] = hosted
        partition = hosted.get(placed.partition)
        if partition is not None:
            if partition.log.log_dir.offline is None:
                partition.place(placed, self._now_ms())
                self.on_placed(partition)
            return
        tp = TopicPartition(topic.name, placed.partition)
        tried, existed = tp in self._unopened, self._unopened.get(tp, existed)
        try:
            opened = self._logs.get(tp) or self._create(tp, topic.topic_id, existed)
        except StorageError as failure:
            if not tried:
                log.error("partition cannot be opened", partition=tp, reason=str(failure))
            self._unopened[tp] = existed
            return
        if tried:
            log.info("partition opened at last", partition=tp)
            del self._unopened[tp]
        partition = hosted[placed.partition] = Partition(
            tp, opened, placed, node_id=self._node_id, watch=self, now_ms=self._now_ms()
        )
        if opened.wants_sync:
            # After a crash nobody knows what of the log was on the disk; until it is, it is not committed.
            self.flush(partition)
        self.on_placed(partition)

    def _create(self, tp: TopicPartition, topic_id: UUID, existed: bool) -> Log:
        if existed and any(log_dir.offline is not None for log_dir in self._logs.dirs):
            # An empty log in its place would take new records, and hide the old ones for ever.
            raise LogDirOffline("it is in none of the log directories that are online")
        if existed:
            log.warning("log not found, begun anew", partition=tp)
            self.is_missing_logs = True
        return self._logs.create(tp, topic_id)

    def _remove_topic(self, topic: TopicImage) -> None:
        hosted = self._topics.pop(topic.name, {})
        self._topics.pop(topic.topic_id.bytes, None)
        self._unopened = {
            tp: existed for tp, existed in self._unopened.items() if tp.topic != topic.name
        }
        for index in list(hosted):
            self._remove(hosted, index)

    def _remove(self, hosted: dict[int, Partition], index: int) -> None:
        """Let go of a partition whose topic is gone, or whose replica has moved to another broker."""
        partition = hosted.pop(index, None)
        if partition is None:
            return
        self.on_removed(partition)
        partition.fail_waiters(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        try:
            self._logs.delete(partition.tp)
        except StorageError as failure:
            log.error("partition not removed", partition=partition.tp, reason=str(failure))

    def went_offline(self, log_dir: LogDir, lost: list[TopicPartition]) -> None:
        """A log directory failed: whoever waits for its partitions waits in vain, and nobody follows with them."""
        for topic, index in lost:
            partition = self.find(topic, index)
            if partition is not None:
                self.on_removed(partition)
                partition.went_offline()
        self.on_directory_lost()

    def moved(self, opened: Log) -> None:
        """The log of a partition is in another directory now, all of it synced."""
        partition = self.find(*opened.tp)
        if partition is not None:
            partition.log = opened
            partition.advance_high_watermark()

    def _names(self) -> list[str]:
        return [topic for topic in self._topics if isinstance(topic, str)]

    def log_config(self, topic: str) -> LogConfig:
        """How the logs of a topic are kept, by the newest image, published or about to be."""
        return self._settings.log_config(self._image.topic_config(topic))

    def _reconfigure(self, topics: Iterable[str]) -> None:
        for topic in topics:
            if hosted := self._topics.get(topic):
                config = self.log_config(topic)
                for partition in hosted.values():
                    partition.log.config = config
                    partition.advance_high_watermark()

    def leads(self, placed: PartitionImage) -> bool:
        """Whether this broker leads a partition that is placed so.

        Not if it was chosen in another life of it: its log may have lost what it held then, and the controller will
        choose again. A partition's only replica has nobody to differ from.
        """
        if placed.leader != self._node_id:
            return False
        if len(placed.replicas) == 1:
            return True
        member = self._membership
        if placed.lives:
            return placed.lives.get(self._node_id) == member.life
        # A controller of a build that counted no lives means whoever was registered when it wrote.
        return 0 <= member.broker_epoch < placed.zxid

    def unopened(self) -> set[str]:
        """The topics of partitions whose log could not be made or opened."""
        return {tp.topic for tp in self._unopened}

    def unclaimed(self) -> set[str]:
        """The topics of partitions whose leader this broker is, or is not, since it knows which life it is in."""
        return {
            each.tp.topic
            for each in self
            if each.is_leader != self.leads(each.placed) and each.log.log_dir.offline is None
        }

    def caught_up(self, partition: Partition) -> None:
        """A replica outside of the ISR may have caught up."""
        self.on_caught_up(partition)

    def changed(self, partition: Partition, *, wake: bool) -> None:
        """Its followers have something to fetch or to hear."""
        self.news.note(partition, wake=wake)

    def flush(self, partition: Partition) -> None:
        """Sync beside the loop; one sync serves everything that was appended before it began."""

        source = partition.log

        def done(synced: asyncio.Future[None]) -> None:
            failure = None if synced.cancelled() else synced.exception()
            if partition.log is source:  # else it has moved, and with it all that it held
                partition.flushed(failure if isinstance(failure, StorageError) else None)

        self._logs.flusher.synced(source, source.end_offset).add_done_callback(done)


def _nobody(partition: Partition) -> None:
    """One broker alone has no replicas elsewhere."""


def _unknown(topic: Topic, index: int) -> ApiError:
    if isinstance(topic, bytes):
        return ApiError(ErrorCode.UNKNOWN_TOPIC_ID, f"no topic has the id {topic.hex()}")
    return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic}-{index} is not known here")
