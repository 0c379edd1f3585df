"""Pure: a commit of one position that comes over and over, with nothing new but the offset, its epoch and the moment.

What consumers do all day. The record is there already and gets its few new bytes in place.
"""

from __future__ import annotations

from typing import Final

from ottla.coordination.batches import RepeatedRecord
from ottla.coordination.groups.offset_history import COMMIT, Author
from ottla.coordination.groups.offset_records import (
    NO_EXPIRY,
    bare_position,
    encode_position,
    key_of,
    patch_position,
    topic_tags,
)
from ottla.coordination.groups.offset_requests import Commit
from ottla.coordination.groups.offset_rules import OffsetShard

_NO_METADATA: Final = ""


class CommitAgain:
    """One position without metadata and without a time at which it expires, of the request that `asked` was made of.

    Offset and leader epoch are read from that request each time: they are the parts of it that change.
    """

    __slots__ = ("_asked", "_at", "_author", "_position", "_topic_id", "key", "record")

    def __init__(self, asked: Commit) -> None:
        [(name, topic_id, [position])] = asked.topics
        self.key = asked.group_id
        self._asked = asked
        self._position = position
        self._topic_id = topic_id
        self._author = Author(COMMIT, asked.member_id, asked.client_id)
        self._at, key = key_of(asked.group_id, name, position.partition_index)
        value = encode_position(0, 0, _NO_METADATA, 0, NO_EXPIRY, topic_tags(topic_id))
        self.record = RepeatedRecord(key, value)

    def decide(self, shard: OffsetShard, now_ms: int) -> bool:
        """Write down what is committed; False where the group is new or refuses it, which takes more words."""
        asked = self._asked
        group = shard.groups.get(asked.group_id)
        if group is None or group.check_commit(asked):
            return False
        group.committed_by(asked.member_id, now_ms)
        record, position = self.record, self._position
        offset, leader_epoch = position.committed_offset, position.committed_leader_epoch
        patch_position(record.batch, record.value_pos, offset, leader_epoch, now_ms)
        return True

    def replay(self, shard: OffsetShard, now_ms: int) -> None:
        """Take in what was appended."""
        position = self._position
        offset, leader_epoch = position.committed_offset, position.committed_leader_epoch
        index = position.partition_index
        placed = bare_position(offset, leader_epoch, now_ms, self._topic_id, index)
        shard.offsets.place(self._at, placed, self._author)
