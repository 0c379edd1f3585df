"""Pure: fetch sessions (KIP-227): a client names its partitions once and then sends and receives only what changed.

The cache is bounded. When it is full, a session that has been idle for the eviction time makes room, or one that is
older than that and smaller than the newcomer; otherwise the newcomer gets no session and sends full requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias
from uuid import UUID

from ottla.base.ids import TopicPartition
from ottla.protocol.errors import ErrorCode
from ottla.protocol.fetch_frames import FetchPartition, FetchRequest, PartitionData

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
EVICTION_MS = 120_000
_MAX_EPOCH = 2**31 - 1

Topic: TypeAlias = str | bytes
Key: TypeAlias = tuple[Topic, int]


class Session:
    """The partitions one client follows, and what it was last told of each."""

    __slots__ = (
        "created_ms",
        "epoch",
        "id",
        "last_used_ms",
        "partitions",
        "told",
        "uses_topic_ids",
    )

    def __init__(self, session_id: int, uses_topic_ids: bool, now_ms: int) -> None:
        self.id = session_id
        self.uses_topic_ids = uses_topic_ids
        self.epoch = INITIAL_EPOCH + 1
        self.created_ms = self.last_used_ms = now_ms
        self.partitions: dict[Key, FetchPartition] = {}
        self.told: dict[Key, tuple[int, int]] = {}

    def update(self, request: FetchRequest) -> None:
        """Take over the partitions that a request adds, changes and forgets."""
        for topic, partitions in request.topics:
            for partition in partitions:
                self.partitions[topic, partition.partition] = partition
        for topic, indexes in request.forgotten:
            for index in indexes:
                self.partitions.pop((topic, index), None)
                self.told.pop((topic, index), None)

    def key_of(self, tp: TopicPartition, topic_id: UUID) -> Key:
        """What a partition is called in this session."""
        return (topic_id.bytes if self.uses_topic_ids else tp.topic), tp.partition

    def is_news(self, key: Key, data: PartitionData) -> bool:
        """Whether an incremental reply must mention the partition."""
        return bool(
            data.records
            or data.error
            or data.diverging_epoch
            or data.preferred_read_replica
            >= 0  # left out, the client would ask this broker for ever
            or self.told.get(key) != (data.high_watermark, data.log_start_offset)
        )

    def tell(self, key: Key, data: PartitionData) -> None:
        """Remember what the client now knows; who got records goes to the end of the line."""
        if key not in self.partitions:
            return  # forgotten while it was read
        self.told[key] = (data.high_watermark, data.log_start_offset)
        if data.error or data.diverging_epoch is not None:
            # So that the recovery is news, or what counts once the log has been cut.
            self.told.pop(key)
        if data.records:
            self.partitions[key] = self.partitions.pop(key)


class Opened(NamedTuple):
    """What a Fetch request is about: an error, or its partitions with the session they belong to."""

    error: int = 0
    session: Session | None = None
    incremental: bool = False
    named: list[tuple[Topic, FetchPartition]] = []  # noqa: RUF012  (never mutated)

    @property
    def partitions(self) -> list[tuple[Topic, FetchPartition]]:
        """Those that the request names, and with an incremental one all that it does not name again."""
        if self.session is None or not self.incremental:
            return self.named
        return [(key[0], partition) for key, partition in self.session.partitions.items()]


class FetchSessions:
    """All sessions of a broker."""

    def __init__(
        self, slots: int, new_id: Callable[[], int], eviction_ms: int = EVICTION_MS
    ) -> None:
        self._slots = slots
        self._new_id = new_id
        self._eviction_ms = eviction_ms
        # In order of last use, the longest idle first.
        self._sessions: dict[int, Session] = {}
        self.evictions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def partitions_followed(self) -> int:
        """How many partitions all sessions hold together."""
        return sum(len(session.partitions) for session in self._sessions.values())

    def open(self, request: FetchRequest, uses_topic_ids: bool, now_ms: int) -> Opened:
        """Find, make or close the session that a request speaks of."""
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            return self._open_full(request, uses_topic_ids, now_ms)
        session = self._sessions.get(request.session_id)
        if session is None:
            return Opened(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            return Opened(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != uses_topic_ids:
            return Opened(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        session.update(request)
        if not session.partitions:
            # As Kafka does: who follows nothing needs no session.
            del self._sessions[session.id]
            return Opened()
        session.epoch = 1 if session.epoch == _MAX_EPOCH else session.epoch + 1
        session.last_used_ms = now_ms
        self._sessions[session.id] = self._sessions.pop(session.id)
        return Opened(0, session, True, list(_partitions_of(request)))

    def _open_full(self, request: FetchRequest, uses_topic_ids: bool, now_ms: int) -> Opened:
        self._sessions.pop(request.session_id, None)
        listed = list(_partitions_of(request))
        if request.session_epoch == FINAL_EPOCH or not self._make_room(len(listed), now_ms):
            return Opened(0, None, False, listed)
        session = Session(self._unused_id(), uses_topic_ids, now_ms)
        session.update(request)
        self._sessions[session.id] = session
        return Opened(0, session, False, listed)

    def _unused_id(self) -> int:
        while True:
            session_id = self._new_id()
            if session_id > 0 and session_id not in self._sessions:
                return session_id

    def _make_room(self, size: int, now_ms: int) -> bool:
        if len(self._sessions) < self._slots:
            return True
        victim = next(iter(self._sessions.values()), None)
        if victim is None:
            return False
        if now_ms - victim.last_used_ms <= self._eviction_ms:
            old = [s for s in self._sessions.values() if now_ms - s.created_ms > self._eviction_ms]
            victim = min(old, key=lambda s: len(s.partitions), default=None)
            if victim is None or len(victim.partitions) >= size:
                return False
        del self._sessions[victim.id]
        self.evictions += 1
        return True


def _partitions_of(request: FetchRequest) -> Iterator[tuple[Topic, FetchPartition]]:
    for topic, partitions in request.topics:
        for partition in partitions:
            yield topic, partition
