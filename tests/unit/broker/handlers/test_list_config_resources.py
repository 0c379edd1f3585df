"""ListConfigResources: what has settings."""

from ottla.protocol.apis.list_config_resources import ListConfigResourcesRequest
from ottla.protocol.errors import ErrorCode
from tests.support.clients import unique_name
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.test_describe_configs import (
    BROKER,
    BROKER_LOGGER,
    GROUP,
    TOPIC,
    this_broker,
)
from tests.unit.broker.handlers.test_incremental_alter_configs import DELETE, SET, change

CLIENT_METRICS = 16


def listed(client: Client, *types: int, version: int = 1) -> set[tuple[int, str]]:
    answer = client.ask(ListConfigResourcesRequest(resource_types=list(types)), version)
    assert answer.error_code == ErrorCode.NONE
    return {(row.resource_type, row.resource_name) for row in answer.config_resources}


def test_the_first_version_lists_client_metrics_only(client: Client) -> None:
    client.new_topic()
    assert listed(client, version=0) == set()


def test_types_are_listed_as_asked_for(client: Client) -> None:
    topic, broker = client.new_topic(), this_broker(client)
    topics = listed(client, TOPIC)
    assert (TOPIC, topic) in topics
    assert {kind for kind, _ in topics} == {TOPIC}
    assert listed(client, BROKER, BROKER_LOGGER) == {(BROKER, broker), (BROKER_LOGGER, broker)}
    assert listed(client, CLIENT_METRICS) == set()


def test_groups_are_listed_while_they_have_settings_of_their_own(client: Client) -> None:
    group, name = unique_name("a/group "), "consumer.session.timeout.ms"
    before = listed(client, GROUP)
    assert change(client, GROUP, group, (name, SET, "46000")).error_code == ErrorCode.NONE
    wait_for(lambda: listed(client, GROUP) == {*before, (GROUP, group)}, "the group")
    assert (GROUP, group) in listed(client)
    assert change(client, GROUP, group, (name, DELETE, None)).error_code == ErrorCode.NONE
    wait_for(lambda: listed(client, GROUP) == before, "the group to be forgotten")


def test_no_types_mean_all(client: Client) -> None:
    topic, broker = client.new_topic(), this_broker(client)
    assert {(TOPIC, topic), (BROKER, broker), (BROKER_LOGGER, broker)} <= listed(client)


def test_unknown_types_are_refused(client: Client) -> None:
    answer = client.ask(ListConfigResourcesRequest(resource_types=[TOPIC, 99]))
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert answer.config_resources == []
