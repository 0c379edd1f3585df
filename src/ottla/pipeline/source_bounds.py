"""Where a read begins and ends, checked against what the logs hold."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import NamedTuple

from ottla.base.ids import TopicPartition
from ottla.pipeline.offsets import LATEST, Offsets
from ottla.pipeline.reading import HOW_TO_ACCEPT_LOSS, DataLoss
from ottla.pipeline.source_lookup import Lookup
from ottla.pipeline.source_options import SourceOptions


class Start(NamedTuple):
    """Where a read begins; `at_end` are the partitions where that is the end of the log, which moves on."""

    offsets: Offsets
    at_end: frozenset[TopicPartition] = frozenset()


def starting_offsets(lookup: Lookup, options: SourceOptions) -> Start:
    """Where to begin; where the log does not reach to what was asked for, at its near end if that is allowed."""
    bound = options.starting
    assert bound is not None
    offsets, at_end = lookup.resolved("startingOffsets", bound, options.starting_time_strategy)
    if bound.by_time or not bound.each:
        return Start(offsets, at_end)
    earliest = lookup.earliest(offsets)
    lost = {each: begin for each, begin in earliest.items() if offsets[each] < begin}
    if lost:
        each, begin = min(lost.items())
        said = f"offset {offsets[each]} of {each} is gone: its log begins at {begin}"
        _report(options, said, "what is gone is passed over")
    within = {each: max(offsets[each], begin) for each, begin in earliest.items()}
    return Start(_up_to_the_end("startingOffsets", within, lookup, options), at_end)


def ending_offsets(lookup: Lookup, options: SourceOptions) -> Offsets:
    """Where a batch ends; at the end of the log where that is nearer, if that is allowed."""
    bound = options.ending
    assert bound is not None
    offsets, _ = lookup.resolved("endingOffsets", bound, "latest")
    if bound.by_time or not bound.each:
        return offsets
    return _up_to_the_end("endingOffsets", offsets, lookup, options)


def may_begin_at_end(options: SourceOptions, partition: TopicPartition) -> bool:
    """Whether a start that is looked up again may be another one, since it depends on the end of a log."""
    bound = options.starting
    assert bound is not None
    if bound.by_time:
        return options.starting_time_strategy == "latest"
    return LATEST in (bound.everywhere, bound.each.get(partition))


def _up_to_the_end(
    option: str, asked: Mapping[TopicPartition, int], lookup: Lookup, options: SourceOptions
) -> Offsets:
    ends = lookup.log_ends(asked)
    beyond = {each: end for each, end in ends.items() if asked[each] > end}
    if beyond:
        each, end = min(beyond.items())
        said = f"{option} names offset {asked[each]} of {each}, but its log ends at {end}"
        _report(options, said, "what is not there is passed over")
    return {each: min(asked[each], end) for each, end in ends.items()}


def _report(options: SourceOptions, said: str, passed: str) -> None:
    if options.fail_on_data_loss:
        raise DataLoss(f"{said}. {HOW_TO_ACCEPT_LOSS}")
    warnings.warn(f"{said}; {passed}", stacklevel=2)
