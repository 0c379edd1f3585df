"""What streaming queries tell in the topic `__ottla_pipelines`, where they do, and where they keep silent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import SparkFiles

from ottla.base.errors import ApiError
from ottla.client.administration.configs import ConfigResource, ResourceType
from ottla.client.sync_admin import SyncAdmin
from ottla.pipeline import progress_topic
from ottla.pipeline.progress_topic import PIPELINES_TOPIC, ProgressTopic
from tests.support.clients import consume, create_topic, produce, unique_name
from tests.support.waiting import wait_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.java

WITHIN_S = 60.0


def stream(spark: SparkSession, bootstrap: str, topic: str, **options: str) -> DataFrame:
    reader = spark.readStream.format("ottla").options(startingOffsets="earliest", **options)
    return reader.options(**{"kafka.bootstrap.servers": bootstrap, "subscribe": topic}).load()


def finish(writer: Any, checkpoint: Path) -> str:
    """Run a stream over all there is; the id of its query."""
    writer = writer.option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(WITHIN_S)
    return str(query.id)


def told(bootstrap: str, key: str) -> list[dict[str, Any]]:
    """What was published under a key, from the first word to the last."""
    with SyncAdmin({"bootstrap.servers": bootstrap}) as admin:
        if PIPELINES_TOPIC not in admin.list_topics():
            return []
    records = consume(bootstrap, PIPELINES_TOPIC)
    return [json.loads(each.value()) for each in records if each.key() == key.encode()]


def ended(bootstrap: str, query: str) -> list[dict[str, Any]]:
    """What a query told, once it has told of its end."""
    states = lambda: [each["state"] for each in told(bootstrap, query)]  # noqa: E731
    wait_for(lambda: states()[-1:] == ["ended"], "the query's last word", WITHIN_S)
    return told(bootstrap, query)


def test_a_query_tells_the_cluster_that_it_reads(
    spark: SparkSession, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    produce(bootstrap, topic, [b"1", b"2", b"3"])
    writer = stream(spark, bootstrap, topic).writeStream.format("noop").queryName("counting")
    query = finish(writer, tmp_path)
    first, *_, last = ended(bootstrap, query)
    assert (first["state"], first["name"]) == ("started", "counting")
    assert last["sources"][0]["numInputRows"] == 3
    assert last["sources"][0]["endOffset"] == {topic: {"0": 3}}
    assert policy(bootstrap) == "compact"


def policy(bootstrap: str) -> str | None:
    """How the topic forgets."""
    with SyncAdmin({"bootstrap.servers": bootstrap}) as admin:
        [found] = admin.describe_configs(
            [ConfigResource(ResourceType.TOPIC, PIPELINES_TOPIC)]
        ).values()
    assert not isinstance(found, ApiError), found
    return found["cleanup.policy"].value


def test_a_query_tells_the_cluster_that_it_writes(
    spark: SparkSession, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "lines.txt").write_text("a\nb\n")
    lines = spark.readStream.text(str(tmp_path / "in"))
    sink = {"kafka.bootstrap.servers": bootstrap, "topic": topic}
    query = finish(lines.writeStream.format("ottla").options(**sink), tmp_path / "checkpoint")
    assert ended(bootstrap, query)[-1]["sink"]["numOutputRows"] == 2


@pytest.fixture
def plain(spark: SparkSession) -> Iterator[SparkSession]:
    """A session as Spark makes it, of a driver that knows nothing of ottla."""
    mark = Path(SparkFiles.getRootDirectory(), "ottla-progress")
    mark.unlink()
    yield spark.newSession()
    mark.touch()


def test_a_source_in_any_other_session_tells_its_offsets(
    plain: SparkSession, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    produce(bootstrap, topic, [b"1", b"2"])
    group = unique_name("group")
    frame = stream(plain, bootstrap, topic, **{"kafka.group.id": group})
    query = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start()
    try:
        states = lambda: [each["state"] for each in told(bootstrap, group)]  # noqa: E731
        wait_for(lambda: states()[-1:] == ["idle"], "the stream to come to rest", WITHIN_S)
    finally:
        query.stop()
    first, last = told(bootstrap, group)[0], told(bootstrap, group)[-1]
    assert (first["state"], first["group"]) == ("running", group)
    assert last["sources"][0]["endOffset"] == {topic: {"0": 2}}
    assert told(bootstrap, str(query.id)) == []


def test_a_query_that_is_not_to_tell_does_not(
    spark: SparkSession, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    produce(bootstrap, topic, [b"1"])
    quiet = stream(spark, bootstrap, topic, publishProgress="false").writeStream.format("noop")
    silent = finish(quiet, tmp_path / "quiet")
    other = stream(spark, bootstrap, topic).writeStream.format("noop")
    # Words are published in order: had the first query said something, it would be there before this one's last.
    ended(bootstrap, finish(other, tmp_path / "other"))
    assert told(bootstrap, silent) == []


def test_apache_kafka_gets_no_topic_unasked(
    spark: SparkSession, plain: SparkSession, kafka: str, tmp_path: Path
) -> None:
    topic = create_topic(kafka)
    produce(kafka, topic, [b"1"])
    unasked = stream(spark, kafka, topic).writeStream.format("noop")
    silent = finish(unasked, tmp_path / "unasked")
    finish(stream(plain, kafka, topic).writeStream.format("noop"), tmp_path / "plain")
    assert told(kafka, silent) == []
    asked = stream(spark, kafka, topic, publishProgress="true").writeStream.format("noop")
    assert ended(kafka, finish(asked, tmp_path / "asked"))[-1]["state"] == "ended"
    assert told(kafka, silent) == []


def test_what_cannot_be_published_ends_nothing(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(client: object) -> None:
        raise OSError("Too many open files")

    query = unique_name("query")
    topic = ProgressTopic({"bootstrap.servers": bootstrap}, on_kafka=False)
    with monkeypatch.context() as machine:
        machine.setattr(progress_topic, "SyncAdmin", refused)
        topic.tell(query, {"state": "started"}, wait_s=WITHIN_S)
    topic._retry_at = 0.0  # as if the pause after a failure were over
    topic.tell(query, {"state": "running"}, wait_s=WITHIN_S)
    assert [each["state"] for each in told(bootstrap, query)] == ["running"]
