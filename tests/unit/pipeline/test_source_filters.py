"""What filters leave to fetch."""

from datetime import UTC, datetime

import pytest
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
)

from ottla.base.ids import TopicPartition
from ottla.pipeline.source_filters import Limits
from ottla.pipeline.source_ranges import Range

PARTITION, OFFSET, TIMESTAMP, TOPIC = ("partition",), ("offset",), ("timestamp",), ("topic",)
WHOLE = Range(TopicPartition("t", 3), 10, 100)


def after(*filters: Filter) -> tuple[Limits, list[Filter]]:
    limits = Limits()
    return limits, limits.push(filters)


@pytest.mark.parametrize(
    ("given", "left"),
    [
        (EqualTo(OFFSET, 50), (50, 51)),
        (GreaterThan(OFFSET, 50), (51, 100)),
        (GreaterThanOrEqual(OFFSET, 50), (50, 100)),
        (LessThan(OFFSET, 50), (10, 50)),
        (LessThanOrEqual(OFFSET, 50), (10, 51)),
        (LessThan(OFFSET, 5), (10, 10)),
        (GreaterThan(OFFSET, 500), (501, 501)),
    ],
)
def test_offsets_bound_a_range_exactly(given: Filter, left: tuple[int, int]) -> None:
    limits, rest = after(given, IsNotNull(OFFSET))
    assert rest == []
    assert limits.within(WHOLE)[1:] == left


def test_several_offsets_leave_the_range_around_them_and_the_rest_to_spark() -> None:
    given = In(OFFSET, (30, 20))
    limits, rest = after(given)
    assert rest == [given]
    assert limits.within(WHOLE)[1:] == (20, 31)


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        (EqualTo(PARTITION, 3), True),
        (EqualTo(PARTITION, 4), False),
        (In(PARTITION, (1, 2)), False),
        (GreaterThan(PARTITION, 2), True),
        (LessThanOrEqual(PARTITION, 2), False),
        (EqualTo(TOPIC, "t"), True),
        (In(TOPIC, ("u",)), False),
    ],
)
def test_partitions_and_topics_are_left_out_whole(given: Filter, allowed: bool) -> None:
    limits, rest = after(given)
    assert rest == []
    assert limits.allows(WHOLE) is allowed


def test_a_time_says_where_to_begin_and_spark_still_looks_at_each_row() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    given = GreaterThanOrEqual(TIMESTAMP, moment)
    limits, rest = after(given)
    assert rest == [given]
    assert limits.since_ms is not None
    assert 0 <= moment.timestamp() * 1000 - limits.since_ms <= 2


@pytest.mark.parametrize(
    "given",
    [
        LessThan(TIMESTAMP, datetime(2026, 1, 1, tzinfo=UTC)),
        Not(EqualTo(OFFSET, 5)),
        StringContains(TOPIC, "t"),
        EqualTo(("key",), b"k"),
        EqualTo(("headers", "key"), "k"),
        IsNotNull(("key",)),
    ],
)
def test_other_filters_are_left_to_spark(given: Filter) -> None:
    limits, rest = after(given)
    assert rest == [given]
    assert limits.allows(WHOLE)
    assert limits.within(WHOLE) == WHOLE
