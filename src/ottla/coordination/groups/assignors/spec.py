"""Pure: what an assignor is given and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias
from uuid import UUID

from ottla.coordination.groups.consumer_member import Partitions

Assignment: TypeAlias = Mapping[str, Partitions]
"""What each member gets; everybody is named, also who gets nothing."""


class MemberSpec(NamedTuple):
    """A member as assignors see it: the topics it wants, all of which exist, and what it was given before."""

    topics: frozenset[UUID]
    given: Partitions
    instance_id: str | None = None
