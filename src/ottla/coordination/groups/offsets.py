"""Pure: the committed offsets of the groups of one coordinator partition, and those that open transactions hold back.

Durable state changes in `replay` and `replay_marker` alone; everything else reads, or says which records to write. The
work of a request is proportional to the partitions it names, whatever else the groups hold.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, TypeVar
from uuid import UUID

from ottla.base.ids import TopicPartition
from ottla.cluster.image import TopicImage
from ottla.coordination import metrics
from ottla.coordination.decision import KeyValue, Transactional
from ottla.coordination.groups.offset_history import (
    COMMIT,
    DELETE,
    EXPIRE,
    TOPIC_DELETED,
    TRANSACTION,
    Author,
    OffsetHistory,
)
from ottla.coordination.groups.offset_records import (
    NO_EXPIRY,
    Committed,
    OffsetKey,
    bare_position,
    decode_key,
    decode_value,
    encode_key,
    encode_position,
    key_of,
    topic_tags,
)
from ottla.coordination.groups.offset_rules import OffsetGroup, OffsetLimits
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import ZERO_UUID

_DEFAULT_RETENTION: Final = -1
_POSITIONS_PER_CHECK: Final = 1_000
_NO_TOPICS: Final[Mapping[str, Mapping[int, Committed]]] = MappingProxyType({})
_NO_PARTITIONS: Final[Mapping[int, set[int]]] = MappingProxyType({})

# A record does not say who committed it.
_SOMEBODY: Final = Author(COMMIT)
_DELETED: Final = Author(DELETE)

_Leaf = TypeVar("_Leaf")


class PartitionToCommit(Protocol):
    """One partition of a request to commit, as OffsetCommit and TxnOffsetCommit both have it."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    committed_metadata: str | None


class TopicToCommit(NamedTuple):
    """The positions in one topic, which exists; a zero id is not kept."""

    name: str
    topic_id: UUID
    partitions: Sequence[PartitionToCommit]


class Commitment(NamedTuple):
    """What a commit comes to: records, what they say, and an error code for each partition in the order they came."""

    records: list[KeyValue]
    positions: list[tuple[OffsetKey, Committed]]
    errors: list[int]


class _Held(NamedTuple):
    """A position that counts when its transaction commits, unless a later commit has gone past it."""

    order: int
    committed: Committed


class Offsets:
    """Every position that groups have committed here."""

    def __init__(self, limits: OffsetLimits) -> None:
        self.history = OffsetHistory()
        self._limits = limits
        self._committed: dict[str, dict[str, dict[int, Committed]]] = {}
        # By producer, then by key; None once a later commit of the same position has overtaken it.
        self._held: dict[int, dict[OffsetKey, _Held | None]] = {}
        # The same the other way round: which producers hold a position back.
        self._holders: dict[str, dict[str, dict[int, set[int]]]] = {}
        self._order = 0
        self._next_check_ms: int | None = None
        # The groups that the check under way has still to look at.
        self._unchecked: deque[str] = deque()

    # ------------------------------------------------------------------ reading

    def __len__(self) -> int:
        return sum(len(each) for topics in self._committed.values() for each in topics.values())

    def groups(self) -> Collection[str]:
        """The groups that have a position, or a transaction that would give them one."""
        return self._committed.keys() | self._holders.keys()

    def has_any(self, group_id: str) -> bool:
        """Whether a group has a position or may soon have one: such a group does not die."""
        return group_id in self._committed or group_id in self._holders

    def topics(self, group_id: str) -> Mapping[str, Mapping[int, Committed]]:
        """All positions of a group, by topic and partition; not to be kept beyond this turn of the loop."""
        return self._committed.get(group_id, _NO_TOPICS)

    def find(self, group_id: str, topic: str, partition: int) -> Committed | None:
        """One position."""
        return self.topics(group_id).get(topic, {}).get(partition)

    def unstable(self, group_id: str, topic: str) -> Collection[int]:
        """The partitions in which a transaction that is not over has committed a position."""
        return self._holders.get(group_id, {}).get(topic, _NO_PARTITIONS)

    # ----------------------------------------------------------------- deciding

    def commit(
        self,
        group_id: str,
        topics: Sequence[TopicToCommit],
        now_ms: int,
        *,
        retention_ms: int = _DEFAULT_RETENTION,
    ) -> Commitment:
        """Write positions down, but for those whose metadata is too long."""
        expire_ms = NO_EXPIRY if retention_ms == _DEFAULT_RETENTION else now_ms + retention_ms
        records: list[KeyValue] = []
        positions: list[tuple[OffsetKey, Committed]] = []
        errors: list[int] = []
        longest = self._limits.metadata_max_bytes
        for name, topic_id, partitions in topics:
            tags = topic_tags(topic_id)
            for asked in partitions:
                metadata = asked.committed_metadata or ""
                # Characters, not bytes, whatever the setting is called: so does Kafka.
                if len(metadata) > longest:
                    errors.append(ErrorCode.OFFSET_METADATA_TOO_LARGE)
                    continue
                offset, leader_epoch = asked.committed_offset, asked.committed_leader_epoch
                value = encode_position(offset, leader_epoch, metadata, now_ms, expire_ms, tags)
                index = asked.partition_index
                at, key = key_of(group_id, name, index)
                records.append((key, value))
                if metadata or expire_ms != NO_EXPIRY:
                    position = decode_value(value, index)
                else:
                    position = bare_position(offset, leader_epoch, now_ms, topic_id, index)
                positions.append((at, position))
                errors.append(ErrorCode.NONE)
        metrics.OFFSET_COMMITS.value += len(records)
        return tuple.__new__(Commitment, (records, positions, errors))

    def delete(
        self, group_id: str, positions: Iterable[TopicPartition], now_ms: int
    ) -> list[KeyValue]:
        """Forget positions; those that a transaction would give are forgotten with them."""
        self.history.deletes(group_id, now_ms, _DELETED)
        known = [tp for tp in dict.fromkeys(positions) if self._knows(group_id, tp)]
        metrics.OFFSETS_DELETED.value += len(known)
        return [_tombstone(group_id, *tp) for tp in known]

    def delete_all(self, group_id: str, now_ms: int) -> list[KeyValue]:
        """Forget all positions of a group."""
        return self.delete(group_id, self._positions(group_id), now_ms)

    def topics_deleted(self, names: Collection[str], now_ms: int) -> list[KeyValue]:
        """Forget the positions in topics that are gone."""
        self.history.deletes(None, now_ms, Author(TOPIC_DELETED))
        gone = [
            _tombstone(group_id, *tp)
            for group_id in self.groups()
            for tp in self._positions_in(group_id, names)
        ]
        metrics.OFFSETS_DELETED.value += len(gone)
        return gone

    # ------------------------------------------------------------------- expiry

    def loaded(self, now_ms: int) -> None:
        """The clock of the next check starts."""
        self._next_check_ms = now_ms + self._limits.check_interval_ms

    def next_check_ms(self) -> int | None:
        """When `expired` is to be asked; None before everything is loaded."""
        return self._next_check_ms

    def expired(
        self, now_ms: int, groups: Mapping[str, OffsetGroup], topics: Mapping[str, TopicImage]
    ) -> list[KeyValue]:
        """Tombstones for positions whose time is over, or whose topic is gone, if a check is due.

        A topic may have been deleted while nobody could write it down here. A check that has much to look at goes on
        at once, in a turn of its own; the next one is an interval later.
        """
        if self._next_check_ms is None or now_ms < self._next_check_ms:
            return []
        if not self._unchecked:
            self._unchecked.extend(self._committed)
        self.history.deletes(None, now_ms, Author(EXPIRE))
        gone: list[KeyValue] = []
        looked_at = 0
        while self._unchecked and looked_at < _POSITIONS_PER_CHECK:
            group_id = self._unchecked.popleft()
            looked_at += sum(map(len, self.topics(group_id).values()))
            if group_id in groups:
                expired = self._expired_of(group_id, groups[group_id], topics, now_ms)
                gone += [_tombstone(group_id, *tp) for tp in expired]
        rest_ms = 0 if self._unchecked else self._limits.check_interval_ms
        self._next_check_ms = now_ms + rest_ms
        metrics.OFFSETS_EXPIRED.value += len(gone)
        return gone

    def _expired_of(
        self, group_id: str, group: OffsetGroup, topics: Mapping[str, TopicImage], now_ms: int
    ) -> Iterator[TopicPartition]:
        for topic, partitions in self.topics(group_id).items():
            held = self.unstable(group_id, topic)
            subscribed, image = group.subscribes_to(topic), topics.get(topic)
            for partition, position in partitions.items():
                if partition in held:
                    continue
                if _is_orphan(position, image) or (
                    not subscribed and self._is_expired(group, position, now_ms)
                ):
                    yield TopicPartition(topic, partition)

    def _is_expired(self, group: OffsetGroup, position: Committed, now_ms: int) -> bool:
        since_ms = group.offsets_expire_since(position.commit_timestamp_ms)
        if since_ms is None:
            return False
        if position.expire_timestamp_ms != NO_EXPIRY:
            return now_ms >= position.expire_timestamp_ms
        return now_ms - since_ms >= self._limits.retention_ms

    # ---------------------------------------------------------------- replaying

    def replay(self, key: bytes, value: bytes | None, transactional: Transactional | None) -> str:
        """Take in a record whose key is that of a position; the group that it belongs to."""
        at = decode_key(key)
        if value is None:
            self._order += 1
            self._forget(at)
        elif transactional is None:
            self.place(at, decode_value(value, at.partition), _SOMEBODY)
        else:
            self.hold(at, decode_value(value, at.partition), transactional.producer_id)
        return at.group_id

    def place(
        self, at: OffsetKey, position: Committed, author: Author, order: int | None = None
    ) -> None:
        """Take in a position that is in the log and counts; its record is the last there, unless `order` says else."""
        if order is None:
            self._order = order = self._order + 1
        group_id, topic, partition = at
        topics = self._committed.get(group_id)
        if topics is None:
            topics = self._committed[group_id] = {}
        partitions = topics.get(topic)
        if partitions is None:
            partitions = topics[topic] = {}
        before = partitions.get(partition)
        partitions[partition] = position
        if group_id in self._holders:
            self._overtake(at, order)
        since = None if before is None else before.committed_offset
        self.history.moved(
            at, since, position.committed_offset, position.commit_timestamp_ms, author
        )

    def hold(self, at: OffsetKey, position: Committed, producer_id: int) -> None:
        """Take in a position that is in the log and counts when the transaction of its producer commits."""
        self._order += 1
        self._held.setdefault(producer_id, {})[at] = _Held(self._order, position)
        topics = self._holders.setdefault(at.group_id, {})
        topics.setdefault(at.topic, {}).setdefault(at.partition, set()).add(producer_id)

    def replay_marker(self, producer_id: int, committed: bool) -> None:
        """A transaction is over: what it held counts, or never was."""
        for at, held in self._held.pop(producer_id, {}).items():
            self._release(at, producer_id)
            if committed and held is not None:
                author = Author(TRANSACTION, producer_id=producer_id)
                self.place(at, held.committed, author, held.order)

    def _overtake(self, at: OffsetKey, order: int) -> None:
        """The latest record wins, not the latest marker: compaction would keep just that one (KAFKA-15341)."""
        for producer_id in self._holders[at.group_id].get(at.topic, {}).get(at.partition, ()):
            held = self._held[producer_id][at]
            if held is not None and held.order < order:
                self._held[producer_id][at] = None

    def _release(self, at: OffsetKey, producer_id: int) -> None:
        topics = self._holders[at.group_id]
        holders = topics[at.topic][at.partition]
        holders.discard(producer_id)
        if not holders:
            _prune(self._holders, at)

    def _forget(self, at: OffsetKey) -> None:
        before = self.find(*at)
        if before is not None:
            _prune(self._committed, at)
            self.history.deleted(at, before.committed_offset, before.commit_timestamp_ms)
        holders = self._holders.get(at.group_id, {}).get(at.topic, {}).get(at.partition)
        if holders is not None:
            for producer_id in holders:
                del self._held[producer_id][at]
            _prune(self._holders, at)

    # ------------------------------------------------------------------ looking

    def _knows(self, group_id: str, tp: TopicPartition) -> bool:
        known = self.find(group_id, *tp) is not None
        return known or tp.partition in self.unstable(group_id, tp.topic)

    def _positions(self, group_id: str) -> Iterator[TopicPartition]:
        topics = self._committed.get(group_id, {}).keys() | self._holders.get(group_id, {}).keys()
        return self._positions_in(group_id, topics)

    def _positions_in(self, group_id: str, names: Collection[str]) -> Iterator[TopicPartition]:
        committed, held = self.topics(group_id), self._holders.get(group_id, {})
        for name in names:
            for partition in committed.get(name, {}).keys() | held.get(name, {}).keys():
                yield TopicPartition(name, partition)


def _prune(groups: dict[str, dict[str, dict[int, _Leaf]]], at: OffsetKey) -> None:
    """Take one leaf off, and the branches that it leaves empty."""
    topics = groups[at.group_id]
    partitions = topics[at.topic]
    del partitions[at.partition]
    if not partitions:
        del topics[at.topic]
        if not topics:
            del groups[at.group_id]


def _is_orphan(position: Committed, topic: TopicImage | None) -> bool:
    """Whether the topic of a position does not exist any more, though another may have its name."""
    if topic is None:
        return True
    return position.topic_id != topic.topic_id and position.topic_id != ZERO_UUID


def _tombstone(group_id: str, topic: str, partition: int) -> KeyValue:
    return encode_key(group_id, topic, partition), None
