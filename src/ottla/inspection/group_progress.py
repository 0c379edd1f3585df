"""How far groups are in the partitions they read: committed offsets against the ends of logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.inspection.sizes import Span, spans

if TYPE_CHECKING:
    from ottla.client.admin import Admin
    from ottla.client.administration.groups import GroupDescription, MemberDescription


class Reading(NamedTuple):
    """A group in a partition; None where nothing is committed, nobody leads, or nobody reads."""

    at: TopicPartition
    committed: int | None
    span: Span | None
    member: MemberDescription | None

    @property
    def lag(self) -> int | None:
        """How many offsets lie between what is committed and the end."""
        if self.committed is None or self.span is None:
            return None
        return max(0, self.span.end - self.committed)


async def readings(admin: Admin, group: GroupDescription) -> list[Reading]:
    """A group in all partitions that it has committed for, or whose members read them."""
    committed = {
        at: found.offset
        for at, found in (await admin.list_group_offsets(group.group_id)).items()
        if not isinstance(found, ApiError) and found.offset >= 0
    }
    readers = {at: member for member in group.members for at in member.assignment}
    wanted = sorted({*committed, *readers})
    held = await spans(admin, wanted) if wanted else {}
    return [Reading(at, committed.get(at), held.get(at), readers.get(at)) for at in wanted]
