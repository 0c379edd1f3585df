"""Tries partitions again whose log could not be made or opened: a full disk may have space again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.cluster.metadata import Metadata
    from ottla.replication.partitions import Partitions

_FIRST_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 30.0


async def keep_opening(partitions: Partitions, metadata: Metadata) -> None:
    """Have the metadata told again for as long as there are some: a coordinator may wait for them, too."""
    pause_s = _FIRST_PAUSE_S
    while True:
        await asyncio.sleep(pause_s)
        topics = partitions.unopened()
        if topics:
            await metadata.told_again(topics)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S) if partitions.unopened() else _FIRST_PAUSE_S
