"""What administrators see of groups and do to them, with three clients and Kafka's own tools."""

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import ConsumerGroupState, ConsumerGroupType
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient

from tests.support.clients import admin, create_topic, produce, unique_name
from tests.support.java import run_java
from tests.support.members import Confluent, read_all, settle
from tests.support.requirements import requires
from tests.support.waiting import wait_for

pytestmark = pytest.mark.compat

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
FORMATTERS = "org.apache.kafka.tools.consumer"
Tool = Callable[..., str]


@pytest.fixture
def group() -> str:
    return unique_name("admin")


@pytest.fixture
def member(bootstrap: str, group: str) -> Iterator[Confluent]:
    """One member that has read, and committed, twelve records."""
    topic = create_topic(bootstrap, partitions=2)
    produce(bootstrap, topic, [{"value": b"v", "partition": n % 2} for n in range(12)])
    member = Confluent(bootstrap, group, topic, enable_auto_commit=False, client_id="reader")
    settle([member], [2], 2)
    read_all([member], 12)
    member.client.commit(asynchronous=False)
    yield member
    member.close()


@pytest.fixture
def client(bootstrap: str) -> AdminClient:
    return admin(bootstrap)


def test_a_group_is_described(client: AdminClient, group: str, member: Confluent) -> None:
    found = client.describe_consumer_groups([group])[group].result(20)
    assert (found.state, found.partition_assignor) == (ConsumerGroupState.STABLE, "range")
    [described] = found.members
    assert described.client_id == "reader"
    assert described.host == "/127.0.0.1"
    assert described.member_id.startswith("reader-")
    assert {each.partition for each in described.assignment.topic_partitions} == {0, 1}


def test_groups_are_listed_by_state_and_type(
    client: AdminClient, group: str, member: Confluent
) -> None:
    def listed(**filters: object) -> set[str]:
        return {each.group_id for each in client.list_consumer_groups(**filters).result(20).valid}

    assert group in listed()
    assert group in listed(states={ConsumerGroupState.STABLE})
    assert group not in listed(states={ConsumerGroupState.EMPTY})
    assert group in listed(types={ConsumerGroupType.CLASSIC})
    assert group not in listed(types={ConsumerGroupType.CONSUMER})


def test_a_group_is_deleted_when_it_is_empty(
    client: AdminClient, group: str, member: Confluent
) -> None:
    refused = client.delete_consumer_groups([group])[group].exception(20)
    assert refused.args[0].name() == "NON_EMPTY_GROUP"
    member.close()
    client.delete_consumer_groups([group])[group].result(20)
    gone = client.delete_consumer_groups([group])[group].exception(20)
    assert gone.args[0].name() == "GROUP_ID_NOT_FOUND"


def test_kafka_python_describes_and_lists(bootstrap: str, group: str, member: Confluent) -> None:
    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    found = client.describe_groups([group])[group]
    assert (found["group_state"], found["protocol_type"]) == ("Stable", "consumer")
    assert found["members"][0]["member_assignment"]["assigned_partitions"][0]["partitions"] == [
        0,
        1,
    ]
    assert group in [each["group_id"] for each in client.list_groups()]
    client.close()


@pytest.mark.java
def test_javas_tool_describes_a_group(java_tool: Tool, group: str, member: Confluent) -> None:
    about = ("--group", group, "--describe")
    offsets = java_tool(GROUPS, *about)
    rows = [line.split() for line in offsets.splitlines() if line.startswith(group)]
    assert [(row[2], row[3], row[4], row[5], row[8]) for row in sorted(rows)] == [
        ("0", "6", "6", "0", "reader"),
        ("1", "6", "6", "0", "reader"),
    ]
    assert "Stable" in java_tool(GROUPS, *about, "--state")
    assert "reader" in java_tool(GROUPS, *about, "--members", "--verbose")


@pytest.mark.java
def test_javas_tool_lists_resets_and_deletes(
    java_tool: Tool, group: str, member: Confluent
) -> None:
    assert group in java_tool(GROUPS, "--list", "--state", "stable")
    member.close()
    reset = ("--reset-offsets", "--all-topics", "--to-earliest", "--execute")
    assert "6" not in java_tool(GROUPS, "--group", group, *reset).split()
    assert "successful" in java_tool(GROUPS, "--group", group, "--delete")
    assert group not in java_tool(GROUPS, "--list").split()


@pytest.mark.java
def test_a_java_console_consumer_goes_on_where_it_was(
    bootstrap: str, java_tool: Tool, group: str
) -> None:
    topic = create_topic(bootstrap)
    produce(bootstrap, topic, [b"one", b"two", b"three"])
    read = ("--topic", topic, "--group", group, "--from-beginning", "--max-messages")
    first = java_tool(CONSOLE_CONSUMER, *read, "2")
    assert first.split()[:2] == ["one", "two"]
    assert java_tool(CONSOLE_CONSUMER, *read, "1").split()[0] == "three"


@pytest.mark.java
def test_kafkas_formatters_print_what_is_written(
    bootstrap: str, group: str, member: Confluent
) -> None:
    requires("java", "maven")
    member.close()

    def printed(formatter: str) -> list[str]:
        output = run_java(
            CONSOLE_CONSUMER,
            *("--bootstrap-server", bootstrap, "--topic", "__consumer_offsets"),
            *("--from-beginning", "--formatter", f"{FORMATTERS}.{formatter}"),
            *("--timeout-ms", "3000"),
        )
        return [line for line in output.splitlines() if f'"{group}"' in line]

    offsets = wait_for(lambda: printed("OffsetsMessageFormatter"), "offsets", 30)
    assert '"offset":6' in offsets[-1]
    generations = printed("GroupMetadataMessageFormatter")
    assert '"protocolType":"consumer"' in generations[0]
    assert '"clientId":"reader"' in generations[0]
    assert '"members":[]' in generations[-1]
