"""A shard with nothing but offsets, and groups that answer what a test tells them to."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ottla.base.ids import TopicPartition
from ottla.cluster.image import TopicImage
from ottla.coordination.decision import Decision, KeyValue, Transactional
from ottla.coordination.groups.offset_history import COMMIT, Author
from ottla.coordination.groups.offset_records import Committed, OffsetKey
from ottla.coordination.groups.offset_requests import Commit
from ottla.coordination.groups.offset_rules import OffsetGroup, OffsetLimits
from ottla.coordination.groups.offsets import Offsets, TopicToCommit
from ottla.protocol.apis.offset_commit import OffsetCommitRequestPartition
from ottla.protocol.schema import ZERO_UUID


def at(partition: int, offset: int, metadata: str | None = "") -> OffsetCommitRequestPartition:
    """A position in a request to commit."""
    return OffsetCommitRequestPartition(
        partition_index=partition, committed_offset=offset, committed_metadata=metadata
    )


@dataclass
class ToldGroup:
    """A group whose answers are given; it is empty and was never anything else unless a test says so."""

    commit_error: int = 0
    fetch_error: int = 0
    delete_error: int = 0
    held: set[tuple[uuid.UUID, int]] = field(default_factory=set)
    subscribed: set[str] = field(default_factory=set)
    expires_since: Callable[[int], int | None] = lambda commit_timestamp_ms: commit_timestamp_ms
    heard_of: list[tuple[str, int]] = field(default_factory=list)
    asked: list[tuple[str, str | None, int, bool]] = field(default_factory=list)
    knew_epochs: list[bool] = field(default_factory=list)

    def check_commit(self, asked: Commit) -> int:
        transactional = asked.transactional is not None
        who = asked.member_id, asked.instance_id, asked.generation
        self.asked.append((*who, transactional))
        self.knew_epochs.append(asked.knows_epochs)
        return self.commit_error

    def has_held(self, member_id: str, epoch: int, topic_id: uuid.UUID, partition: int) -> bool:
        return (topic_id, partition) in self.held

    def check_offset_fetch(self, member_id: str | None, generation: int) -> int:
        return self.fetch_error

    def check_offset_delete(self) -> int:
        return self.delete_error

    def subscribes_to(self, topic: str) -> bool:
        return topic in self.subscribed

    def offsets_expire_since(self, commit_timestamp_ms: int) -> int | None:
        return self.expires_since(commit_timestamp_ms)

    def committed_by(self, member_id: str, now_ms: int) -> None:
        self.heard_of.append((member_id, now_ms))


class EveryTopic(dict[str, TopicImage]):
    """A cluster in which any topic exists, but those that a test takes away."""

    def __init__(self) -> None:
        self.gone: set[str] = set()
        self.topic_id = uuid.UUID(int=99)

    def get(self, name: str, default: object = None) -> TopicImage | None:  # type: ignore[override]
        return None if name in self.gone else TopicImage(name, self.topic_id, (), 0)


class Shard:
    """Appends and replays decisions as the runtime does, and keeps the log they make."""

    def __init__(self, limits: OffsetLimits | None = None) -> None:
        self.offsets = Offsets(limits or OffsetLimits())
        self.groups: dict[str, OffsetGroup] = {}
        self.topics = EveryTopic()
        self.log: list[tuple[KeyValue, Transactional | None]] = []

    def write(
        self, records: list[KeyValue] | Decision, transactional: Transactional | None = None
    ) -> None:
        if isinstance(records, Decision):
            self.log += [(record, records.transactional) for record in records.records]
            if records.replay is not None:
                records.replay()
                return
            transactional, records = records.transactional, list(records.records)
        else:
            self.log += [(record, transactional) for record in records]
        for record in records:
            self.offsets.replay(*record, transactional)

    def place(
        self,
        positions: Sequence[tuple[OffsetKey, Committed]],
        transactional: Transactional | None,
        author: Author,
    ) -> None:
        for at, position in positions:
            if transactional is None:
                self.offsets.place(at, position, author)
            else:
                self.offsets.hold(at, position, transactional.producer_id)

    def commit(
        self, group: str, topic: str, partition: int, offset: int, now_ms: int = 0, who: str = ""
    ) -> None:
        wanted = [TopicToCommit(topic, ZERO_UUID, [at(partition, offset)])]
        records, positions, errors = self.offsets.commit(group, wanted, now_ms)
        assert errors == [0]
        self.log += [(record, None) for record in records]
        self.place(positions, None, Author(COMMIT, member_id=who))

    def commit_in_transaction(
        self, producer: int, group: str, topic: str, partition: int, offset: int
    ) -> None:
        wanted = [TopicToCommit(topic, ZERO_UUID, [at(partition, offset)])]
        records, _, _ = self.offsets.commit(group, wanted, 0)
        self.write(records, Transactional(producer, 0))

    def expire(self, now_ms: int) -> None:
        self.write(self.offsets.expired(now_ms, self.groups, self.topics))

    def delete(self, group: str, topic: str, partition: int, now_ms: int = 0) -> None:
        self.write(self.offsets.delete(group, [TopicPartition(topic, partition)], now_ms))

    def offset(self, group: str, topic: str, partition: int) -> int | None:
        found = self.offsets.find(group, topic, partition)
        return None if found is None else found.committed_offset
