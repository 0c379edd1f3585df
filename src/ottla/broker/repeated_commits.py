"""A commit that may come again: a consumer commits the same partition over and over, and only the offset is another."""

from __future__ import annotations

from collections.abc import Callable

from ottla.broker.commits_together import FIRST_FLEXIBLE, FIRST_VERSION, LARGEST
from ottla.broker.context import RequestContext
from ottla.broker.reply import Reply
from ottla.cluster.image import TopicImage
from ottla.coordination.groups.commit_again import CommitAgain
from ottla.coordination.groups.offset_requests import Commit
from ottla.protocol.apis.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition
from ottla.protocol.encoders import encoder


class RepeatedCommit:
    """A commit of one position without metadata, which is `position` of both the request and what is asked.

    `answer` is a frame that says it was kept; `ask` has it done as any commit, which takes longer.
    """

    __slots__ = (
        "_again", "_asked", "answer", "ask", "client_id", "position", "topic", "version", "waits",
    )  # fmt: skip

    def __init__(
        self,
        context: RequestContext,
        request: OffsetCommitRequest,
        topic: TopicImage,
        asked: Commit,
        answer: bytes,
        ask: Callable[[RequestContext], Reply],
    ) -> None:
        self.version = context.version
        self.client_id = context.client_id
        self.topic = topic
        self.position: OffsetCommitRequestPartition = request.topics[0].partitions[0]
        self.ask = ask
        # Whether it has come in this turn of the loop and is not carried out yet.
        self.waits = False
        self._asked = asked
        self._again: CommitAgain | None = None
        self.answer = answer

    @property
    def again(self) -> CommitAgain:
        """What the coordinator does with it; made when it comes again, since most come once or very often."""
        if self._again is None:
            self._again = CommitAgain(self._asked)
        return self._again


def remember(
    context: RequestContext,
    frame: memoryview,
    pos: int,
    request: OffsetCommitRequest,
    commit: RepeatedCommit,
) -> None:
    """Keep what a commit of one position that exists says, in case it comes again."""
    version = context.version
    if version < FIRST_VERSION or commit.position.committed_metadata or len(frame) > LARGEST:
        return
    canonical = bytearray()
    encoder(OffsetCommitRequest, version, version >= FIRST_FLEXIBLE)(request, canonical)
    if canonical != frame[pos:]:
        return  # tagged fields are in it
    context.broker.commits.remember(frame, commit)
