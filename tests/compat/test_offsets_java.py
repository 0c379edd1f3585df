"""Kafka's own tools show committed offsets, and change them."""

import re
from collections.abc import Callable

import pytest
from confluent_kafka import TopicPartition

from tests.support.clients import consumer, create_topic, produce, unique_name

pytestmark = [pytest.mark.compat, pytest.mark.java]

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
OFFSETS_FORMATTER = "org.apache.kafka.tools.consumer.OffsetsMessageFormatter"
Tool = Callable[..., str]


@pytest.fixture
def group(bootstrap: str, topic: str) -> str:
    """A group without members that has read seven of ten records."""
    name = unique_name("group")
    produce(bootstrap, topic, [b"v"] * 10)
    client = consumer(bootstrap, group_id=name)
    client.commit(offsets=[TopicPartition(topic, 0, 7)], asynchronous=False)
    client.close()
    return name


def described(java_tool: Tool, group: str) -> dict[tuple[str, int], tuple[str, str, str]]:
    """Current offset, end offset and lag of each partition."""
    output = java_tool(GROUPS, "--describe", "--group", group)
    rows = re.findall(rf"^{group}\s+(\S+)\s+(\d+)\s+(\S+)\s+(\S+)\s+(\S+)", output, re.MULTILINE)
    return {(topic, int(index)): (now, end, lag) for topic, index, now, end, lag in rows}


def test_a_group_is_described_with_its_lag(java_tool: Tool, topic: str, group: str) -> None:
    assert described(java_tool, group) == {(topic, 0): ("7", "10", "3")}
    assert group in java_tool(GROUPS, "--list").split()
    assert re.search(
        rf"{group}.*Empty\s+0", java_tool(GROUPS, "--describe", "--group", group, "--state")
    )


@pytest.mark.parametrize(
    ("how", "offset"),
    [
        (("--to-earliest",), "0"),
        (("--to-latest",), "10"),
        (("--to-offset", "4"), "4"),
        (("--shift-by", "-2"), "5"),
    ],
)
def test_offsets_are_reset(
    java_tool: Tool, topic: str, group: str, how: tuple[str, ...], offset: str
) -> None:
    reset = ("--reset-offsets", "--group", group, "--topic", topic, "--execute")
    assert re.search(rf"{topic}\s+0\s+{offset}\b", java_tool(GROUPS, *reset, *how))
    assert described(java_tool, group)[topic, 0][0] == offset


def test_offsets_are_deleted(bootstrap: str, java_tool: Tool, topic: str, group: str) -> None:
    other = create_topic(bootstrap)
    client = consumer(bootstrap, group_id=group)
    client.commit(offsets=[TopicPartition(other, 0, 1)], asynchronous=False)
    client.close()
    output = java_tool(GROUPS, "--delete-offsets", "--group", group, "--topic", topic)
    assert re.search(rf"{topic}\s+0\s+Successful", output)
    assert list(described(java_tool, group)) == [(other, 0)]


def test_the_records_are_kafkas(java_tool: Tool, topic: str, group: str) -> None:
    output = java_tool(
        CONSOLE_CONSUMER,
        *("--topic", "__consumer_offsets", "--from-beginning", "--timeout-ms", "5000"),
        *("--formatter", OFFSETS_FORMATTER),
    )
    [line] = [line for line in output.splitlines() if topic in line]
    assert f'"group":"{group}"' in line
    assert '"offset":7' in line
    assert '"type":1' in line
