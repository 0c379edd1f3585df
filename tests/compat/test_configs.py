"""Settings of topics and brokers, read and changed over the wire."""

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceType,
)
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource as PythonResource

from tests.support.clients import admin, create_topic

pytestmark = pytest.mark.compat


@pytest.fixture(scope="module")
def client(bootstrap: str) -> AdminClient:
    return admin(bootstrap)


def describe(client: AdminClient, kind: ResourceType, name: str) -> dict[str, ConfigEntry]:
    [future] = client.describe_configs([ConfigResource(kind, name)]).values()
    return future.result(20)


def change(
    client: AdminClient, topic: str, *ops: tuple[str, str | None, AlterConfigOpType]
) -> None:
    entries = [ConfigEntry(name, value, incremental_operation=op) for name, value, op in ops]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    [future] = client.incremental_alter_configs([resource]).values()
    future.result(20)


def values(client: AdminClient, topic: str, *names: str) -> list[str | None]:
    found = describe(client, ResourceType.TOPIC, topic)
    return [found[name].value for name in names]


def test_a_topic_has_kafkas_defaults(client: AdminClient, topic: str) -> None:
    found = describe(client, ResourceType.TOPIC, topic)
    expected = {
        "cleanup.policy": "delete",
        "compression.type": "producer",
        "retention.ms": "604800000",
        "retention.bytes": "-1",
        "segment.bytes": "1073741824",
        "max.message.bytes": "1048588",
        "message.timestamp.type": "CreateTime",
        "message.timestamp.after.max.ms": "3600000",
        "min.insync.replicas": "1",
        "unclean.leader.election.enable": "false",
        "flush.messages": "9223372036854775807",
        "delete.retention.ms": "86400000",
        "min.cleanable.dirty.ratio": "0.5",
    }
    assert {name: found[name].value for name in expected} == expected
    assert ConfigSource.DYNAMIC_TOPIC_CONFIG.value not in {e.source for e in found.values()}


def test_settings_given_at_creation_are_the_topics_own(bootstrap: str, client: AdminClient) -> None:
    topic = create_topic(bootstrap, cleanup_policy="compact", segment_ms=1000)
    found = describe(client, ResourceType.TOPIC, topic)
    assert found["cleanup.policy"].value == "compact"
    own = {name for name, e in found.items() if e.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value}
    assert own == {"cleanup.policy", "segment.ms"}
    assert not found["segment.ms"].is_read_only
    assert "log.cleaner.enable" not in found


def test_synonyms_show_where_a_value_comes_from(client: AdminClient, topic: str) -> None:
    change(client, topic, ("retention.ms", "1000", AlterConfigOpType.SET))
    synonyms = describe(client, ResourceType.TOPIC, topic)["retention.ms"].synonyms
    assert synonyms["retention.ms"].value == "1000"


def test_single_settings_are_set_and_taken_back(client: AdminClient, topic: str) -> None:
    change(
        client,
        topic,
        ("retention.ms", "1000", AlterConfigOpType.SET),
        ("segment.bytes", "1048576", AlterConfigOpType.SET),
    )
    assert values(client, topic, "retention.ms", "segment.bytes") == ["1000", "1048576"]
    change(client, topic, ("retention.ms", None, AlterConfigOpType.DELETE))
    assert values(client, topic, "retention.ms", "segment.bytes") == ["604800000", "1048576"]


def test_lists_are_appended_to_and_subtracted_from(client: AdminClient, topic: str) -> None:
    change(client, topic, ("cleanup.policy", "compact", AlterConfigOpType.APPEND))
    assert values(client, topic, "cleanup.policy") == ["delete,compact"]
    change(client, topic, ("cleanup.policy", "delete", AlterConfigOpType.SUBTRACT))
    assert values(client, topic, "cleanup.policy") == ["compact"]


@pytest.mark.parametrize(
    ("name", "value", "op"),
    [
        ("no.such.setting", "1", AlterConfigOpType.SET),
        ("retention.ms", "soon", AlterConfigOpType.SET),
        ("cleanup.policy", "shred", AlterConfigOpType.SET),
        ("min.cleanable.dirty.ratio", "2", AlterConfigOpType.SET),
        ("retention.ms", "1", AlterConfigOpType.APPEND),
    ],
)
def test_bad_changes_are_refused_by_name(
    client: AdminClient, topic: str, name: str, value: str, op: AlterConfigOpType
) -> None:
    before = describe(client, ResourceType.TOPIC, topic)
    with pytest.raises(KafkaException) as failure:
        change(client, topic, ("segment.ms", "5000", AlterConfigOpType.SET), (name, value, op))
    error = failure.value.args[0]
    assert error.code() == KafkaError.INVALID_CONFIG
    assert name in error.str()
    after = describe(client, ResourceType.TOPIC, topic)
    assert after["segment.ms"].value == before["segment.ms"].value


def test_the_old_alter_replaces_all_settings(client: AdminClient, topic: str) -> None:
    for settings in ({"retention.ms": "1000"}, {"segment.bytes": "1048576"}):
        resource = ConfigResource(ResourceType.TOPIC, topic, set_config=settings)
        with pytest.warns(DeprecationWarning, match="alter_configs"):
            [future] = client.alter_configs([resource]).values()
        future.result(20)
    assert values(client, topic, "retention.ms", "segment.bytes") == ["604800000", "1048576"]


def test_validating_a_change_changes_nothing(client: AdminClient, topic: str) -> None:
    entry = ConfigEntry("retention.ms", "1000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    [future] = client.incremental_alter_configs([resource], validate_only=True).values()
    future.result(20)
    assert values(client, topic, "retention.ms") == ["604800000"]


def test_the_broker_describes_its_own_settings(client: AdminClient) -> None:
    [broker] = client.list_topics(timeout=10).brokers
    found = describe(client, ResourceType.BROKER, str(broker))
    assert found["num.partitions"].value == "4"
    assert found["num.partitions"].source == ConfigSource.STATIC_BROKER_CONFIG.value
    assert found["log.retention.hours"].value == "168"
    assert found["log.dirs"].is_read_only
    assert not found["log.segment.bytes"].is_read_only


def test_unknown_topics_have_no_settings(client: AdminClient) -> None:
    with pytest.raises(KafkaException) as failure:
        describe(client, ResourceType.TOPIC, "no-such-topic")
    assert failure.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_settings_have_types_and_synonyms(bootstrap: str, topic: str) -> None:
    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    resource = PythonResource("TOPIC", topic)
    answer = client.describe_configs([resource], include_synonyms=True, config_filter="all")
    entry = answer["topic"][topic]["segment.bytes"]
    assert entry["config_type"] == "INT"
    assert {"name": "log.segment.bytes", "value": "1073741824", "source": "DEFAULT_CONFIG"} in (
        entry["synonyms"]
    )
    client.close()
