"""DescribeConfigs: values, where they come from, and what they mean."""

import pytest

from ottla.protocol.apis.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)
from ottla.protocol.apis.metadata import MetadataRequest
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client

TOPIC, BROKER, BROKER_LOGGER, GROUP = 2, 4, 8, 32
DYNAMIC_TOPIC, STATIC_BROKER, DEFAULT, DYNAMIC_GROUP = 1, 4, 5, 8
INT, LIST = 3, 7


def describe(
    client: Client,
    kind: int,
    name: str,
    keys: list[str] | None = None,
    *,
    version: int = 4,
    **options: bool,
) -> DescribeConfigsResult:
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=keys
    )
    [result] = client.ask(DescribeConfigsRequest(resources=[resource], **options), version).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


def settings(result: DescribeConfigsResult) -> dict[str, DescribeConfigsResourceResult]:
    assert result.error_code == ErrorCode.NONE, result
    return {row.name: row for row in result.configs}


def this_broker(client: Client) -> str:
    return str(client.ask(MetadataRequest(topics=[])).brokers[0].node_id)


@pytest.mark.parametrize("version", range(1, 5))
def test_a_topic_shows_its_own_values_and_the_defaults(client: Client, version: int) -> None:
    topic = client.new_topic(segment_bytes=1_048_576)
    found = settings(describe(client, TOPIC, topic, version=version))
    own, usual = found["segment.bytes"], found["cleanup.policy"]
    assert (own.value, own.config_source, own.read_only) == ("1048576", DYNAMIC_TOPIC, False)
    assert (usual.value, usual.config_source) == ("delete", DEFAULT)
    assert own.synonyms == []
    assert own.config_type == (INT if version >= 3 else 0)
    assert usual.config_type == (LIST if version >= 3 else 0)
    assert not own.documentation


def test_only_the_settings_that_are_named_are_shown(client: Client) -> None:
    topic = client.new_topic()
    found = settings(describe(client, TOPIC, topic, ["retention.ms", "no.such.setting"]))
    assert found.keys() == {"retention.ms"}


def test_an_empty_list_of_names_asks_for_all(client: Client) -> None:
    topic = client.new_topic()
    every = settings(describe(client, TOPIC, topic)).keys()
    assert settings(describe(client, TOPIC, topic, [])).keys() == every
    assert len(every) > 20


def test_synonyms_and_documentation_are_shown_when_asked_for(client: Client) -> None:
    topic = client.new_topic(segment_bytes=1_048_576)
    found = settings(
        describe(client, TOPIC, topic, include_synonyms=True, include_documentation=True)
    )
    row = found["segment.bytes"]
    assert [(s.name, s.value, s.source) for s in row.synonyms] == [
        ("segment.bytes", "1048576", DYNAMIC_TOPIC),
        ("log.segment.bytes", "1073741824", DEFAULT),
    ]
    assert row.documentation


def test_the_broker_shows_what_it_was_started_with(client: Client) -> None:
    found = settings(describe(client, BROKER, this_broker(client), include_synonyms=True))
    row = found["num.partitions"]
    assert (row.value, row.config_source, row.read_only) == ("4", STATIC_BROKER, True)
    assert [(s.value, s.source) for s in row.synonyms] == [("4", STATIC_BROKER), ("1", DEFAULT)]
    assert not found["log.retention.ms"].read_only


def test_the_default_of_all_brokers_has_dynamic_settings_only(client: Client) -> None:
    assert "num.partitions" not in settings(describe(client, BROKER, ""))


def test_a_group_that_does_not_exist_has_settings_all_the_same(client: Client) -> None:
    result = describe(client, GROUP, "nobody", include_synonyms=True, include_documentation=True)
    row = settings(result)["consumer.session.timeout.ms"]
    assert (row.value, row.config_source, row.read_only) == ("45000", DEFAULT, False)
    assert [(s.name, s.value, s.source) for s in row.synonyms] == [
        ("group.consumer.session.timeout.ms", "45000", DEFAULT)
    ]
    assert (row.config_type, row.is_sensitive) == (INT, False)
    assert row.documentation


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        (TOPIC, "no-such-topic", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "a/b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "77", ErrorCode.INVALID_REQUEST),
        (BROKER, "one", ErrorCode.INVALID_REQUEST),
        (BROKER_LOGGER, "", ErrorCode.INVALID_REQUEST),
        (BROKER_LOGGER, "77", ErrorCode.INVALID_REQUEST),
        (GROUP, "", ErrorCode.INVALID_REQUEST),
        (99, "x", ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_has_no_settings_is_told(client: Client, kind: int, name: str, error: int) -> None:
    result = describe(client, kind, name)
    assert (result.error_code, result.configs) == (error, [])


def test_this_brokers_loggers_are_no_error(client: Client) -> None:
    assert describe(client, BROKER_LOGGER, this_broker(client)).error_code == ErrorCode.NONE
