"""df.write.format("ottla"): what a frame has arrives, as a whole, or nothing of it does."""

from typing import Any

import pytest
from confluent_kafka import Message
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr, lit

from tests.support.clients import consume, create_topic, unique_name


def write(frame: DataFrame, bootstrap: str, topic: str | None = None, **options: Any) -> None:
    named = {"kafka.bootstrap.servers": bootstrap, **options}
    if topic is not None:
        named["topic"] = topic
    frame.write.format("ottla").options(**named).mode("append").save()


def committed(bootstrap: str, topic: str, partitions: int = 1) -> list[Message]:
    return [
        message
        for number in range(partitions)
        for message in consume(bootstrap, topic, number, isolation_level="read_committed")
    ]


def values(messages: list[Message]) -> list[bytes | None]:
    return [message.value() for message in messages]


def test_a_frame_arrives_with_all_its_columns(spark: SparkSession, bootstrap: str) -> None:
    topic = create_topic(bootstrap, partitions=2)
    frame = spark.sql(
        """select * from values
        (binary('k1'), binary('v1'), 1, array(struct('h', binary('1')), struct('h', null))),
        (null, binary('v2'), 0, array()), (binary('k3'), null, 1, null)
        as t(key, value, partition, headers)"""
    ).selectExpr(
        "key",
        "value",
        "partition",
        "cast(headers as array<struct<key: string, value: binary>>) headers",
    )
    write(frame.coalesce(1), bootstrap, topic)
    [second] = consume(bootstrap, topic, 0)
    first, third = consume(bootstrap, topic, 1)[:2]
    assert (first.key(), first.value(), first.headers()) == (
        b"k1",
        b"v1",
        [("h", b"1"), ("h", None)],
    )
    assert (second.key(), second.value(), second.headers()) == (None, b"v2", None)
    assert (third.key(), third.value(), third.headers()) == (b"k3", None, None)


def test_text_is_written_as_utf8_and_rows_choose_their_topics(
    spark: SparkSession, bootstrap: str
) -> None:
    one, two = create_topic(bootstrap), create_topic(bootstrap)
    frame = spark.range(100).selectExpr(
        f"if(id % 2 = 0, '{one}', '{two}') topic", "'Kü' key", "concat('v', id) value", "id extra"
    )
    write(frame, bootstrap)
    for topic, rest in ((one, 0), (two, 1)):
        found = committed(bootstrap, topic)
        assert sorted(values(found)) == sorted(b"v%d" % n for n in range(rest, 100, 2))
        assert {message.key() for message in found} == {"Kü".encode()}


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_batches_are_compressed_if_asked(spark: SparkSession, bootstrap: str, codec: str) -> None:
    topic = create_topic(bootstrap)
    frame = spark.range(500).selectExpr("repeat('x', 100) value")
    write(frame, bootstrap, topic, **{"kafka.compression.type": codec})
    assert values(committed(bootstrap, topic)) == [b"x" * 100] * 500


@pytest.mark.parametrize(
    ("sql", "options", "sentence"),
    [
        ("select 1 as value", {"topic": "t"}, "value is of type int and must be string or binary"),
        ("select 'x' as other", {"topic": "t"}, "has no column value"),
        ("select 'x' as value", {}, "add a column topic"),
        ("select 'x' as value", {"topic": "t", "topik": "t"}, "did you mean topic"),
    ],
)
def test_what_cannot_be_written_is_refused_before_a_task_runs(
    spark: SparkSession, bootstrap: str, sql: str, options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(PySparkException, match=sentence):
        write(spark.sql(sql), bootstrap, **options)


def test_overwrite_is_refused_and_deletes_nothing(
    spark: SparkSession, bootstrap: str, topic: str
) -> None:
    frame = spark.sql("select 'x' as value")
    write(frame, bootstrap, topic)
    named = {"kafka.bootstrap.servers": bootstrap, "topic": topic}
    with pytest.raises(PySparkException, match=r"use mode\('append'\)"):
        frame.write.format("ottla").options(**named).mode("overwrite").save()
    assert values(committed(bootstrap, topic)) == [b"x"]


def test_a_write_of_which_one_task_fails_leaves_nothing_to_see(
    spark: SparkSession, bootstrap: str, ottla_only: None
) -> None:
    topic = create_topic(bootstrap, partitions=2)
    failing = "if(id = 3000, raise_error('no more'), concat('v', id)) value"
    with pytest.raises(PySparkException, match="no more"):
        write(spark.range(0, 4000, 1, 4).selectExpr(failing), bootstrap, topic)
    assert committed(bootstrap, topic, 2) == []
    write(spark.range(4).selectExpr("concat('v', id) value"), bootstrap, topic)
    assert sorted(values(committed(bootstrap, topic, 2))) == [b"v0", b"v1", b"v2", b"v3"]


def test_a_version_is_written_once(
    spark: SparkSession, bootstrap: str, topic: str, ottla_only: None
) -> None:
    app = unique_name("app")

    def version(number: int, text: str) -> None:
        frame = spark.range(1).select(lit(text).alias("value"))
        write(frame, bootstrap, topic, txnAppId=app, txnVersion=number)

    version(1, "first")
    version(1, "again")
    version(5, "later")
    version(3, "older")
    version(6, "last")
    assert values(committed(bootstrap, topic)) == [b"first", b"later", b"last"]


def test_an_empty_frame_writes_nothing_and_its_version_counts(
    spark: SparkSession, bootstrap: str, topic: str, ottla_only: None
) -> None:
    app = unique_name("app")
    nothing = spark.range(10).where("id > 10").select(expr("'x'").alias("value"))
    write(nothing, bootstrap, topic, txnAppId=app, txnVersion=1)
    something = spark.sql("select 'x' as value")
    write(something, bootstrap, topic, txnAppId=app, txnVersion=1)
    assert committed(bootstrap, topic) == []


def test_rows_of_a_key_that_are_sorted_in_their_task_keep_their_order(
    spark: SparkSession, bootstrap: str
) -> None:
    topic = create_topic(bootstrap, partitions=3)
    rows = spark.range(3_000).selectExpr("concat('k', id % 7) key", "3000 - id number")
    sorted_rows = rows.repartition(4, "key").sortWithinPartitions("key", "number")
    write(sorted_rows.selectExpr("key", "cast(number as string) value"), bootstrap, topic)
    numbers: dict[bytes, list[int]] = {}
    for message in committed(bootstrap, topic, 3):
        numbers.setdefault(message.key(), []).append(int(message.value()))
    assert sum(map(len, numbers.values())) == 3_000
    assert all(found == sorted(found) for found in numbers.values())
    assert len(numbers) == 7


def test_a_broker_that_is_not_there_is_named(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match=r"nothing listens on localhost:1\b"):
        write(spark.sql("select 'x' as value"), "localhost:1", "t")
