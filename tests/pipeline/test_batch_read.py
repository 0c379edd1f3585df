"""spark.read.format("ottla"): what a batch reads, option by option."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.compat.test_transactions import transactional
from tests.pipeline.topics import delete_before
from tests.support.clients import create_topic, produce

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.compat, pytest.mark.java]

PUSH_DOWN = "spark.sql.python.filterPushdown.enabled"
RECORDS = 40
T0_MS = 1_700_000_000_000
"""When the first record of `numbers` was written, as its producer says; each next is a second later."""


class Reads:
    """Short words for reading the session's broker."""

    def __init__(self, spark: SparkSession, bootstrap: str) -> None:
        self.spark, self.bootstrap = spark, bootstrap

    def frame(self, **options: str) -> DataFrame:
        reader = self.spark.read.format("ottla").option("kafka.bootstrap.servers", self.bootstrap)
        return reader.options(**options).load()

    def offsets(self, **options: str) -> list[tuple[int, int]]:
        rows = self.frame(**options).select("partition", "offset").collect()
        return sorted((row.partition, row.offset) for row in rows)


@pytest.fixture
def reads(spark: SparkSession, bootstrap: str) -> Reads:
    return Reads(spark, bootstrap)


@pytest.fixture(scope="module")
def numbers(bootstrap: str) -> str:
    """A topic of two partitions, 20 records each, a second between two of a partition."""
    topic = create_topic(bootstrap, "numbers", partitions=2, retention_ms=-1)
    produce(
        bootstrap,
        topic,
        [
            {"value": b"%d" % n, "partition": n % 2, "timestamp": T0_MS + n // 2 * 1000}
            for n in range(RECORDS)
        ],
    )
    return topic


def test_rows_have_the_columns_of_the_kafka_connector(reads: Reads, topic: str) -> None:
    now_ms = int(time.time() * 1000)
    record: dict[str, Any] = {"key": b"k", "value": b"v", "timestamp": now_ms}
    headers = [("a", b"1"), ("b", None)]
    produce(reads.bootstrap, topic, [{**record, "headers": headers}, {"key": b"gone"}])
    frame = reads.frame(subscribe=topic, includeHeaders="true")
    assert [f"{name} {kind}" for name, kind in frame.dtypes] == [
        "key binary",
        "value binary",
        "topic string",
        "partition int",
        "offset bigint",
        "timestamp timestamp",
        "timestampType int",
        "headers array<struct<key:string,value:binary>>",
    ]
    first, second = frame.orderBy("offset").collect()
    assert tuple(first)[:5] == (b"k", b"v", topic, 0, 0)
    assert first.timestamp.astimezone(UTC) == datetime.fromtimestamp(now_ms / 1000, UTC)
    assert [tuple(each) for each in first.headers] == headers
    assert (second.key, second.value, second.timestampType, second.headers) == (
        b"gone",
        None,
        0,
        None,
    )


def test_a_batch_reads_all_there_is(reads: Reads, numbers: str) -> None:
    found = reads.offsets(subscribe=numbers)
    assert found == [(partition, offset) for partition in (0, 1) for offset in range(20)]


def test_times_are_the_same_moments_in_every_time_zone(reads: Reads, numbers: str) -> None:
    frame = reads.frame(subscribe=numbers).where("partition = 0 and offset = 1")
    before = reads.spark.conf.get("spark.sql.session.timeZone")
    try:
        for zone, shown in (("UTC", "22:13:21"), ("Asia/Kolkata", "03:43:21")):
            reads.spark.conf.set("spark.sql.session.timeZone", zone)
            [row] = frame.selectExpr(
                "unix_millis(timestamp) ms", "string(timestamp) text"
            ).collect()
            assert (row.ms, row.text[11:]) == (T0_MS + 1000, shown)
    finally:
        reads.spark.conf.set("spark.sql.session.timeZone", str(before))


def test_offsets_bound_a_batch(reads: Reads, numbers: str) -> None:
    found = reads.offsets(
        subscribe=numbers,
        startingOffsets=json.dumps({numbers: {"0": 18, "1": -2}}),
        endingOffsets=json.dumps({numbers: {"0": -1, "1": 1}}),
    )
    assert found == [(0, 18), (0, 19), (1, 0)]


def test_times_bound_a_batch(reads: Reads, numbers: str) -> None:
    begin, end = T0_MS + 3_000, T0_MS + 5_000
    assert reads.offsets(
        subscribe=numbers, startingTimestamp=str(begin), endingTimestamp=str(end)
    ) == [(0, 3), (0, 4), (1, 3), (1, 4)]
    by_partition = {numbers: {"0": T0_MS + 19_000, "1": T0_MS + 18_001}}
    assert reads.offsets(
        subscribe=numbers,
        startingOffsetsByTimestamp=json.dumps(by_partition),
        endingOffsetsByTimestamp=json.dumps({numbers: {"0": end * 2, "1": end * 2}}),
    ) == [(0, 19), (1, 19)]


def test_a_time_after_all_records(reads: Reads, numbers: str) -> None:
    late = {"subscribe": numbers, "startingTimestamp": str(T0_MS * 2)}
    with pytest.raises(Exception, match=r"no record of .* is as late as that"):
        reads.offsets(**late)
    assert reads.offsets(**late, startingOffsetsByTimestampStrategy="latest") == []


def test_topics_by_pattern_and_partitions_by_number(reads: Reads, numbers: str) -> None:
    pattern = numbers.replace("numbers", "n.mb..s")
    assert len(reads.offsets(subscribePattern=pattern)) == RECORDS
    assert reads.offsets(subscribePattern="nothing-is-called-this") == []
    assigned = reads.offsets(assign=json.dumps({numbers: [1]}))
    assert assigned == [(1, offset) for offset in range(20)]


def test_options_decide_how_many_tasks_there_are(reads: Reads, numbers: str) -> None:
    for options, tasks in (
        ({}, 2),
        ({"minPartitions": "6"}, 6),
        ({"maxRecordsPerPartition": "5"}, 8),
    ):
        frame = reads.frame(subscribe=numbers, **options)
        assert frame.rdd.getNumPartitions() == tasks
        assert frame.count() == RECORDS


@pytest.fixture(params=["true", "false"], ids=["pushed-down", "spark-defaults"])
def push_down(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[bool]:
    """With filters handed to the source, and with Spark's defaults, where they are not."""
    before = spark.conf.get(PUSH_DOWN)
    spark.conf.set(PUSH_DOWN, request.param)
    yield request.param == "true"
    spark.conf.set(PUSH_DOWN, before)


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("partition = 1 and offset >= 18", [(1, 18), (1, 19)]),
        ("offset in (3, 5) and partition < 1", [(0, 3), (0, 5)]),
        ("partition = 7", []),
        ("timestamp >= timestamp_millis(1700000018500)", [(0, 19), (1, 19)]),
        ("timestamp = timestamp_millis(1700000002000) and value = '4'", [(0, 2)]),
    ],
)
def test_filters_leave_the_same_rows_either_way(
    reads: Reads, numbers: str, push_down: bool, condition: str, found: list[tuple[int, int]]
) -> None:
    rows = reads.frame(subscribe=numbers).where(condition).collect()
    assert sorted((row.partition, row.offset) for row in rows) == found


def test_filters_that_are_pushed_down_save_tasks(
    reads: Reads, numbers: str, push_down: bool
) -> None:
    frame = reads.frame(subscribe=numbers).where("partition = 1")
    assert frame.rdd.getNumPartitions() == (1 if push_down else 2)


def test_aborted_transactions_stay_out_under_read_committed(reads: Reads, topic: str) -> None:
    writer = transactional(reads.bootstrap)
    for value, ends in ((b"a", True), (b"b", False), (b"c", True)):
        writer.begin_transaction()
        writer.produce(topic, value)
        writer.commit_transaction(20) if ends else (writer.flush(20), writer.abort_transaction(20))
    committed = reads.frame(subscribe=topic, **{"kafka.isolation.level": "read_committed"})
    assert sorted(row.value for row in committed.collect()) == [b"a", b"c"]
    assert sorted(row.value for row in reads.frame(subscribe=topic).collect()) == [b"a", b"b", b"c"]


def test_records_that_are_gone_fail_a_read_or_are_passed_over(reads: Reads, topic: str) -> None:
    produce(reads.bootstrap, topic, [b"%d" % n for n in range(10)])
    delete_before(reads.bootstrap, topic, 6)
    options = {"subscribe": topic, "startingOffsets": json.dumps({topic: {"0": 2}})}
    with pytest.raises(Exception, match=r"offset 2 of .* is gone: its log begins at 6.*failOnData"):
        reads.offsets(**options)
    assert reads.offsets(**options, failOnDataLoss="false") == [(0, n) for n in range(6, 10)]


def test_offsets_beyond_the_end_fail_a_read_or_are_cut_off(reads: Reads, numbers: str) -> None:
    whole = {"subscribe": numbers, "startingOffsets": json.dumps({numbers: {"0": 18, "1": 20}})}
    ends = {"endingOffsets": json.dumps({numbers: {"0": 21, "1": 20}})}
    with pytest.raises(
        Exception,
        match=r"endingOffsets names offset 21 of .*-0, but its log ends at 20\. .*failOnD",
    ):
        reads.offsets(**whole, **ends)
    assert reads.offsets(**whole, **ends, failOnDataLoss="false") == [(0, 18), (0, 19)]
    beyond = {"subscribe": numbers, "startingOffsets": json.dumps({numbers: {"0": 18, "1": 99}})}
    with pytest.raises(
        Exception, match=r"startingOffsets names offset 99 of .*-1, but its log ends at 20"
    ):
        reads.offsets(**beyond)
    assert reads.offsets(**beyond, failOnDataLoss="false") == [(0, 18), (0, 19)]


def test_a_read_that_is_not_read_to_its_end_hurts_no_other(reads: Reads, numbers: str) -> None:
    frame = reads.frame(subscribe=numbers, **{"kafka.max.partition.fetch.bytes": "100"})
    assert len(frame.limit(1).collect()) == 1
    assert frame.count() == RECORDS
