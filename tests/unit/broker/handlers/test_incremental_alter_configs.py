"""IncrementalAlterConfigs: one thing at a time, and all changes of a resource together or not at all."""

import pytest

from ottla.protocol.apis.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from ottla.protocol.errors import ErrorCode
from tests.support.clients import unique_name
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.test_alter_configs import shows
from tests.unit.broker.handlers.test_describe_configs import (
    BROKER,
    DEFAULT,
    DYNAMIC_GROUP,
    GROUP,
    TOPIC,
    describe,
    settings,
    this_broker,
)

SET, DELETE, APPEND, SUBTRACT = range(4)
DYNAMIC_BROKER, DYNAMIC_DEFAULT_BROKER = 2, 3
SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


def change(
    client: Client, kind: int, name: str, *ops: tuple[str, int, str | None], version: int = 1, **o
):
    configs = [
        AlterableConfig(name=key, config_operation=op, value=value) for key, op, value in ops
    ]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource], **o)
    [result] = client.ask(request, version).responses
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


@pytest.mark.parametrize("version", range(2))
def test_the_new_api_changes_one_thing_at_a_time(client: Client, version: int) -> None:
    topic = client.new_topic(retention_ms=1000)
    ops = ("segment.bytes", SET, "1048576"), ("cleanup.policy", APPEND, "compact")
    assert change(client, TOPIC, topic, *ops, version=version).error_code == ErrorCode.NONE
    expected = {"retention_ms": "1000", "segment_bytes": "1048576"}
    wait_for(lambda: shows(client, topic, **expected, cleanup_policy="delete,compact"), "it")
    ops = ("retention.ms", DELETE, None), ("cleanup.policy", SUBTRACT, "delete")
    assert change(client, TOPIC, topic, *ops, version=version).error_code == ErrorCode.NONE
    expected = {"retention_ms": "604800000", "cleanup_policy": "compact"}
    wait_for(lambda: shows(client, topic, **expected), "the second change")


def test_validating_changes_nothing(client: Client) -> None:
    topic = client.new_topic()
    op = ("retention.ms", SET, "1000")
    assert change(client, TOPIC, topic, op, validate_only=True).error_code == ErrorCode.NONE
    assert shows(client, topic, retention_ms="604800000")


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (("no.such.setting", SET, "1"), ErrorCode.INVALID_CONFIG),
        (("cleanup.policy", SET, "shred"), ErrorCode.INVALID_CONFIG),
        (("retention.ms", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (("retention.ms", SET, None), ErrorCode.INVALID_REQUEST),
        (("segment.bytes", SET, "2000000"), ErrorCode.INVALID_REQUEST),
    ],
    ids=["unknown", "ill-typed", "no list", "no value", "twice"],
)
def test_one_bad_change_spoils_the_others_of_its_resource(
    client: Client, bad: tuple[str, int, str | None], error: int
) -> None:
    topic = client.new_topic()
    result = change(client, TOPIC, topic, ("segment.bytes", SET, "1048576"), bad)
    assert result.error_code == error
    assert result.error_message
    assert shows(client, topic, segment_bytes="1073741824")


def test_an_unknown_operation_is_refused(client: Client, ottla_only: None) -> None:
    result = change(client, TOPIC, client.new_topic(), ("retention.ms", 9, "1"))
    assert result.error_code == ErrorCode.INVALID_REQUEST


def test_brokers_change_alone_or_together(client: Client) -> None:
    broker = this_broker(client)

    def told(name: str) -> tuple[str | None, int] | None:
        row = settings(describe(client, BROKER, name)).get("log.cleaner.backoff.ms")
        return row and (row.value, row.config_source)

    for name, value in (("", "20000"), (broker, "30000")):
        op = ("log.cleaner.backoff.ms", SET, value)
        assert change(client, BROKER, name, op).error_code == ErrorCode.NONE
    wait_for(lambda: told(broker) == ("30000", DYNAMIC_BROKER), "the broker's own")
    assert told("") == ("20000", DYNAMIC_DEFAULT_BROKER)
    change(client, BROKER, broker, ("log.cleaner.backoff.ms", DELETE, None))
    wait_for(lambda: told(broker) == ("20000", DYNAMIC_DEFAULT_BROKER), "the cluster's")
    change(client, BROKER, "", ("log.cleaner.backoff.ms", DELETE, None))
    wait_for(lambda: told("") is None, "the default to be forgotten")


def test_a_group_changes_one_thing_at_a_time(client: Client) -> None:
    group = unique_name("group")

    def told(name: str) -> tuple[str | None, int]:
        row = settings(describe(client, GROUP, group))[name]
        return row.value, row.config_source

    validated = change(client, GROUP, group, (SESSION, SET, "46000"), validate_only=True)
    assert (validated.error_code, told(SESSION)) == (ErrorCode.NONE, ("45000", DEFAULT))
    for name, value in ((SESSION, "46000"), (HEARTBEAT, "6000")):
        assert change(client, GROUP, group, (name, SET, value)).error_code == ErrorCode.NONE
    wait_for(lambda: told(HEARTBEAT) == ("6000", DYNAMIC_GROUP), "the second setting")
    assert told(SESSION) == ("46000", DYNAMIC_GROUP)
    change(client, GROUP, group, (SESSION, DELETE, None), (HEARTBEAT, DELETE, None))
    wait_for(lambda: told(SESSION) == ("45000", DEFAULT), "the defaults")


@pytest.mark.parametrize(
    ("change_of_one", "sentence"),
    [
        ((SESSION, SET, "1"), f"{SESSION} must be greater than or equal to group.consumer.min.session.timeout.ms"),
        ((SESSION, SET, "soon"), f"Invalid value soon for configuration {SESSION}: Not a number of type INT"),
        (("no.such", SET, "1"), "Unknown group config name: no.such"),
    ],
    ids=["too short", "not a number", "unknown"],
)  # fmt: skip
def test_a_bad_setting_of_a_group_is_refused_in_kafkas_words(
    client: Client, change_of_one: tuple[str, int, str], sentence: str
) -> None:
    result = change(client, GROUP, "refused", (HEARTBEAT, SET, "6000"), change_of_one)
    assert (result.error_code, result.error_message) == (ErrorCode.INVALID_CONFIG, sentence)
    row = settings(describe(client, GROUP, "refused"))[HEARTBEAT]
    assert row.config_source != DYNAMIC_GROUP


def test_there_is_no_group_that_stands_for_all(client: Client) -> None:
    result = change(client, GROUP, "", (SESSION, SET, "46000"))
    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert result.error_message == "Default group resources are not allowed."


def test_what_cannot_change_while_the_broker_runs_is_refused(client: Client) -> None:
    result = change(client, BROKER, this_broker(client), ("log.dirs", SET, "/elsewhere"))
    assert result.error_code == ErrorCode.INVALID_REQUEST


def test_a_resource_named_twice_is_refused(client: Client) -> None:
    topic = client.new_topic()
    resource = AlterConfigsResource(resource_type=TOPIC, resource_name=topic)
    request = IncrementalAlterConfigsRequest(resources=[resource] * 2)
    codes = {result.error_code for result in client.ask(request).responses}
    assert codes == {ErrorCode.INVALID_REQUEST}
