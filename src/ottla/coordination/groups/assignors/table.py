"""Pure: THE table of assignors, by the names that members know them by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final
from uuid import UUID

from ottla.coordination.groups.assignors.range import assign as assign_range
from ottla.coordination.groups.assignors.spec import Assignment, MemberSpec
from ottla.coordination.groups.assignors.uniform import assign as assign_uniform

ASSIGNORS: Final[
    Mapping[str, Callable[[Mapping[str, MemberSpec], Mapping[UUID, int]], Assignment]]
] = {"uniform": assign_uniform, "range": assign_range}
