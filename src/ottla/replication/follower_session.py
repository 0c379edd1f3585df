"""Pure: what a follower has told its leader already (KIP-227), so that each fetch names only what is new."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from ottla.protocol.apis.fetch import FetchPartition, FetchTopic, ForgottenTopic

Key = tuple[UUID, int]
End = tuple[int, int, int]
"""Where a replica ends: the epoch in which it follows, the offset behind its last record, and the epoch of that one."""

_NO_SESSION = 0
_FIRST_EPOCH = 0
_MAX_EPOCH = 2**31 - 1


class Wanted(NamedTuple):
    """From where on a partition is to be fetched, and what the follower knows of it."""

    leader_epoch: int
    offset: int
    last_epoch: int
    log_start_offset: int
    max_bytes: int

    @property
    def end(self) -> End:
        """Where the replica ended: an answer is for one that ends there still."""
        return self[:3]


class FollowerSession:
    """One session with one leader; without the leader's consent to it every fetch is full.

    `told` is what the leader believes that is wanted, and what it answers.
    """

    __slots__ = ("epoch", "id", "told")

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """The leader knows nothing: the next fetch is a full one."""
        self.id = _NO_SESSION
        self.epoch = _FIRST_EPOCH
        self.told: dict[Key, Wanted] = {}

    @property
    def knows_nothing(self) -> bool:
        """Whether the next fetch must name everything."""
        return self.id == _NO_SESSION

    def next(
        self, wanted: Mapping[Key, Wanted | None]
    ) -> tuple[list[FetchTopic], list[ForgottenTopic]]:
        """What to name in the next fetch, and what to have forgotten, of partitions that may have changed.

        None stands for one that is not to be fetched now.
        """
        told, news, gone = self.told, {}, []
        for key, each in wanted.items():
            if each is None:
                if told.pop(key, None) is not None:
                    gone.append(key)
            elif told.get(key) != each:
                told[key] = news[key] = each
        return _topics(news), _forgotten(gone)

    def answered(self, session_id: int) -> None:
        """The leader took the fetch, and names the session it keeps, if it keeps one."""
        if session_id == _NO_SESSION:
            self.begin_anew()
            return
        self.id = session_id
        self.epoch = 1 if self.epoch == _MAX_EPOCH else self.epoch + 1


def _topics(wanted: Mapping[Key, Wanted]) -> list[FetchTopic]:
    topics: dict[UUID, list[FetchPartition]] = {}
    for (topic_id, index), each in wanted.items():
        topics.setdefault(topic_id, []).append(
            FetchPartition(
                partition=index,
                current_leader_epoch=each.leader_epoch,
                fetch_offset=each.offset,
                last_fetched_epoch=each.last_epoch,
                log_start_offset=each.log_start_offset,
                partition_max_bytes=each.max_bytes,
            )
        )
    return [FetchTopic(topic_id=topic, partitions=parts) for topic, parts in topics.items()]


def _forgotten(keys: list[Key]) -> list[ForgottenTopic]:
    topics: dict[UUID, list[int]] = {}
    for topic_id, index in keys:
        topics.setdefault(topic_id, []).append(index)
    return [ForgottenTopic(topic_id=topic, partitions=parts) for topic, parts in topics.items()]
