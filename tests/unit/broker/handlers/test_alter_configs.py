"""AlterConfigs: everything that a resource overrides is replaced at once."""

import pytest

from ottla.protocol.apis.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)
from ottla.protocol.errors import ErrorCode
from tests.support.clients import unique_name
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.test_describe_configs import (
    DYNAMIC_GROUP,
    GROUP,
    TOPIC,
    describe,
    settings,
)


def replace(client: Client, kind: int, name: str, version: int = 2, **settings: str | None):
    configs = [
        AlterableConfig(name=key.replace("_", "."), value=value) for key, value in settings.items()
    ]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    request = AlterConfigsRequest(resources=[resource])
    [result] = client.ask(request, version).responses
    return result


def shows(client: Client, topic: str, **expected: str) -> bool:
    found = settings(describe(client, TOPIC, topic))
    return all(found[key.replace("_", ".")].value == value for key, value in expected.items())


@pytest.mark.parametrize("version", range(3))
def test_the_old_api_replaces_everything(client: Client, version: int) -> None:
    topic = client.new_topic(retention_ms=1000)
    result = replace(client, TOPIC, topic, version, segment_bytes="1048576")
    assert (result.error_code, result.error_message) == (ErrorCode.NONE, None)
    expected = {"retention_ms": "604800000", "segment_bytes": "1048576"}
    wait_for(lambda: shows(client, topic, **expected), "the change")


def test_the_old_api_replaces_everything_of_a_group(client: Client) -> None:
    group = unique_name("group")

    def own() -> dict[str, str | None]:
        found = settings(describe(client, GROUP, group)).values()
        return {row.name: row.value for row in found if row.config_source == DYNAMIC_GROUP}

    replace(client, GROUP, group, consumer_session_timeout_ms="46000")
    wait_for(lambda: own() == {"consumer.session.timeout.ms": "46000"}, "the session")
    replace(client, GROUP, group, consumer_heartbeat_interval_ms="6000")
    wait_for(lambda: own() == {"consumer.heartbeat.interval.ms": "6000"}, "the heartbeat")
    assert replace(client, GROUP, group).error_code == ErrorCode.NONE
    wait_for(lambda: own() == {}, "the defaults")


def test_the_old_api_needs_values_and_known_names(client: Client) -> None:
    topic = client.new_topic()
    assert replace(client, TOPIC, topic, retention_ms=None).error_code == ErrorCode.INVALID_REQUEST
    assert replace(client, TOPIC, topic, no_such="1").error_code == ErrorCode.INVALID_CONFIG
    unknown = replace(client, TOPIC, "no-such-topic", retention_ms="1")
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
