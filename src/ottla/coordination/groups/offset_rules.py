"""Pure: what committed offsets ask of the group they belong to; classic and consumer groups both answer it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from ottla.coordination.decision import Transactional

if TYPE_CHECKING:
    from ottla.coordination.groups.offset_history import Author
    from ottla.coordination.groups.offset_records import Committed, OffsetKey
    from ottla.coordination.groups.offset_requests import Commit
    from ottla.coordination.groups.offsets import Offsets


class OffsetGroup(Protocol):
    """A group, as its offsets see it. Answers are error codes, 0 for yes."""

    def check_commit(self, asked: Commit) -> int:
        """Whether this member may commit now; in a group without members generation -1 may.

        A request that does not know of member epochs is not for members that have one.
        """

    def has_held(self, member_id: str, epoch: int, topic_id: UUID, partition: int) -> bool:
        """Whether this member was given a partition in an epoch that is over, and has not given it up (KIP-1251)."""

    def check_offset_fetch(self, member_id: str | None, generation: int) -> int:
        """Whether this member may read offsets; a classic group lets anybody."""

    def check_offset_delete(self) -> int:
        """NON_EMPTY_GROUP while members use a protocol whose subscriptions cannot be read."""

    def subscribes_to(self, topic: str) -> bool:
        """Whether a member still wants this topic; False in a group without members."""

    def offsets_expire_since(self, commit_timestamp_ms: int) -> int | None:
        """From when on the retention of an offset that nobody subscribes to is counted; None while it is not.

        A classic group that became empty counts from then; a simple group (protocol type ""), a stable classic group of
        consumers and any consumer group (KIP-848) from the commit; any other group keeps all its offsets.
        """

    def committed_by(self, member_id: str, now_ms: int) -> None:
        """A commit shows that a classic member is alive, as a heartbeat would."""


class OffsetShard(Protocol):
    """The part of a group coordinator's machine that requests about offsets need."""

    @property
    def groups(self) -> Mapping[str, OffsetGroup]:
        """Every group that exists."""

    @property
    def offsets(self) -> Offsets:
        """What all of them have committed."""

    def place(
        self,
        positions: Sequence[tuple[OffsetKey, Committed]],
        transactional: Transactional | None,
        author: Author,
    ) -> None:
        """Take in positions that are in the log."""


@dataclass(frozen=True, slots=True)
class OffsetLimits:
    """The settings that offsets obey."""

    metadata_max_bytes: int = 4096
    retention_ms: int = 7 * 24 * 60 * 60 * 1000
    check_interval_ms: int = 10 * 60 * 1000
