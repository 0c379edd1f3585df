"""Spark's own Kafka connector, unchanged, against ottla: what it reads, streams and writes."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.compat.test_transactions import COMMITTED, transactional, write
from tests.support.clients import consume, create_topic, produce
from tools.spark_program import SparkFailed, SparkProgram

pytestmark = [pytest.mark.compat, pytest.mark.java]

PARTITIONS = 3
RECORDS = 300


def records(count: int = RECORDS, first: int = 0) -> list[dict[str, Any]]:
    """Records that say which they are, the tenth of each ten without a value."""
    return [
        {
            "key": b"key-%d" % n,
            "value": b"value-%d" % n if n % 10 else None,
            "headers": [("n", b"%d" % n), ("none", None)],
            "partition": n % PARTITIONS,
            "timestamp": 1_700_000_000_000 + n,
        }
        for n in range(first, first + count)
    ]


def as_spark_shows(topic: str, written: list[dict[str, Any]]) -> list[list[Any]]:
    """The rows that records become; offsets begin with 0 in every partition."""
    rows = []
    for partition in range(PARTITIONS):
        there = [record for record in written if record["partition"] == partition]
        rows += [
            [shown(r["key"]), shown(r["value"]), topic, partition, offset, r["timestamp"] * 1000, 0]
            for offset, r in enumerate(there)
        ]
    return rows


def shown(data: bytes | None) -> str | None:
    return None if data is None else data.hex().upper()


def options(bootstrap: str, topic: str, **more: str) -> dict[str, str]:
    named = {name.replace("_", "."): value for name, value in more.items()}
    return {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
        **named,
    }


@pytest.fixture
def full_topic(bootstrap: str) -> str:
    # The records are of 2023.
    topic = create_topic(bootstrap, "spark", partitions=PARTITIONS, retention_ms=-1)
    produce(bootstrap, topic, records())
    return topic


def test_a_batch_reads_all_records(
    jvm_spark: SparkProgram, bootstrap: str, full_topic: str
) -> None:
    asked = options(bootstrap, full_topic, includeHeaders="true")
    rows = jvm_spark.ask("read", options=asked)["rows"]
    assert [row[:7] for row in rows] == as_spark_shows(full_topic, records())
    assert rows[0][7] == [["n", shown(b"0")], ["none", None]]


def test_a_batch_reads_what_offsets_and_timestamps_ask_for(
    jvm_spark: SparkProgram, bootstrap: str, full_topic: str
) -> None:
    begins = dict.fromkeys(map(str, range(PARTITIONS)), 1_700_000_000_000 + RECORDS - 30)
    asked = {
        "startingOffsetsByTimestamp": json.dumps({full_topic: begins}),
        "endingOffsets": json.dumps({full_topic: {"0": 95, "1": -1, "2": 91}}),
    }
    rows = jvm_spark.ask("read", options=options(bootstrap, full_topic) | asked)["rows"]
    assert [row[4] for row in rows] == [*range(90, 95), *range(90, 100), 90]


def test_a_stream_takes_what_has_come_since(
    jvm_spark: SparkProgram, bootstrap: str, full_topic: str, tmp_path: Path
) -> None:
    task = {
        "options": options(bootstrap, full_topic, maxOffsetsPerTrigger="150"),
        "path": str(tmp_path / "rows"),
        "checkpoint": str(tmp_path / "checkpoint"),
    }
    first = jvm_spark.ask("stream", **task)
    assert (first["rows"], first["batches"]) == (as_spark_shows(full_topic, records()), 2)
    produce(bootstrap, full_topic, records(30, RECORDS))
    second = jvm_spark.ask("stream", **task)
    assert second["rows"] == as_spark_shows(full_topic, records(RECORDS + 30))
    assert second["batches"] == 1


def test_what_it_writes_is_there(jvm_spark: SparkProgram, bootstrap: str, topic: str) -> None:
    rows = [
        {"key": f"key-{n}", "value": f"value-{n}", "headers": [("n", str(n))], "partition": 0}
        for n in range(100)
    ]
    sink = {"kafka.bootstrap.servers": bootstrap, "topic": topic, "includeHeaders": "true"}
    columns = ["key", "value", "headers", "partition"]
    jvm_spark.ask("write", rows=rows, columns=columns, sink=sink)
    written = {m.key(): (m.value(), m.headers()) for m in consume(bootstrap, topic)}
    assert written == {b"key-%d" % n: (b"value-%d" % n, [("n", b"%d" % n)]) for n in range(100)}


def test_a_stream_writes_to_another_topic(
    jvm_spark: SparkProgram, bootstrap: str, full_topic: str, topic: str, tmp_path: Path
) -> None:
    sink = {
        "kafka.bootstrap.servers": bootstrap,
        "kafka.compression.type": "zstd",
        "topic": topic,
        "checkpointLocation": str(tmp_path / "checkpoint"),
    }
    jvm_spark.ask("stream_copy", options=options(bootstrap, full_topic), sink=sink)
    copied = {message.key(): message.value() for message in consume(bootstrap, topic)}
    assert copied == {record["key"]: record["value"] for record in records()}


def test_only_what_was_committed_is_read(
    jvm_spark: SparkProgram, bootstrap: str, topic: str
) -> None:
    client = transactional(bootstrap)
    for ends in ("commit", "abort") * 5:
        client.begin_transaction()
        write(client, topic, ends.encode(), ends.encode())
        client.commit_transaction() if ends == "commit" else client.abort_transaction()
    client.begin_transaction()
    write(client, topic, b"open")
    for isolation, count in (("read_committed", 10), ("read_uncommitted", 21)):
        asked = options(bootstrap, topic, kafka_isolation_level=isolation)
        rows = jvm_spark.ask("read", options=asked)["rows"]
        assert len(rows) == count
    client.abort_transaction()
    committed = [message.offset() for message in consume(bootstrap, topic, **COMMITTED)]
    asked = options(bootstrap, topic, kafka_isolation_level="read_committed")
    assert [row[4] for row in jvm_spark.ask("read", options=asked)["rows"]] == committed


def test_a_topic_that_is_not_there_is_an_error(jvm_spark: SparkProgram, bootstrap: str) -> None:
    with pytest.raises(SparkFailed, match="UnknownTopicOrPartition"):
        jvm_spark.ask("read", options=options(bootstrap, "nowhere"))
