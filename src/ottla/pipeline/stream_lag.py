"""`lag()`: how far a streaming query is behind the topics it reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ottla.base.ids import TopicPartition
from ottla.pipeline.offsets import Offsets, from_json

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


class Lag(NamedTuple):
    """Offsets still to be read: in all, and of each partition."""

    total: int
    partitions: Mapping[TopicPartition, int]


def lag(query: StreamingQuery) -> Lag | None:
    """The lag after the last batch of a query; None before its first progress report."""
    progress = query.lastProgress
    if progress is None:
        return None
    behind: dict[TopicPartition, int] = {}
    for source in progress["sources"]:
        latest, end = _offsets(source["latestOffset"]), _offsets(source["endOffset"])
        if latest is not None and end is not None:
            found = {each: max(0, latest[each] - end.get(each, 0)) for each in latest}
            behind.update({each: count + behind.get(each, 0) for each, count in found.items()})
    return Lag(sum(behind.values()), behind)


def _offsets(reported: Any) -> Offsets | None:
    """The offsets in a progress report; None for a source of another sort."""
    try:
        return from_json(json.loads(reported) if isinstance(reported, str) else reported)
    except (ValueError, TypeError):
        return None
