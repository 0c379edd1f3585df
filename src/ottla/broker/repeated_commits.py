"""Commits that come again: a consumer commits the same partition over and over, and only the offset is another.

The bytes of such a request up to the offset are looked up, and what they say is known: 1.5 us, where decoding the
request and making sense of it takes 9.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from ottla.broker.context import RequestContext
from ottla.cluster.image import TopicImage
from ottla.coordination.groups.commit_again import CommitAgain
from ottla.coordination.groups.offset_requests import Commit
from ottla.protocol.apis.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition
from ottla.protocol.encoders import encoder

_FIRST_VERSION: Final = 6
_FIRST_FLEXIBLE: Final = 8
_MOST_KNOWN: Final = 4096
_LARGEST: Final = 1024
# What follows a partition's number: offset, leader epoch, then no metadata (null or empty) and, where the request is
# flexible, no tagged fields of the partition, of its topic and of the request.
_PLAIN: Final = Struct(">qih"), (0, -1)
_FLEXIBLE: Final = Struct(">qiI"), (0x01_000000, 0x00_000000)


class RepeatedCommit:
    """A commit of one position without metadata, which is `position` of both the request and what is asked."""

    __slots__ = ("_again", "answer", "asked", "client_id", "position", "request", "topic")

    def __init__(
        self,
        client_id: str | None,
        request: OffsetCommitRequest,
        topic: TopicImage,
        asked: Commit,
        answer: bytes,
    ) -> None:
        self.client_id = client_id
        self.request = request
        self.topic = topic
        self.asked = asked
        self._again: CommitAgain | None = None
        self.answer = answer
        self.position: OffsetCommitRequestPartition = request.topics[0].partitions[0]

    @property
    def again(self) -> CommitAgain:
        """What the coordinator does with it; made when it comes again, since most come once or very often."""
        if self._again is None:
            self._again = CommitAgain(self.asked)
        return self._again


_known: dict[tuple[int, bytes], RepeatedCommit] = {}


def recall(context: RequestContext, frame: memoryview, pos: int) -> RepeatedCommit | None:
    """The commit in a frame, its position set, if one like it came before; it is good for this turn of the loop."""
    version = context.version
    end, nothings = _FLEXIBLE if version >= _FIRST_FLEXIBLE else _PLAIN
    begin = len(frame) - end.size
    if begin > _LARGEST:
        return None
    known = _known.get((version, bytes(frame[pos:begin])))
    if known is None or known.client_id != context.client_id:
        return None
    offset, leader_epoch, nothing = end.unpack_from(frame, begin)
    if nothing not in nothings:
        return None
    # The topic may have been deleted since, or made anew.
    if context.broker.metadata.image.topics.get(known.topic.name) is not known.topic:
        return None
    known.position.committed_offset = offset
    known.position.committed_leader_epoch = leader_epoch
    return known


def remember(context: RequestContext, frame: memoryview, pos: int, commit: RepeatedCommit) -> None:
    """Keep what a commit of one position that exists says, in case it comes again."""
    version = context.version
    if version < _FIRST_VERSION or commit.position.committed_metadata or len(frame) > _LARGEST:
        return
    is_flexible = version >= _FIRST_FLEXIBLE
    canonical = bytearray()
    encoder(OffsetCommitRequest, version, is_flexible)(commit.request, canonical)
    if canonical != frame[pos:]:
        return  # tagged fields are in it
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    end, _ = _FLEXIBLE if is_flexible else _PLAIN
    _known[version, bytes(frame[pos : len(frame) - end.size])] = commit
