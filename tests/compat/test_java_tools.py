"""Kafka 4.3's own command-line tools, which need no consumer group for what is done here."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from kafka.protocol.metadata import ApiVersionsRequest

from tests.support.clients import admin, consume, create_topic, produce, unique_name
from tests.support.java import run_java
from tests.support.requirements import requires
from tests.support.wire import Wire

pytestmark = [pytest.mark.compat, pytest.mark.java]

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
GET_OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
PRODUCER_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"
VERIFIABLE_PRODUCER = "org.apache.kafka.tools.VerifiableProducer"
CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
CLUSTER = "org.apache.kafka.tools.ClusterTool"
CLIENT_COMPATIBILITY = "org.apache.kafka.tools.ClientCompatibilityTest"
API_VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand"

DESCRIBE_ACLS = 29
Tool = Callable[..., str]


def test_topics_are_made_described_widened_and_deleted(java_tool: Tool) -> None:
    name = unique_name("java")
    java_tool(
        TOPICS, "--create", "--topic", name, "--partitions", "2", "--config", "segment.ms=5000"
    )
    described = java_tool(TOPICS, "--describe", "--topic", name)
    assert f"Topic: {name}" in described
    assert "PartitionCount: 2" in described
    assert "segment.ms=5000" in described
    java_tool(TOPICS, "--alter", "--topic", name, "--partitions", "3")
    assert "PartitionCount: 3" in java_tool(TOPICS, "--describe", "--topic", name)
    java_tool(TOPICS, "--delete", "--topic", name)
    assert name not in java_tool(TOPICS, "--list").split()


def test_topic_settings_are_changed_and_described(java_tool: Tool, topic: str) -> None:
    entity = ("--entity-type", "topics", "--entity-name", topic)
    added = "retention.ms=1000,cleanup.policy=[compact,delete]"
    java_tool(CONFIGS, "--alter", *entity, "--add-config", added)
    described = java_tool(CONFIGS, "--describe", *entity)
    assert "retention.ms=1000" in described
    assert "cleanup.policy=compact,delete" in described
    java_tool(CONFIGS, "--alter", *entity, "--delete-config", "retention.ms")
    assert "retention.ms" not in java_tool(CONFIGS, "--describe", *entity)


def test_group_settings_are_changed_and_described(java_tool: Tool) -> None:
    group = ("--group", unique_name("group"))
    java_tool(CONFIGS, "--alter", *group, "--add-config", "consumer.session.timeout.ms=46000")
    assert (
        "consumer.session.timeout.ms=46000 sensitive=false "
        "synonyms={DYNAMIC_GROUP_CONFIG:consumer.session.timeout.ms=46000, "
        "DEFAULT_CONFIG:group.consumer.session.timeout.ms=45000}"
    ) in java_tool(CONFIGS, "--describe", *group)


def test_every_broker_setting_is_described(java_tool: Tool) -> None:
    described = java_tool(CONFIGS, "--describe", "--entity-type", "brokers", "--all")
    assert "num.partitions=4" in described
    assert "log.retention.hours=168" in described


def test_the_console_producer_and_consumer_pass_lines(java_tool: Tool, topic: str) -> None:
    lines = "k1:hello\nk2:world\n"
    reader = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    java_tool(CONSOLE_PRODUCER, "--topic", topic, *reader, input=lines)
    output = java_tool(
        CONSOLE_CONSUMER,
        *("--topic", topic, "--partition", "0", "--offset", "earliest", "--max-messages", "2"),
        *("--formatter-property", "print.key=true", "--formatter-property", "key.separator=:"),
    )
    assert "k1:hello\nk2:world\n" in output


def test_offsets_are_got_and_records_deleted(
    bootstrap: str, java_tool: Tool, topic: str, tmp_path: Path
) -> None:
    produce(bootstrap, topic, [b"v"] * 10)
    assert f"{topic}:0:10" in java_tool(GET_OFFSETS, "--topic", topic)
    request = {"partitions": [{"topic": topic, "partition": 0, "offset": 4}], "version": 1}
    file = tmp_path / "delete.json"
    file.write_text(json.dumps(request))
    assert "low_watermark: 4" in java_tool(DELETE_RECORDS, "--offset-json-file", str(file))
    assert f"{topic}:0:4" in java_tool(GET_OFFSETS, "--topic", topic, "--time", "earliest")


def test_log_directories_are_described(bootstrap: str, java_tool: Tool, topic: str) -> None:
    produce(bootstrap, topic, [b"x" * 5000])
    output = java_tool(LOG_DIRS, "--describe", "--topic-list", topic)
    described = json.loads(next(line for line in output.splitlines() if line.startswith("{")))
    [broker] = described["brokers"]
    [[partition]] = [directory["partitions"] for directory in broker["logDirs"]]
    assert partition["partition"] == f"{topic}-0"
    assert partition["size"] > 5000


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_the_performance_producer_sends_everything(bootstrap: str, topic: str, codec: str) -> None:
    requires("java", "maven")
    output = run_java(
        PRODUCER_PERFORMANCE,
        *("--topic", topic, "--num-records", "20000", "--record-size", "100"),
        *("--throughput", "-1", "--bootstrap-server", bootstrap),
        *("--command-property", f"compression.type={codec}"),
    )
    assert "20000 records sent" in output
    assert len(consume(bootstrap, topic, check_crcs=True)) == 20_000


def test_the_verifiable_producer_gets_every_ack_in_order(
    bootstrap: str, java_tool: Tool, topic: str
) -> None:
    output = java_tool(
        VERIFIABLE_PRODUCER, "--topic", topic, "--max-messages", "500", "--acks", "-1"
    )
    events = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    offsets = [event["offset"] for event in events if event["name"] == "producer_send_success"]
    assert offsets == list(range(500))
    assert len(consume(bootstrap, topic)) == 500


def test_the_cluster_has_an_id_and_tells_its_versions(java_tool: Tool) -> None:
    assert re.search(r"Cluster ID: \S{22}", java_tool(CLUSTER, "cluster-id"))
    versions = java_tool(API_VERSIONS)
    assert "Produce(0): 0 to 13 [usable: 13]" in versions
    assert "Fetch(1): 4 to 18 [usable: 18]" in versions


def test_java_and_python_choose_the_same_partition_for_a_key(
    bootstrap: str, java_tool: Tool
) -> None:
    topic = create_topic(bootstrap, partitions=8)
    keys = [f"key-{n}" for n in range(50)]
    reader = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    java_tool(CONSOLE_PRODUCER, "--topic", topic, *reader, input="".join(f"{k}:v\n" for k in keys))
    homes = {message.key(): p for p in range(8) for message in consume(bootstrap, topic, p)}
    records = [{"key": key.encode(), "value": b"v"} for key in keys]
    for message in produce(bootstrap, topic, records, partitioner="murmur2_random"):
        assert homes[message.key()] == message.partition()


def test_kafkas_own_client_compatibility_test_passes(
    bootstrap: str, java_tool: Tool, wire: Wire, topic: str
) -> None:
    client = admin(bootstrap)
    client.delete_topics(["newtopic"])["newtopic"].exception(20)  # the tool makes it
    rows = wire.ask(ApiVersionsRequest[0]()).api_keys
    supported = {
        "--offsets-for-times-supported": True,
        "--cluster-id-supported": True,
        "--expect-record-too-large-exception": False,
        "--create-topics-supported": True,
        "--describe-acls-supported": any(row.api_key == DESCRIBE_ACLS for row in rows),
        "--describe-configs-supported": True,
        "--idempotent-producer-supported": True,
    }
    flags = [part for flag, value in supported.items() for part in (flag, str(value).lower())]
    output = java_tool(CLIENT_COMPATIBILITY, "--topic", topic, "--num-cluster-nodes", "1", *flags)
    assert "SUCCESS" in output
