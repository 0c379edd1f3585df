"""Pure: how far a stream's next batch goes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ottla.base.ids import TopicPartition
from ottla.pipeline.offsets import Offsets


def limited(
    start: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int], most: int
) -> Offsets:
    """The end of a batch of about `most` offsets, shared out by how much each partition has.

    A partition with little still gets one offset, so that it never starves.
    """
    waiting = {each: latest[each] - start.get(each, latest[each]) for each in latest}
    total = sum(size for size in waiting.values() if size > 0)
    if total <= most:
        return dict(latest)
    ends: Offsets = {}
    for each, size in waiting.items():
        share = most * size / total
        taken = math.ceil(share) if share < 1 else math.floor(share)
        ends[each] = latest[each] if size <= 0 else min(latest[each], start[each] + taken)
    return ends


@dataclass
class Patience:
    """Holds batches back until they are worth it, or have waited long enough."""

    min_offsets: int
    max_delay_ms: int
    last_ms: float = -math.inf

    def waits(
        self,
        start: Mapping[TopicPartition, int],
        latest: Mapping[TopicPartition, int],
        now_ms: float,
    ) -> bool:
        """Whether to wait for more; if not, a new wait begins now."""
        new = sum(max(0, end - start.get(each, end)) for each, end in latest.items())
        if new < self.min_offsets and now_ms - self.last_ms < self.max_delay_ms:
            return True
        self.last_ms = now_ms
        return False
