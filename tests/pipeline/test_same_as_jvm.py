"""format("ottla") gives the rows that Spark's own Kafka connector gives, whatever the topic went through."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import TopicPartition

from tests.compat.test_compaction import COMPACT, SETTINGS, updates, wait_until_compacted
from tests.compat.test_transactions import transactional, write
from tests.support.broker import OttlaBroker
from tests.support.clients import admin, consume, create_topic, produce
from tools.spark_program import SparkProgram

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.compat, pytest.mark.java]

PARTITIONS = 3
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class Readers:
    """Both connectors, asked for the same."""

    def __init__(self, spark: SparkSession, jvm: SparkProgram) -> None:
        self.spark, self.jvm = spark, jvm

    def ottla(self, options: dict[str, str]) -> list[list[Any]]:
        from tools.spark.program import rows

        return rows(self.spark.read.format("ottla").options(**options).load())

    def same(self, bootstrap: str, topic: str, **more: str) -> list[list[Any]]:
        """The rows that both find."""
        options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, **more}
        expected = self.jvm.ask("read", options=options)["rows"]
        found = self.ottla(options)
        assert found == json.loads(json.dumps(expected))
        return found


@pytest.fixture
def readers(spark: SparkSession, jvm_spark: SparkProgram) -> Readers:
    return Readers(spark, jvm_spark)


def odd_records(count: int = 60) -> list[dict[str, Any]]:
    """All that keys, values and headers can be."""
    keys = (b"key", None, b"", "schl\u00fcssel".encode(), bytes(range(256)))
    values = (b"value", b"", None, b"\x00\xff" * 500)
    headers: tuple[list[tuple[str, bytes | None]], ...] = (
        [],
        [("a", b"1")],
        [("a", b"1"), ("a", b"2"), ("", b""), ("none", None), ("\u00e4", bytes(range(256)))],
    )
    return [
        {
            "key": keys[n % len(keys)],
            "value": values[n % len(values)],
            "headers": headers[n % len(headers)],
            "partition": n % PARTITIONS,
            "timestamp": 1_700_000_000_000 - n * 777,
        }
        for n in range(count)
    ]


def test_all_codecs_headers_and_nulls(readers: Readers, bootstrap: str) -> None:
    topic = create_topic(bootstrap, "odd", partitions=PARTITIONS, retention_ms=-1)
    for codec in CODECS:
        produce(bootstrap, topic, odd_records(), compression_type=codec)
    assert len(readers.same(bootstrap, topic, includeHeaders="true")) == 60 * len(CODECS)


def test_the_schema(readers: Readers, bootstrap: str, topic: str) -> None:
    for headers in ("false", "true"):
        options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic}
        options["includeHeaders"] = headers
        expected = readers.jvm.ask("read", options=options)["schema"]
        frame = readers.spark.read.format("ottla").options(**options).load()
        assert frame.schema.simpleString() == expected


def test_times_of_the_broker(readers: Readers, bootstrap: str) -> None:
    topic = create_topic(bootstrap, message_timestamp_type="LogAppendTime")
    produce(bootstrap, topic, [b"a", b"b"], compression_type="zstd")
    assert [row[6] for row in readers.same(bootstrap, topic)] == [1, 1]


def test_gaps_from_compaction(own_broker: Callable[..., OttlaBroker], readers: Readers) -> None:
    broker = own_broker(SETTINGS)
    topic = create_topic(broker.bootstrap, **COMPACT)
    produce(broker.bootstrap, topic, updates(), linger_ms=1)
    produce(broker.bootstrap, topic, [{"key": b"key-%d" % n, "value": None} for n in range(50)])
    wait_until_compacted(broker, topic)
    # The cleaner may still be at work: a reader that comes later may find less.
    found = readers.ottla({"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic})
    assert len(found) < 60 * 100
    broker.stop()
    broker.settings["log.cleaner.enable"] = "false"
    broker.start()
    same = readers.same(broker.bootstrap, topic)
    assert [row[4] for row in same] != list(range(len(same)))
    assert sum(row[1] is None for row in same) == 50


def test_gaps_from_transactions(readers: Readers, bootstrap: str) -> None:
    topic = create_topic(bootstrap, "transactions", partitions=PARTITIONS)
    clients = [transactional(bootstrap, compression_type=codec) for codec in ("none", "lz4")]
    for turn in range(8):
        for number, client in enumerate(clients):
            client.begin_transaction()
            for partition in range(PARTITIONS):
                write(client, topic, b"%d of %d" % (turn, number), partition=partition)
        for number, client in enumerate(clients):
            aborts = (turn + number) % 3 == 0
            client.abort_transaction() if aborts else client.commit_transaction()
        produce(bootstrap, topic, [{"value": b"plain", "partition": turn % PARTITIONS}])
    clients[0].begin_transaction()
    write(clients[0], topic, b"open")
    produce(bootstrap, topic, [{"value": b"behind it", "partition": 0}])
    for isolation in ("read_committed", "read_uncommitted"):
        rows = readers.same(bootstrap, topic, **{"kafka.isolation.level": isolation})
        assert (b"open".hex().upper() in [row[1] for row in rows]) == (
            isolation == "read_uncommitted"
        )
    clients[0].abort_transaction()


@pytest.fixture(scope="module")
def numbered(bootstrap: str) -> str:
    """A topic whose first records were deleted: 100 in each partition, a millisecond apart."""
    topic = create_topic(bootstrap, "numbered", partitions=PARTITIONS, retention_ms=-1)
    records = [
        {"value": b"%d" % n, "partition": n % PARTITIONS, "timestamp": 1_700_000_000_000 + n}
        for n in range(100 * PARTITIONS)
    ]
    produce(bootstrap, topic, records)
    client = admin(bootstrap)
    for future in client.delete_records([TopicPartition(topic, 0, 10)]).values():
        future.result(10)
    return topic


def each(topic: str, *values: int) -> str:
    return json.dumps({topic: {str(partition): value for partition, value in enumerate(values)}})


@pytest.mark.parametrize(
    "option",
    ["plain", "offsets", "times", "time", "assign", "pattern", "split", "limited", "late times"],
)
def test_the_same_options_mean_the_same(
    readers: Readers, bootstrap: str, numbered: str, option: str
) -> None:
    late = each(numbered, *[1_900_000_000_000] * PARTITIONS)
    options = {
        "plain": {},
        "offsets": {
            "startingOffsets": each(numbered, 20, -2, 95),
            "endingOffsets": each(numbered, 30, 50, -1),
        },
        "times": {
            "startingOffsetsByTimestamp": each(numbered, *[1_700_000_000_100] * PARTITIONS),
            "endingOffsetsByTimestamp": each(numbered, *[1_700_000_000_200] * PARTITIONS),
        },
        "time": {"startingTimestamp": "1700000000123", "endingTimestamp": "1700000000250"},
        "assign": {"assign": json.dumps({numbered: [0, 2]})},
        "pattern": {"subscribePattern": f"{numbered[:-1]}[0-9]"},
        "split": {"minPartitions": "7"},
        "limited": {"maxRecordsPerPartition": "33"},
        "late times": {
            "startingOffsetsByTimestamp": late,
            "startingOffsetsByTimestampStrategy": "latest",
        },
    }[option]
    servers = {"kafka.bootstrap.servers": bootstrap}
    named = {} if option in ("assign", "pattern") else {"subscribe": numbered}
    asked = {**servers, **named, **options}
    assert readers.ottla(asked) == readers.jvm.ask("read", options=asked)["rows"]


def test_keys_go_to_the_partitions_that_java_chooses(readers: Readers, bootstrap: str) -> None:
    rows = [{"key": f"key-{n}" * (n % 5), "value": str(n)} for n in range(300)]
    placed = []
    for write_rows in (write_with_jvm, write_with_ottla):
        topic = create_topic(bootstrap, "placed", partitions=7)
        write_rows(readers, {"kafka.bootstrap.servers": bootstrap, "topic": topic}, rows)
        there = [consume(bootstrap, topic, partition) for partition in range(7)]
        placed.append([sorted((m.key(), m.value()) for m in messages) for messages in there])
    assert placed[0] == placed[1]


def write_with_jvm(readers: Readers, sink: dict[str, str], rows: list[dict[str, str]]) -> None:
    readers.jvm.ask("write", rows=rows, columns=["key", "value"], sink=sink)


def write_with_ottla(readers: Readers, sink: dict[str, str], rows: list[dict[str, str]]) -> None:
    pairs = [(row["key"], row["value"]) for row in rows]
    frame = readers.spark.createDataFrame(pairs, "key string, value string")
    frame.write.format("ottla").options(**sink).mode("append").save()


def test_a_stream_goes_on_where_the_connector_stopped(
    readers: Readers, bootstrap: str, tmp_path: Path
) -> None:
    from tools.spark.program import rows, run_to_end

    topic = create_topic(bootstrap, "handed-over", partitions=PARTITIONS, retention_ms=-1)
    produce(bootstrap, topic, odd_records())
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic}
    options["startingOffsets"] = "earliest"
    path, checkpoint = str(tmp_path / "rows"), str(tmp_path / "checkpoint")
    readers.jvm.ask("stream", options=options, path=path, checkpoint=checkpoint)
    produce(bootstrap, topic, odd_records(30))
    stream = readers.spark.readStream.format("ottla").options(**options).load()
    places = {"path": path, "checkpointLocation": checkpoint}
    writer = stream.writeStream.format("parquet").options(**places).trigger(availableNow=True)
    assert run_to_end(writer.start()) == 1
    assert rows(readers.spark.read.parquet(path)) == readers.same(bootstrap, topic)
